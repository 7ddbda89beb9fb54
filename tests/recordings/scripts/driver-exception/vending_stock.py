"""Refill plan of the vending machines, made every evening.

Machines report by modem, some don't.  Those that are offline are listed for
the technicians, the rest goes into the refill plan of each depot.
"""

import argparse
import csv
import logging
import os
import zlib
from dataclasses import dataclass, field

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("refill")

# since the reorganisation of the depots in November
DEPOTS = {
    "north": {"vans": 3, "crates": 40},
    "south": {"vans": 2, "crates": 40},
    "harbour": {"vans": 1, "crates": 25},
    "airport": {"vans": 2, "crates": 60},
}

AREA_OF_DEPOT = ["north", "south", "harbour", "aerodrome"]


class ModemSilent(ConnectionError):
    """The machine did not answer."""


@dataclass
class Need:
    machines: int = 0
    crates: float = 0.0
    urgent: list = field(default_factory=list)


def poll(machine):
    mark = zlib.crc32(machine.encode())
    if mark % 17 == 0:
        raise ModemSilent(f"no answer from {machine} within 3 tries")
    slots = [(mark >> shift) % 12 for shift in range(0, 24, 3)]
    return {
        "machine": machine,
        "area": AREA_OF_DEPOT[mark % 4],
        "missing": sum(12 - level for level in slots),
        "empty": slots.count(0),
    }


def collect(client, machines):
    needs, offline = {}, []
    futures = client.map(
        poll, machines, retries=1, pure=False, key=[f"poll-{name}" for name in machines]
    )
    for future in as_completed(futures):
        if future.status == "error":
            offline.append(future.key.removeprefix("poll-"))
            log.warning("%s: %s", future.key, future.exception())
            continue
        report = future.result()
        need = needs.setdefault(report["area"], Need())
        need.machines += 1
        need.crates += report["missing"] / 24
        if report["empty"] > 1:
            need.urgent.append(report["machine"])
    return needs, offline


def plan(needs):
    rows = []
    for depot, fleet in DEPOTS.items():
        need = needs[depot]
        tours = need.crates / fleet["crates"]
        rows.append(
            [
                depot,
                need.machines,
                round(need.crates, 1),
                round(tours / fleet["vans"], 2),
                len(need.urgent),
            ]
        )
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machines", type=int, default=160)
    parser.add_argument("--out", default="refill")
    options = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
    )
    machines = [f"VM{number:04d}" for number in range(options.machines)]

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        needs, offline = collect(client, machines)
        log.info(
            "%d machines answered, %d are offline",
            len(machines) - len(offline),
            len(offline),
        )
        os.makedirs(options.out, exist_ok=True)
        with open(os.path.join(options.out, "offline.csv"), "w", newline="") as file:
            csv.writer(file).writerows([name] for name in sorted(offline))
        rows = plan(needs)
        with open(os.path.join(options.out, "plan.csv"), "w", newline="") as file:
            csv.writer(file).writerows(rows)
        log.info("plan for %d depots written", len(rows))


if __name__ == "__main__":
    main()
