"""Crayfish quotas: allots the season's traps to river basins.

First the trap logs are cleaned, then each basin's allotment is optimised with
the licensed solver.  Fishery officers read quotas.json in the morning.
"""

import json
import logging
import random
import sys
import time
from concurrent.futures import TimeoutError as FuturesTimeout
from pathlib import Path

import yaml
from dask.distributed import Client, LocalCluster, as_completed

CONFIG = """
season: 2026-27
cluster:
  workers: 2
  threads: 2
  memory: 400MB
  resources: {GLPK: 1}
stages:
  clean: {}
  optimise:
    GLPK: 2
give_up_after: 14
"""

BASINS = ["Arun", "Derwent", "Kennet", "Nene", "Ouse", "Tamar", "Wye"]
log = logging.getLogger("quotas")


class NoLogs(Exception):
    pass


def clean_logs(basin, season):
    rng = random.Random(basin + season)
    if basin == "Tamar":
        raise NoLogs(f"no trap logs of {basin} for {season}")
    time.sleep(0.3)
    return [rng.gauss(12, 4) for _ in range(2000)]


def solve_basin(basin, catches):
    mean = sum(catches) / len(catches)
    best, traps = 0.0, 0
    for candidate in range(1, 400):
        value = candidate * mean - 0.03 * candidate**2
        if value > best:
            best, traps = value, candidate
    return basin, traps


class QuotaRun:
    def __init__(self, config, client):
        self.config = config
        self.client = client
        self.quotas = {}

    def stage(self, name):
        needs = self.config["stages"][name]
        return {"resources": needs} if needs else {}

    def clean(self):
        logs = {
            b: self.client.submit(
                clean_logs, b, self.config["season"], **self.stage("clean")
            )
            for b in BASINS
        }
        good = {}
        for basin, future in logs.items():
            try:
                future.result()
                good[basin] = future
            except NoLogs as problem:
                log.warning("%s: last year's quota stays (%s)", basin, problem)
                self.quotas[basin] = 80
        return good

    def optimise(self, logs):
        futures = [
            self.client.submit(solve_basin, basin, future, **self.stage("optimise"))
            for basin, future in logs.items()
        ]
        for future in as_completed(futures, timeout=self.config["give_up_after"]):
            basin, traps = future.result()
            self.quotas[basin] = traps
            log.info("%s: %d traps", basin, traps)

    def run(self):
        started = time.monotonic()
        logs = self.clean()
        log.info(
            "logs of %d basins clean after %.1f s",
            len(logs),
            time.monotonic() - started,
        )
        try:
            self.optimise(logs)
        except (TimeoutError, FuturesTimeout):
            log.error(
                "optimise: gave up after %s s, %d of %d basins have a quota",
                self.config["give_up_after"],
                len(self.quotas),
                len(BASINS),
            )
            return False
        Path("quotas.json").write_text(json.dumps(self.quotas, indent=1))
        return True


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    Path("quotas.yaml").write_text(CONFIG)
    config = yaml.safe_load(Path("quotas.yaml").read_text())
    wanted = config["cluster"]
    with (
        LocalCluster(
            n_workers=wanted["workers"],
            threads_per_worker=wanted["threads"],
            memory_limit=wanted["memory"],
            resources=wanted["resources"],
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        done = QuotaRun(config, client).run()
    if not done:
        sys.exit("no quotas tonight: timed out")


if __name__ == "__main__":
    main()
