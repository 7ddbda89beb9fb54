"""Mortar tests: each prism is broken in a forked child, because the old solver keeps its state in globals."""

import json
import logging
import os
import signal
import sys

import numpy as np
from dask.distributed import Client, LocalCluster
from dask.distributed import wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("mortar")

MIXES = {"M5": (5.0, 0.6), "M10": (10.0, 0.9), "M15": (15.0, 1.4), "NHL": (3.5, 0.4)}


def break_prism(mix, prism):
    """Strength in N/mm2 after 28 days."""
    mean, spread = MIXES[mix]
    rng = np.random.default_rng(prism)
    curve = np.maximum(0, rng.normal(mean, spread, 28).cumsum() / np.arange(1, 29))
    return float(curve[-1])


def in_child(function, *arguments):
    """Runs a function in a fork of this process and returns its answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(40)  # the old solver has been seen to loop
        os.close(reading)
        answer = function(*arguments)
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as answers:
        text = answers.read()
    if status:
        raise RuntimeError(f"child ended with status {status}")
    return json.loads(text)


def test_prism(order):
    mix, prism = order["mix"], order["prism"]
    return {"mix": mix, "prism": prism, "strength": in_child(break_prism, mix, prism)}


def orders():
    mixes = list(MIXES)
    found = [{"mix": mixes[n % 4], "prism": n} for n in range(24)]
    found[10]["mix"] = "M2.5"  # the new mix of the castle, not in the table yet
    return found


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="900MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            tests = client.map(test_prism, orders())
            try:
                wait(tests, timeout=20)
            except TimeoutError:
                done = [t for t in tests if t.done()]
                log.error(
                    "the press stands still: %d of %d prisms broken",
                    len(done),
                    len(tests),
                )
                return 7
            for row in client.gather(tests):
                log.info("%(mix)s prism %(prism)d: %(strength).2f N/mm2", row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
