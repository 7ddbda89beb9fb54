"""Kiln firings: thermocouple traces of the tile works -> firing classes and energy.

Runs on borrowed machines: one of them is taken back in the middle of every night, and the
driver of the old logger card brings its process down once in a while. The job expects both.
"""

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from dask.distributed import Client, as_completed, wait
from dask.distributed import TimeoutError as DaskTimeout

log = logging.getLogger("kiln")


def launch(rundir: str, what: str, *args: str) -> subprocess.Popen:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            what,
            "--dashboard-address",
            ":0",
            "--scheduler-file",
            os.path.join(rundir, "kiln.json"),
            *args,
        ]
    )


def launch_worker(rundir: str, name: str) -> subprocess.Popen:
    return launch(
        rundir,
        "worker",
        "--name",
        name,
        "--nthreads",
        "1",
        "--memory-limit",
        "300MB",
        "--local-directory",
        rundir,
    )


def read_trace(firing: int, rundir: str) -> np.ndarray:
    """Temperature of a firing, minute by minute; firing 9 sits on the old logger card."""
    once = os.path.join(rundir, "card-reset")
    if firing == 9 and not os.path.exists(once):
        open(once, "w").close()
        print("logger card: bus error, process goes down", file=sys.stderr, flush=True)
        os._exit(7)
    time.sleep(0.5)
    t = np.arange(900.0)
    peak = 1020 + 12 * (firing % 7)
    return peak * np.exp(-(((t - 450) / 220) ** 2)) + np.random.default_rng(
        firing
    ).normal(0, 4, t.size)


def classify(trace: np.ndarray, firing: int) -> tuple[int, str, float]:
    soak = int((trace > 950).sum())
    name = "over" if soak > 200 else "good" if soak > 90 else "under"
    return firing, name, float(trace.clip(20).sum() * 0.013)


def energy_price(day: str) -> float:
    raise ConnectionRefusedError(111, "price service refused the connection", day)


def main() -> int:
    ap = argparse.ArgumentParser()
    ap.add_argument("--firings", type=int, default=30)
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    procs: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory(prefix="kiln-") as rundir:
        try:
            procs.append(
                launch(rundir, "scheduler", "--host", "127.0.0.1", "--port", "0")
            )
            procs += [
                launch_worker(rundir, "borrowed-1"),
                launch_worker(rundir, "borrowed-2"),
            ]
            while not os.path.exists(os.path.join(rundir, "kiln.json")):
                time.sleep(0.2)
            with Client(
                scheduler_file=os.path.join(rundir, "kiln.json"), timeout=60
            ) as client:
                client.wait_for_workers(2, timeout=90)
                try:
                    price = client.submit(energy_price, "2026-11-27").result(timeout=60)
                except ConnectionRefusedError as exc:
                    price = 0.21
                    log.error(
                        "no price of the day (%s), using the contract price %.2f",
                        exc,
                        price,
                    )

                traces = [
                    client.submit(read_trace, i, rundir, key=f"trace-{i:02d}")
                    for i in range(args.firings)
                ]
                results = [
                    client.submit(classify, tr, i, key=f"class-{i:02d}")
                    for i, tr in enumerate(traces)
                ]
                try:
                    wait(results, timeout=4)
                except DaskTimeout:
                    log.error(
                        "TimeoutError: first slice of the night is over, results are not complete"
                    )

                log.warning("borrowed-2 is taken back by its owner")
                procs[2].send_signal(signal.SIGTERM)
                procs[2].wait(60)
                procs.append(launch_worker(rundir, "borrowed-3"))

                rows = []
                for fut in as_completed(results, timeout=240):
                    rows.append(fut.result())
                classes: dict[str, int] = {}
                for _, name, _ in rows:
                    classes[name] = classes.get(name, 0) + 1
                cost = price * sum(e for _, _, e in rows)
                log.info(
                    "retries by the scheduler are over, %d of %d firings",
                    len(rows),
                    args.firings,
                )
            print(f"{len(rows)} firings {classes}, {cost:.0f} EUR")
        finally:
            for p in reversed(procs):
                if p.poll() is None:
                    p.terminate()
                    p.wait(30)
    return 0 if len(rows) == args.firings else 1


if __name__ == "__main__":
    sys.exit(main())
