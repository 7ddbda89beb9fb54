"""Rosters for hotel porters: arrivals from the houses' files on one cluster, shifts on another, then reconciliation.

Every house sends a CSV of arrivals by hour.  The control sheet says how many arrivals head office has booked for each.
"""

import csv
import logging
import random
from pathlib import Path

import dask.bag as db
import dask.dataframe as dd
from distributed import Client, LocalCluster

log = logging.getLogger("rosters")
HOUSES = [
    "albion",
    "bristol",
    "carlton",
    "dorchester",
    "excelsior",
    "flora",
    "grand",
    "hermitage",
]


class ReconciliationError(Exception):
    """Arrivals of the files do not agree with the control sheet."""


def receive_files(folder):
    """What the houses sent last night."""
    folder.mkdir(exist_ok=True)
    control = {}
    for house in HOUSES:
        rng = random.Random(house)
        counts = [rng.randint(2, 30) for _ in range(24)]
        control[house] = sum(counts)
        with open(folder / f"{house}.csv", "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["house", "hour", "arrivals", "luggage"])
            for hour, count in enumerate(counts):
                shown = f"{count} (est.)" if house == "flora" and hour >= 18 else count
                writer.writerow([house, hour, shown, round(count * 1.6, 1)])
    return control


class Arrivals:
    """Reads all files as one table; what is no number is left out."""

    def __init__(self, folder):
        self.folder = folder

    def totals(self, client):
        frame = dd.read_csv(
            str(self.folder / "*.csv"), dtype={"arrivals": "object", "house": "object"}
        )
        frame["arrivals"] = dd.to_numeric(frame["arrivals"], errors="coerce")
        grouped = frame.dropna(subset=["arrivals"]).groupby("house")["arrivals"].sum()
        return client.compute(grouped).result().to_dict()


class Shifts:
    def __init__(self, per_porter=35):
        self.per_porter = per_porter

    def plan(self, house_and_arrivals):
        house, arrivals = house_and_arrivals
        return {
            "house": house,
            "porters": int(-(-arrivals // self.per_porter)),
            "arrivals": int(arrivals),
        }

    def all(self, client, totals):
        bag = db.from_sequence(sorted(totals.items()), npartitions=4).map(self.plan)
        return client.compute(bag).result()


def reconcile(rosters, control):
    wrong = {
        r["house"]: (r["arrivals"], control[r["house"]])
        for r in rosters
        if r["arrivals"] != control[r["house"]]
    }
    for house, (found, booked) in wrong.items():
        log.error(
            "%s: %d arrivals in the file, %d on the control sheet", house, found, booked
        )
    if wrong:
        raise ReconciliationError(
            f"{len(wrong)} of {len(rosters)} houses do not agree: {', '.join(wrong)}"
        )


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    folder = Path("arrivals")
    control = receive_files(folder)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as files,
        Client(files) as client,
    ):
        totals = Arrivals(folder).totals(client)
        log.info("arrivals of %d houses", len(totals))
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as small:
        with Client(small) as client:
            rosters = Shifts().all(client, totals)
            log.info("rosters of %d houses", len(rosters))
            try:
                reconcile(rosters, control)
            finally:
                for leftover in folder.glob("*.csv"):
                    leftover.unlink()
    Path("rosters.txt").write_text("\n".join(map(str, rosters)))


if __name__ == "__main__":
    main()
