"""Matches building permits with the land register.

Permits arrive as one Parquet file a month; the register is a single table. Each permit gets its zone and its owner's class,
the result is aggregated per zone for the planning office.
"""

import argparse
import logging
import os
from pathlib import Path

os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("permits")

ZONES = ["W2", "W3", "G1", "G2", "Z1", "L"]


def write_register(path):
    rng = np.random.default_rng(5)
    size = 20_000
    refs = np.array([f"P{n:06d}" for n in range(size)], dtype=object)
    # strips along roads and streams never got a reference
    refs[rng.permutation(size)[:9_000]] = ""
    pd.DataFrame(
        {
            "parcel_ref": refs,
            "zone": rng.choice(ZONES, size),
            "area": rng.random(size) * 900,
        }
    ).to_parquet(path)


def write_permits(folder, months):
    rng = np.random.default_rng(6)
    for month in range(1, months + 1):
        size = 6_000
        refs = np.array(
            [f"P{n:06d}" for n in rng.integers(0, 20_000, size)], dtype=object
        )
        if month == months:
            # the online form went live; the reference is an optional field there
            refs[:5_500] = ""
        pd.DataFrame(
            {
                "permit": np.arange(size) + month * 100_000,
                "parcel_ref": refs,
                "cost": rng.gamma(2, 80_000, size),
            }
        ).to_parquet(folder / f"permits-{month:02d}.parquet")


def enrich(permits, register):
    merged = permits.merge(register, on="parcel_ref", how="left")
    merged["cost_per_area"] = merged["cost"] / (merged["area"] + 1.0)
    return merged


def report(folder):
    permits = dd.read_parquet(
        sorted(str(p) for p in folder.glob("permits-*.parquet")), split_row_groups=False
    )
    register = dd.read_parquet(str(folder / "register.parquet"))
    log.info("%d months of permits", permits.npartitions)
    enriched = permits.map_partitions(enrich, register, align_dataframes=False)
    return enriched.groupby("zone")[["cost", "cost_per_area"]].mean().compute()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path("landuse"))
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    write_register(options.folder / "register.parquet")
    write_permits(options.folder, options.months)

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        zones = report(options.folder)
        zones.to_csv(options.folder / "zones.csv")
        log.info("report written for %d zones", len(zones))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
