"""Counts the lift trips of the towers; the ledger lives as an actor on the cluster."""

import argparse
import logging
import random
import sys
import tempfile
import time
from collections import Counter

from dask.distributed import Client, LocalCluster

log = logging.getLogger("lifts")

TOWERS = ["aldgate", "bishop", "crown", "dome"]


class TripLedger:
    """Totals of the night; kept in one place so that no trip counts twice."""

    def __init__(self):
        self.trips = Counter()
        self.batches = 0

    def add(self, tower, trips):
        self.trips[tower] += trips
        self.batches += 1
        return self.batches

    def totals(self):
        return dict(self.trips)


def read_controller(tower, day):
    """Trips of one day in one tower."""
    time.sleep(0.25)
    rng = random.Random(f"{tower}{day}")
    return [rng.randint(0, 30) for _ in range(600)]


def book_trips(ledger, tower, trips):
    time.sleep(0.05)
    return ledger.add(tower, sum(trips)).result()


def wear_model(tower):
    """Slow forecast of rope wear, one a tower."""
    time.sleep(1.0)
    return tower, sum(random.Random(tower).random() for _ in range(10_000))


def book_days(client, ledger, days):
    booked = []
    for tower in TOWERS:
        for day in days:
            trips = client.submit(
                read_controller, tower, day, key=f"read_controller-{tower}-{day}"
            )
            booked.append(
                client.submit(
                    book_trips, ledger, tower, trips, key=f"book_trips-{tower}-{day}"
                )
            )
    client.gather(booked)
    return len(booked)


def save_energy(client, cluster, keep):
    """The second half is light work: give back what is not needed."""
    before = len(client.scheduler_info(n_workers=-1)["workers"])
    cluster.scale(keep)
    for _ in range(100):
        if len(client.scheduler_info(n_workers=-1)["workers"]) <= keep:
            break
        time.sleep(0.1)
    log.info("workers: %d -> %d", before, keep)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=8)
    parser.add_argument("--keep", type=int, default=1)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="lifts-") as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
                local_directory=tmp,
            ) as cluster,
            Client(cluster) as client,
        ):
            names = {
                spec["name"]: addr
                for addr, spec in client.scheduler_info(n_workers=-1)["workers"].items()
            }
            ledger = client.submit(
                TripLedger, actor=True, workers=[names[max(names)]], key="trip_ledger"
            ).result()
            half = args.days // 2
            log.info("%d batches booked", book_days(client, ledger, range(half)))
            log.info("so far: %s", ledger.totals().result())
            save_energy(client, cluster, args.keep)
            wear = client.gather(client.map(wear_model, TOWERS))
            log.info("wear: %s", {t: round(w) for t, w in wear})
            log.info(
                "%d more batches", book_days(client, ledger, range(half, args.days))
            )
            log.info("night's totals: %s", ledger.totals().result())
    return 0


if __name__ == "__main__":
    sys.exit(main())
