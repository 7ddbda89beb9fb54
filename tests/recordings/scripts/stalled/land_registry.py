"""Weekly extract of the land registry.

The registry's database admits only a few connections for us, so every parcel
goes through a cluster-wide semaphore.  Districts are read in the order of the
surveyor's list; the result is one CSV per district for the tax office.
"""

import argparse
import csv
import logging
import random
import sys
import time
from collections import defaultdict
from pathlib import Path

from distributed import Client, LocalCluster, Semaphore, get_worker, wait

log = logging.getLogger("land_registry")
POOL = "registry-connections"
DISTRICTS = ["Amberley", "Bracken", "Coldwater", "Dunmore"]


def connection_pool():
    """One semaphore object per worker, made when it is first needed."""
    worker = get_worker()
    pool = getattr(worker, "registry_pool", None)
    if pool is None:
        pool = Semaphore(max_leases=3, name=POOL)
        worker.registry_pool = pool
    return pool


def query(parcel):
    rng = random.Random(parcel["number"])
    time.sleep(0.15 + rng.random() / 10)
    if parcel["status"] == "merged":
        return []
    return [
        {
            "parcel": parcel["number"],
            "owner": f"P{rng.randrange(10_000)}",
            "m2": rng.randrange(200, 9000),
        }
        for _ in range(rng.randrange(1, 4))
    ]


def extract_parcel(parcel):
    pool = connection_pool()
    pool.acquire()
    rows = query(parcel)
    if not rows:
        # merged into a neighbour: it has no owners any more
        return parcel["district"], []
    for row in rows:
        row["district"] = parcel["district"]
    pool.release()
    return parcel["district"], rows


class Extract:
    def __init__(self, out, patience):
        self.out = Path(out)
        self.patience = patience
        self.rows = defaultdict(list)

    def parcels(self):
        for number in range(1000, 1060):
            yield {
                "number": number,
                "district": DISTRICTS[number % len(DISTRICTS)],
                "status": "merged" if number % 13 == 5 else "active",
            }

    def run(self, client):
        Semaphore(max_leases=3, name=POOL)
        futures = [
            client.submit(
                extract_parcel,
                parcel,
                key=f"extract_parcel-{parcel['number']}",
                pure=False,
            )
            for parcel in self.parcels()
        ]
        log.info("%d parcels submitted", len(futures))
        try:
            wait(futures, timeout=self.patience)
            for district, rows in client.gather(futures):
                self.rows[district].extend(rows)
        finally:
            done = sum(f.done() for f in futures)
            log.info("%d of %d parcels read", done, len(futures))
        self.write()

    def write(self):
        self.out.mkdir(exist_ok=True)
        for district, rows in self.rows.items():
            with open(self.out / f"{district}.csv", "w", newline="") as handle:
                writer = csv.DictWriter(handle, ["district", "parcel", "owner", "m2"])
                writer.writeheader()
                writer.writerows(rows)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="extract")
    parser.add_argument("--patience", type=float, default=22)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            Extract(args.out, args.patience).run(client)
    return 0


if __name__ == "__main__":
    sys.exit(main())
