"""Winter parcels by sledge: load per route and night, from the scans of the depots.

Every depot sends one file a night. The parcels are brought together by route, so that
each route can be packed (first fit, heavy ones first).
"""

import argparse
import csv
import logging
import os
import sys
import tempfile
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("sledge")

DEPOTS = ["alta", "bodo", "enare", "ivalo", "kautokeino", "kiruna", "narvik", "tromso"]
MANUAL_SCALES = {"kautokeino"}
META = pd.DataFrame(
    {
        "parcel": pd.Series(dtype="int64"),
        "route": pd.Series(dtype="int64"),
        "weight_g": pd.Series(dtype="int64"),
    }
)


def write_scans(folder, depot, rows):
    """The nightly file of one depot (the real ones arrive by sftp)."""
    rng = np.random.default_rng(len(depot) * 31 + ord(depot[0]))
    path = os.path.join(folder, f"scans_{depot}.csv")
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["parcel", "route", "weight_g"])
        for n in range(rows):
            weight = int(rng.integers(200, 30_000))
            if depot in MANUAL_SCALES and n % 97 == 5:
                weight = f"{weight / 1000:.1f} kg"
            out.writerow([n, int(rng.integers(0, 40)), weight])
    return path


def read_depot(path):
    time.sleep(1.8)
    frame = pd.read_csv(path)
    return frame[list(META.columns)]


def pack_route(parcels, capacity=120_000):
    """Number of sledges for one route."""
    sledges = []
    for weight in sorted(parcels["weight_g"], reverse=True):
        for i, free in enumerate(sledges):
            if weight <= free:
                sledges[i] -= weight
                break
        else:
            sledges.append(capacity - weight)
    return len(sledges)


def pack_partition(frame):
    if frame.empty:
        return pd.DataFrame(
            {"route": pd.Series(dtype="int64"), "sledges": pd.Series(dtype="int64")}
        )
    packed = {route: pack_route(part) for route, part in frame.groupby("route")}
    return pd.DataFrame({"route": list(packed), "sledges": list(packed.values())})


def plan(paths):
    scans = dd.from_map(read_depot, paths, meta=META)
    by_route = scans.shuffle("route", npartitions=6, shuffle_method="p2p")
    meta = pd.DataFrame(
        {"route": pd.Series(dtype="int64"), "sledges": pd.Series(dtype="int64")}
    )
    return by_route.map_partitions(pack_partition, meta=meta)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--rows", type=int, default=4000, help="parcels a depot")
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    dask.config.set({"dataframe.convert-string": False})
    with (
        tempfile.TemporaryDirectory(prefix="sledge-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        paths = [write_scans(folder, depot, args.rows) for depot in DEPOTS]
        log.info("%d depots, %d bytes", len(paths), sum(map(os.path.getsize, paths)))
        counted = sum(client.gather(client.map(os.path.getsize, paths)))
        log.info("workers see %d bytes", counted)
        result = plan(paths).compute()
        busiest = result.sort_values("sledges").iloc[-1]
        log.info(
            "%d sledges, busiest route %d", result["sledges"].sum(), busiest["route"]
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
