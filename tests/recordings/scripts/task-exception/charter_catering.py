"""Catering orders for tomorrow's charter flights.

Every flight has an order sheet from the charter company (CSV, typed by hand). For
each flight we work out meals and trolley weight; the kitchen needs the sheet of
all flights by 16:00. Flights that cannot be worked out are listed, and the job
tells cron so.
"""

import argparse
import csv
import logging
import pathlib
import sys
import tempfile

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("catering")

FLIGHTS = {
    "CX101": 180,
    "CX114": 92,
    "CX230": 211,
    "CX231": 144,
    "CX377": 60,
    "CX402": 155,
    "CX518": 188,
    "CX611": 73,
}
LATE_CATALOGUE = {"CX114", "CX377", "CX518"}
MEALS = ["standard", "vegetarian", "child", "crew"]


def write_sheets(folder):
    """The sheets as the charter companies send them."""
    for flight, pax in FLIGHTS.items():
        with open(folder / f"{flight}.csv", "w", newline="") as out:
            sheet = csv.writer(out)
            sheet.writerow(["meal", "count", "grams"])
            for i, meal in enumerate(MEALS):
                grams = 420 + 30 * i
                if flight in LATE_CATALOGUE and meal == "child":
                    grams = "tbc"
                sheet.writerow([meal, pax // (2 + i), grams])


def read_order(path):
    with open(path, newline="") as sheet:
        return list(csv.DictReader(sheet))


def trolley_weight(flight, order):
    kilos = 0.0
    for line in order:
        kilos += int(line["count"]) * float(line["grams"]) / 1000
    return flight, round(kilos * 1.08, 1)


class Kitchen:
    """Collects what is ready and remembers what is not."""

    def __init__(self, client):
        self.client = client
        self.ready = {}
        self.missing = {}

    def plan(self, folder):
        futures = {}
        for flight in FLIGHTS:
            order = self.client.submit(
                read_order, str(folder / f"{flight}.csv"), key=f"order-{flight}"
            )
            weight = self.client.submit(
                trolley_weight, flight, order, key=f"weight-{flight}", retries=1
            )
            futures[weight] = flight
        for future in as_completed(futures):
            flight = futures[future]
            try:
                _, kilos = future.result()
            except Exception:
                self.missing[flight] = "not worked out"
                log.warning("%s: left out", flight)
            else:
                self.ready[flight] = kilos

    def print_sheet(self):
        for flight, kilos in sorted(self.ready.items()):
            print(f"{flight:8s}{kilos:9.1f} kg")


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--tolerate", type=int, default=1)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(name)s %(message)s"
    )
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        write_sheets(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="350MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                kitchen = Kitchen(client)
                kitchen.plan(folder)
                kitchen.print_sheet()
    if len(kitchen.missing) > args.tolerate:
        sys.exit(f"{len(kitchen.missing)} of {len(FLIGHTS)} flights failed")


if __name__ == "__main__":
    main()
