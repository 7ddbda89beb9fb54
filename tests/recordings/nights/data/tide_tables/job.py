"""Hourly low and high water per harbour from the gauge telemetry."""

import argparse
import csv
import logging
import os

import dask.bag as db
from dask.distributed import Client, LocalCluster

from tides import levels, records

logging.basicConfig(level=logging.INFO, format="%(message)s")


def table(spool):
    lines = db.read_text(os.path.join(spool, "gauge-*.jsonl"))
    good = lines.map(records.parse).filter(records.is_valid)
    return good.foldby(records.key, levels.add, levels.START, levels.join, levels.START)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("day")
    ap.add_argument("spool")
    ap.add_argument("out")
    a = ap.parse_args()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        rows = table(a.spool).compute()
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.out, f"tides-{a.day}.csv"), "w", newline="") as f:
        w = csv.writer(f)
        for (harbour, hour), (low, high, n) in sorted(rows):
            w.writerow([harbour, hour, low, high, n])
    logging.info("%s: %d rows", a.day, len(rows))
