"""Running tallies of ibis roosts: one keeper of the counts, many counting tasks."""

import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker

log = logging.getLogger("ibis")


class RoostKeeper:
    def __init__(self):
        self.birds = Counter()

    def add(self, roost, birds):
        self.birds[roost] += birds
        return self.birds[roost]

    def top(self, n):
        return self.birds.most_common(n)


def evening_count(roost, evening):
    rng = np.random.default_rng(roost * 1000 + evening)
    time.sleep(0.1)
    return int(rng.poisson(30 + roost))


def count_and_add(keeper, roost, evening):
    return keeper.add(roost, evening_count(roost, evening)).result()


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            start = [
                sys.executable,
                "-m",
                "dask",
                "worker",
                cluster.scheduler_address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                tmp,
            ]
            crew = [
                subprocess.Popen([*start, "--name", "roost-b", "--lifetime", "10m"]),
                subprocess.Popen([*start, "--name", "roost-a", "--lifetime", "15s"]),
            ]
            try:
                client.wait_for_workers(2, timeout=40)
                keeper = client.submit(
                    RoostKeeper, actor=True, workers=["roost-a"]
                ).result()
                for evening in range(60):
                    counts = client.map(
                        count_and_add,
                        [keeper] * 6,
                        range(6),
                        [evening] * 6,
                        workers=["roost-b"],
                        pure=False,
                    )
                    client.gather(counts)
                    if evening % 5 == 0:
                        log.info("evening %d: %s", evening, keeper.top(2).result())
                log.info("largest roosts: %s", keeper.top(3).result())
            finally:
                for proc in crew:
                    proc.terminate()
                    proc.wait(20)


if __name__ == "__main__":
    main()
