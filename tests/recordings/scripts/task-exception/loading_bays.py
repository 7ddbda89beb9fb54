"""Assigns tomorrow's lorries to the loading bays of the distribution centre.

Runs at 21:00 after the orders closed.  Workers are started per run, each in a
scratch folder of its own, and are stopped when the run is over.
"""

import logging
import shutil
import subprocess
import sys
import tempfile
from functools import cached_property
from pathlib import Path

import pandas as pd
import yaml
from dask import delayed
from distributed import Client, LocalCluster

log = logging.getLogger("loading_bays")

BAYS = {
    "cold": {"bays": [1, 2, 3], "minutes": 50},
    "dry": {"bays": [4, 5, 6, 7, 8], "minutes": 35},
    "bulky": {"bays": [9, 10], "minutes": 80},
}


def read_orders(depot):
    kinds = ["cold", "dry", "dry", "bulky"]
    return pd.DataFrame(
        {
            "lorry": [f"{depot}-{n:03d}" for n in range(40)],
            "kind": [kinds[n % 4] for n in range(40)],
            "arrives": pd.date_range("2026-11-29 04:00", periods=40, freq="11min"),
        }
    )


def assign_bays(orders, config="conf/bays.yaml"):
    with open(config) as handle:
        bays = yaml.safe_load(handle)
    plan = []
    for kind, group in orders.groupby("kind"):
        rules = bays[kind]
        group = group.sort_values("arrives").reset_index(drop=True)
        group["bay"] = [
            rules["bays"][n % len(rules["bays"])] for n in range(len(group))
        ]
        group["leaves"] = group["arrives"] + pd.Timedelta(minutes=rules["minutes"])
        plan.append(group)
    return pd.concat(plan)


class BayPlan:
    depots = ("NORTH", "EAST", "PORT")

    def __init__(self):
        self.base = Path.cwd()
        (self.base / "conf").mkdir(exist_ok=True)
        (self.base / "conf" / "bays.yaml").write_text(yaml.safe_dump(BAYS))
        self.scratch = Path(tempfile.mkdtemp(prefix="bays-"))
        self.workers = []

    @cached_property
    def cluster(self):
        return LocalCluster(n_workers=0, dashboard_address=None)

    def start_workers(self, client, count=2):
        for number in range(count):
            folder = self.scratch / f"w{number}"
            folder.mkdir()
            self.workers.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        self.cluster.scheduler_address,
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "400MB",
                        "--no-dashboard",
                        "--name",
                        f"bays-{number}",
                    ],
                    cwd=folder,
                )
            )
        client.wait_for_workers(count, timeout=30)

    def run(self):
        with Client(self.cluster) as client:
            self.start_workers(client)
            plans = [
                delayed(assign_bays)(delayed(read_orders)(depot))
                for depot in self.depots
            ]
            total = delayed(pd.concat)(plans)
            plan = client.compute(total, retries=1).result()
            plan.to_csv(self.scratch / "plan.csv", index=False)
            log.info("%d lorries assigned", len(plan))

    def finish(self):
        for process in self.workers:
            process.terminate()
        for process in self.workers:
            process.wait(20)
        self.cluster.close()
        # the yard's screens read this file
        shutil.copy(self.scratch / "plan.csv", self.base / "plan.csv")
        shutil.rmtree(self.scratch, ignore_errors=True)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    job = BayPlan()
    try:
        job.run()
    finally:
        job.finish()


if __name__ == "__main__":
    main()
