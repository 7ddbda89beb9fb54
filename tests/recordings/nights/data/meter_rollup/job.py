"""Hourly consumption of all smart meters, from the CSV exports of the head end."""

import json
import os
import sys
from glob import glob

import dask
from dask.distributed import Client, LocalCluster

from rollup import add_up, hourly, read_readings


def build(files):
    read, hours, add = (
        dask.delayed(read_readings),
        dask.delayed(hourly),
        dask.delayed(add_up),
    )
    level = [hours(read(f)) for f in files]
    while len(level) > 1:
        level = [add(level[i : i + 8]) for i in range(0, len(level), 8)]
    return level[0]


def main(day, landing, out):
    files = sorted(glob(os.path.join(landing, "**", "readings*.csv"), recursive=True))
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        total = build(files).compute()
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, f"hourly-{day}.json"), "w") as f:
        json.dump({h: round(total[h], 1) for h in sorted(total)}, f)
    print(day, round(sum(total.values())), "kWh")


if __name__ == "__main__":
    main(*sys.argv[1:4])
