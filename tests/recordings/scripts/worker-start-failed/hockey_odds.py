"""Odds for the weekend's hockey matches by simulation, on a small pool of worker commands."""

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import textwrap

import yaml
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("hockey")

DEFAULT_CONFIG = textwrap.dedent("""
    pools:
      - name: base
        count: 1
        options: {nthreads: 1, memory-limit: 300MB, death-timeout: 30}
      - name: weekend
        count: 2
        options: {nthreads: 1, memory-limit: 300MB, life-time: 45m, death-timeout: 30}
    simulations: 400
    matches:
      - [Bern, Zug]
      - [Davos, Lugano]
      - [Genf, Kloten]
""")


class Pools:
    def __init__(self, address, config, folder):
        self.address, self.config, self.folder = address, config, folder
        self.procs = {}

    @property
    def size(self):
        return sum(pool["count"] for pool in self.config["pools"])

    def __enter__(self):
        for pool in self.config["pools"]:
            for index in range(pool["count"]):
                name = f"{pool['name']}-{index}"
                args = [
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    self.address,
                    "--name",
                    name,
                    "--no-dashboard",
                    "--local-directory",
                    os.path.join(self.folder, name),
                ]
                for option, value in pool["options"].items():
                    args += [f"--{option}", str(value)]
                self.procs[name] = subprocess.Popen(args)
        log.info("started %s", ", ".join(self.procs))
        return self

    def __exit__(self, *exc):
        for proc in self.procs.values():
            if proc.poll() is None:
                proc.terminate()
        for proc in self.procs.values():
            proc.wait(15)
        log.info("pools are down")


def simulate(home, away, runs, seed):
    rng = random.Random(f"{home}{away}{seed}")
    wins = 0
    for _ in range(runs):
        goals_home = sum(rng.random() < 0.055 for _ in range(60))
        goals_away = sum(rng.random() < 0.048 for _ in range(60))
        wins += goals_home > goals_away
    return wins


def odds(wins, runs):
    return round(runs / max(sum(wins), 1), 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO,
        format="%(levelname)s %(name)s %(message)s",
    )
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    config = yaml.safe_load(open(args.config) if args.config else DEFAULT_CONFIG)

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
        Pools(cluster.scheduler_address, config, folder) as pools,
    ):
        client.wait_for_workers(pools.size, timeout=15)
        runs = config["simulations"]
        results = {}
        for home, away in config["matches"]:
            parts = [
                client.submit(simulate, home, away, runs, seed) for seed in range(8)
            ]
            results[home, away] = client.submit(odds, parts, runs * 8)
        wait(list(results.values()))
        for (home, away), future in results.items():
            log.info("%s - %s: %.2f", home, away, future.result())


if __name__ == "__main__":
    main()
