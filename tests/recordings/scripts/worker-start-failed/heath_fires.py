"""Daily fire danger of heathlands.

Each worker holds the fuel-moisture table of the season in memory: a worker plugin loads it when the worker starts.
Workers are only added once the weather feed of the morning is complete.
"""

import csv
import functools
import logging
import pathlib
import random
import sys
import time

import dask
from dask import delayed
from distributed import Client, LocalCluster, WorkerPlugin, get_worker

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("heath_fires")
FUEL = {"heather": 0.9, "gorse": 1.3, "bracken": 0.7, "grass": 1.0}


class FuelTable(WorkerPlugin):
    name = "fuel-table"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        table = {}
        with open(self.path, newline="") as f:
            for row in csv.DictReader(f):
                table[row["fuel"], int(row["month"])] = float(row["moisture"])
        worker.fuel_table = table

    def teardown(self, worker):
        worker.fuel_table = None


def write_fuel_table(path):
    """Export of the botanists' spreadsheet; months without a survey stay open."""
    rng = random.Random(4)
    with path.open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["fuel", "month", "moisture"])
        for fuel in FUEL:
            for month in range(1, 13):
                surveyed = not (fuel == "bracken" and month == 12)
                out.writerow(
                    [fuel, month, f"{rng.uniform(8, 30):.1f}" if surveyed else "n.s."]
                )


def retrying(times):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            for i in range(times):
                try:
                    return fn(*args, **kwargs)
                except ConnectionError:
                    log.info("%s: try %d failed", fn.__name__, i + 1)
                    time.sleep(0.2)
            raise RuntimeError(f"{fn.__name__} gave up")

        return inner

    return wrap


_calls = iter([False, True, True])


@retrying(3)
def fetch_weather(day):
    if not next(_calls):
        raise ConnectionError("feed is not complete yet")
    rng = random.Random(day)
    return [
        {
            "heath": h,
            "wind": rng.uniform(0, 20),
            "temp": rng.uniform(-2, 12),
            "fuel": rng.choice(list(FUEL)),
        }
        for h in range(30)
    ]


@delayed(pure=False)
def danger(obs, month):
    table = get_worker().fuel_table
    moisture = table[obs["fuel"], month]
    return obs["heath"], FUEL[obs["fuel"]] * (obs["wind"] + obs["temp"]) / moisture


@delayed
def bulletin(pairs):
    worst = sorted(pairs, key=lambda p: -p[1])[:5]
    return "\n".join(f"heath {h:3d}  {v:6.2f}" for h, v in worst)


def main(day="2026-11-28"):
    path = pathlib.Path("fuel_table.csv").resolve()
    write_fuel_table(path)
    month = int(day.split("-")[1])
    with LocalCluster(
        n_workers=0, threads_per_worker=1, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            client.register_plugin(FuelTable(str(path)))
            weather = fetch_weather(day)
            cluster.scale(2)
            client.wait_for_workers(2, timeout=30)
            log.info(
                "%d heaths on %d workers",
                len(weather),
                len(client.scheduler_info()["workers"]),
            )
            (text,) = dask.compute(bulletin([danger(o, month) for o in weather]))
    print(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
