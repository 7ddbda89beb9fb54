"""Stock of a maker of knitwear: what has each shop to order before winter?

The shops' lists come as CSV files in the job's folder "stock". A supervisor starts the workers, each in a spool folder
of its own, and restarts them if they end.
"""

import contextlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

import dask
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

SHOPS = ["aberdeen", "cork", "galway", "lerwick", "oban", "truro"]


def write_lists(folder="stock"):
    os.makedirs(folder, exist_ok=True)
    random.seed(11)
    for shop in SHOPS:
        with open(f"{folder}/{shop}.csv", "w") as f:
            f.write("article,size,pieces,weekly\n")
            for article in ("jumper", "scarf", "hat", "mitten"):
                for size in "SML":
                    f.write(
                        f"{article},{size},{random.randint(0, 60)},{random.randint(1, 9)}\n"
                    )


def read_shop(shop):
    frame = pd.read_csv(f"stock/{shop}.csv")
    frame["shop"] = shop
    return frame


class Supervisor(threading.Thread):
    """Keeps one worker per spool folder alive."""

    def __init__(self, address, names):
        super().__init__(daemon=True)
        self.spool = pathlib.Path(tempfile.mkdtemp(prefix="spool-"))
        self.address = address
        self.ending = threading.Event()
        self.workers = {name: self.spawn(name) for name in names}

    def spawn(self, name):
        home = self.spool / name
        home.mkdir(exist_ok=True)
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                self.address,
                "--name",
                name,
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--no-nanny",
                "--no-dashboard",
            ],
            cwd=home,
        )

    def run(self):
        while not self.ending.wait(1):
            for name, process in list(self.workers.items()):
                if process.poll() is not None:
                    print(
                        f"{name} ended with {process.returncode}, starting it again",
                        flush=True,
                    )
                    self.workers[name] = self.spawn(name)

    def close(self):
        self.ending.set()
        self.join()
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            process.wait(15)


def order_list(weeks=8):
    stock = dd.from_map(
        read_shop, SHOPS, label="read_shop", meta=read_shop(SHOPS[0]).head(0)
    )
    need = stock.assign(order=(stock.weekly * weeks - stock.pieces).clip(lower=0))
    return need.groupby(["shop", "article"]).order.sum()


def main():
    dask.config.set({"dataframe.convert-string": False})
    write_lists()
    missing = [shop for shop in SHOPS if not os.path.exists(f"stock/{shop}.csv")]
    if missing:
        sys.exit(f"no list from {missing}")
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with contextlib.closing(
            Supervisor(cluster.scheduler_address, ["loom-1", "loom-2"])
        ) as supervisor:
            supervisor.start()
            client.wait_for_workers(2, timeout=30)
            orders = order_list()
            print("columns:", orders.head(0, compute=False).name, flush=True)
            result = orders.compute(retries=1)
            result.to_csv("orders.csv")
            print(result.groupby("shop").sum())


if __name__ == "__main__":
    main()
