"""Nightly fare settlement: price every tap pair of the day and total per line."""

import argparse
import json
import logging
import pathlib

import pandas as pd
from dask import delayed
from dask.distributed import Client, LocalCluster

import pricing
import report

log = logging.getLogger("tram_fares")


def load_trips(path):
    return pd.read_csv(path, dtype={"line": "string"})


def settle(trips):
    trips = trips.copy()
    trips["fare"] = [
        pricing.fare_of(r.zone_from, r.zone_to, r.card, r.transfers)
        for r in trips.itertuples(index=False)
    ]
    return report.per_line(trips)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--day", required=True)
    p.add_argument("--trips", required=True)
    p.add_argument("--out", required=True)
    a = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

    files = sorted(pathlib.Path(a.trips).glob("trips-*.csv"))
    log.info("%s: %d trip files", a.day, len(files))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        loads = [
            delayed(load_trips)(str(f), dask_key_name=f"load-{f.stem}") for f in files
        ]
        parts = [delayed(settle)(x) for x in loads]
        total = delayed(report.merge)(parts).compute()
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"fares-{a.day}.json").write_text(json.dumps(total, indent=1))
    log.info("settled %s", total)


if __name__ == "__main__":
    main()
