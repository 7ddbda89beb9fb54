"""Refunds for returned mobile phones.

Returns are priced in batches with the dealer's price list.  The list is large, so it does not travel with the tasks:
only its name does, and the list is read again where it arrives.
"""

import csv
import logging
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
logger = logging.getLogger("returns")


class PriceList:
    """Prices by model; pickles to the name of its file."""

    def __init__(self, path):
        self.path = path
        self._load()

    def _load(self):
        with open(self.path, newline="") as f:
            self.prices = {r["model"]: float(r["price"]) for r in csv.DictReader(f)}

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.path = state["path"]
        self._load()

    def refund(self, model, age_months):
        return self.prices[model] * max(0.1, 1 - age_months / 36)


class RefundJob:
    def __init__(self, price_list, batches=10):
        self.price_list = price_list
        self.batches = batches

    @staticmethod
    def read_batch(number):
        rng = random.Random(number)
        return [(f"M{rng.randint(0, 49):02d}", rng.randint(0, 30)) for _ in range(400)]

    @staticmethod
    def price_batch(batch, price_list):
        return sum(price_list.refund(model, age) for model, age in batch)

    def submit(self, client):
        batches = client.map(self.read_batch, range(self.batches))
        wait(batches, timeout=15)
        logger.info("%d batches read", len(batches))
        return [
            client.submit(
                self.price_batch, b, self.price_list, retries=1, key=f"price_batch-{i}"
            )
            for i, b in enumerate(batches)
        ]


def write_prices():
    Path("lists").mkdir(exist_ok=True)
    path = Path("lists", "dealer_prices.csv")
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["model", "price"])
        out.writerows([f"M{i:02d}", 90 + 11 * i] for i in range(50))
    return str(path)


def launch(port, scratch):
    common = ["--no-dashboard"]
    yield subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            *common,
        ]
    )
    for name in ("counter", "backroom"):
        home = Path(scratch, name)
        home.mkdir()
        yield subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                f"tcp://127.0.0.1:{port}",
                "--name",
                name,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--local-directory",
                str(home),
                *common,
            ],
            cwd=home,
        )


def main():
    prices = PriceList(write_prices())
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    scratch = tempfile.mkdtemp(prefix="returns-")
    processes = list(launch(port, scratch))
    try:
        with Client(f"tcp://127.0.0.1:{port}", timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            futures = RefundJob(prices).submit(client)
            done, not_done = wait(futures, timeout=12)
            failed = [f for f in done if f.status == "error"]
            logger.info(
                "%d priced, %d failed, %d open",
                len(done) - len(failed),
                len(failed),
                len(not_done),
            )
            print("refunds: %.2f" % sum(client.gather(futures)))
    finally:
        for p in reversed(processes):
            p.terminate()
            p.wait(15)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
