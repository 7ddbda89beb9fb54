"""Assign delivery zones to tomorrow's consignments through the futures interface."""

import concurrent.futures
import logging

from dask.distributed import Client, LocalCluster

log = logging.getLogger("zones")
RANGES = [
    (1000, 9999, "east"),
    (10000, 19999, "capital"),
    (20000, 29999, "north"),
    (30000, 38999, "centre"),
    (40000, 59999, "west"),
    (60000, 79999, "south-west"),
    (80000, 99999, "south"),
]


class PostalError(Exception):
    pass


class ZoneGap(PostalError, LookupError, ValueError):
    def __init__(self, code, consignment):
        super().__init__(code, consignment)
        self.code = code
        self.consignment = consignment

    def __str__(self):
        return f"consignment {self.consignment}: postal code {self.code:05d} lies between two zones"


def zone(code, consignment):
    for low, high, name in RANGES:
        if low <= code <= high:
            return name
    raise ZoneGap(code, consignment)


def consignments(count):
    towns = [3100, 14050, 24800, 33900, 51200, 70100, 84500]
    return [(f"C{n:04d}", towns[n % len(towns)] + n) for n in range(count)]


def assign(batch):
    found = {}
    for consignment, code in batch:
        found.setdefault(zone(code, consignment), []).append(consignment)
    return found


def merge(parts):
    zones = {}
    for part in parts:
        for name, members in part.items():
            zones.setdefault(name, []).extend(members)
    return zones


def main():
    logging.basicConfig(level=logging.INFO)
    todo = consignments(400)
    todo[287] = (todo[287][0], 39200)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        with client.get_executor() as executor:
            batches = [todo[i : i + 50] for i in range(0, len(todo), 50)]
            parts = [executor.submit(assign, batch) for batch in batches]
            concurrent.futures.wait(parts)
            log.info("%d batches assigned", len(parts))
            zones = merge(part.result() for part in parts)
            for name in sorted(zones):
                print(name, len(zones[name]))


if __name__ == "__main__":
    main()
