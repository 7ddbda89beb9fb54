"""Bids of a power trader for tomorrow's auction and for the market of the same day.

Two pools of workers, each with a scheduler: "day_ahead" for the auction and "intraday". Which machines belong to
which pool stands in pools.json; a starter goes through it and starts the workers with the address that it finds.
"""

import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s"
)
log = logging.getLogger("bids")

POOLS = {
    "day_ahead": {"minimum": 1, "wait": 15},
    "intraday": {"minimum": 2, "wait": 12},
}
MACHINES = [
    {"name": "da-1", "pool": "day_ahead", "threads": 1},
    {"name": "id-1", "pool": "day_ahead", "threads": 1},
    {"name": "id-2", "pool": "day_ahead", "threads": 1},
]


class Starter:
    def __init__(self, path, addresses):
        with open(path) as f:
            self.machines = json.load(f)["machines"]
        self.addresses = addresses
        self.children = []

    def start(self):
        for machine in self.machines:
            env = dict(
                os.environ, DASK_SCHEDULER_ADDRESS=self.addresses[machine["pool"]]
            )
            self.children.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        "--name",
                        machine["name"],
                        "--nthreads",
                        str(machine["threads"]),
                        "--memory-limit",
                        "300MB",
                        "--no-nanny",
                        "--no-dashboard",
                    ],
                    env=env,
                )
            )

    def stop(self):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(15)


def price_paths(hour, seed, n=20_000):
    rng = np.random.default_rng(seed + hour)
    return np.exp(rng.normal(4.1, 0.3, n)).cumsum() / np.arange(1, n + 1)


def bid_curve(paths, hour):
    return hour, np.quantile(paths[-5000:], [0.1, 0.5, 0.9]).round(2).tolist()


def make_bids(market, address, hours):
    pool = POOLS[market]
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(pool["minimum"], timeout=pool["wait"])
        paths = [
            client.submit(price_paths, hour, 17, key=f"price_paths-{market}-{hour}")
            for hour in hours
        ]
        bids = [
            client.submit(bid_curve, p, hour, key=f"bid_curve-{market}-{hour}")
            for p, hour in zip(paths, hours)
        ]
        result = dict(client.gather(bids))
    log.info("%s: %d bids", market, len(result))
    return result


def main():
    with open("pools.json", "w") as f:
        json.dump({"machines": MACHINES}, f, indent=1)
    heads = {
        market: LocalCluster(n_workers=0, dashboard_address=None, name=market)
        for market in POOLS
    }
    starter = Starter(
        "pools.json", {market: head.scheduler_address for market, head in heads.items()}
    )
    starter.start()
    failed = []
    try:
        with ThreadPoolExecutor(2) as threads:
            jobs = {
                market: threads.submit(
                    make_bids, market, heads[market].scheduler_address, range(8)
                )
                for market in POOLS
            }
            for market, job in jobs.items():
                try:
                    with open(f"bids-{market}.json", "w") as f:
                        json.dump(job.result(), f)
                except Exception:
                    log.exception("no bids for %s", market)
                    failed.append(market)
    finally:
        starter.stop()
        for head in heads.values():
            head.close()
    if failed:
        sys.exit("bids missing: " + ", ".join(failed))


if __name__ == "__main__":
    main()
