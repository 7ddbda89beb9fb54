"""Grading of cultured pearls.

Photographs of the day's lots are measured on the cluster. A writer thread in this program takes the measures from
a short in-process queue, grades them and writes the price list, while the main thread collects from the cluster.
"""

import csv
import queue
import random
import sys
import tempfile
import threading
from pathlib import Path

from dask.distributed import Client, as_completed

PRICES = {"AAA": 140.0, "AA": 75.0, "A": 31.0, "B": 9.5}
END = object()


def measure_lot(lot):
    """Diameter, lustre and blemishes of each pearl of a lot."""
    rng = random.Random(lot)
    pearls = []
    for i in range(400):
        pearls.append(
            {
                "pearl": f"{lot}/{i:03d}",
                "mm": round(rng.uniform(5.5, 11.0), 2),
                "lustre": rng.random(),
                "blemishes": rng.randint(0, 6) if i else 0,
            }
        )
    if lot % 10 == 7:  # baroque lots have pearls that are not round
        for p in pearls[::9]:
            p["shape"] = "baroque"
    return lot, pearls


def grade(pearl):
    score = pearl["lustre"] * 3 - pearl["blemishes"] * 0.4
    if pearl.get("shape") == "baroque":
        return "BQ"
    return "AAA" if score > 2 else "AA" if score > 1.2 else "A" if score > 0.2 else "B"


class PriceList(threading.Thread):
    """Writes graded lots as they come."""

    def __init__(self, path):
        super().__init__(name="price-list-writer", daemon=True)
        self.path = path
        self.lots = queue.Queue(maxsize=4)
        self.rows = 0

    def run(self):
        with open(self.path, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["pearl", "mm", "grade", "price"])
            while (item := self.lots.get()) is not END:
                lot, pearls = item
                for p in pearls:
                    g = grade(p)
                    out.writerow(
                        [p["pearl"], p["mm"], g, round(PRICES[g] * p["mm"] / 7, 2)]
                    )
                    self.rows += 1
                self.lots.task_done()

    def finish(self):
        self.lots.put(END)
        self.join()


def collect(client, lots, writer):
    futures = client.map(measure_lot, lots, pure=False)
    for n, future in enumerate(as_completed(futures), 1):
        lot, pearls = future.result()
        writer.lots.put((lot, pearls))
        future.release()
        print(f"{n:3d}/{len(lots)} lot {lot}: {len(pearls)} pearls", flush=True)


def main(argv):
    first = int(argv[0]) if argv else 100
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "prices.csv"
        writer = PriceList(path)
        writer.start()
        with Client(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=":0",
        ) as client:
            collect(client, range(first, first + 30), writer)
        writer.finish()
        print(f"{writer.rows} pearls priced, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
