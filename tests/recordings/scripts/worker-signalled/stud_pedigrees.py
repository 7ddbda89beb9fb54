"""Stud book: inbreeding of foals from their pedigrees, computed in the evening on the office server.

Operations keep a warden on that server: it reads the process numbers that jobs register and ends one that is
still there when the batch window of its host group closes.
"""

import logging
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import dask
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("studbook")

WARDEN = """
import os, signal, sys, time
register, window = sys.argv[1], float(sys.argv[2])
time.sleep(window)
with open(register) as lines:
    first = sorted(line.split() for line in lines)[0]
print("warden: window closed, ending", first[0], flush=True)
os.kill(int(first[1]), signal.SIGTERM)
"""


def breed(seed, generations=7):
    rng = random.Random(seed)
    horses = {}
    for generation in range(generations):
        for number in range(12):
            name = f"g{generation}h{number}"
            horses[name] = (
                None
                if generation == 0
                else (
                    f"g{generation - 1}h{rng.randrange(12)}",
                    f"g{generation - 1}h{rng.randrange(12)}",
                )
            )
    return horses


def read_pedigree(stable):
    time.sleep(0.2)
    return breed(stable)


def kinship(horses, left, right, depth=0):
    if left == right:
        return 0.5
    if horses[left] is None or horses[right] is None or depth > 5:
        return 0.0
    sire, dam = horses[left]
    return 0.5 * (
        kinship(horses, right, sire, depth + 1) + kinship(horses, right, dam, depth + 1)
    )


def inbreeding_of(horses, foals):
    values = []
    for foal in foals:
        sire, dam = horses[foal]
        values.append(kinship(horses, sire, dam))
        time.sleep(0.7)
    return sum(values) / len(values)


def register(client, path):
    """Tells operations which processes are ours."""
    numbers = client.run(os.getpid)
    names = {
        address: info["name"]
        for address, info in client.scheduler_info(n_workers=-1)["workers"].items()
    }
    with open(path, "w") as out:
        for address, number in numbers.items():
            out.write(f"studbook-{names[address]} {number}\n")


def evening_run(folder):
    window = pathlib.Path(folder) / "window.txt"
    script = pathlib.Path(folder) / "warden.py"
    script.write_text(WARDEN)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            register(client, window)
            warden = subprocess.Popen([sys.executable, str(script), str(window), "6"])
            try:
                futures = {}
                for stable in range(6):
                    horses = client.submit(
                        read_pedigree, stable, key=f"read_pedigree-{stable}"
                    )
                    foals = [f"g6h{number}" for number in range(6)]
                    futures[
                        client.submit(
                            inbreeding_of, horses, foals, key=f"inbreeding_of-{stable}"
                        )
                    ] = stable
                for future in as_completed(futures):
                    log.info("stable %s: %.4f", futures[future], future.result())
            finally:
                warden.wait(20)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with tempfile.TemporaryDirectory() as folder:
        evening_run(folder)
    log.info("stud book is up to date")


if __name__ == "__main__":
    main()
