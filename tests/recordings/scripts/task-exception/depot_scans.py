"""Parcel scan events: join yesterday's parquet files with the depot list."""

import os
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def land(root):
    rng = np.random.default_rng(2)
    for part in range(5):
        n = 3000
        frame = pd.DataFrame(
            {
                "parcel": rng.integers(1, 10**6, n),
                "depot_id": rng.integers(1, 30, n),
                "weight_g": rng.integers(50, 30000, n),
            }
        )
        if part == 3:
            frame["depot_id"] = "D" + frame["depot_id"].astype(str).str.zfill(3)
        frame.to_parquet(os.path.join(root, f"scan-{part:03d}.parquet"))


def per_depot(frame):
    grouped = frame.groupby("depot_id", as_index=False)["weight_g"].sum()
    grouped["tonnes"] = grouped["weight_g"] / 1e6
    return grouped[["depot_id", "tonnes"]]


def main():
    depots = pd.DataFrame(
        {"depot_id": range(1, 30), "city": [f"city{i % 7}" for i in range(1, 30)]}
    )
    with tempfile.TemporaryDirectory() as root:
        land(root)
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster):
                scans = dd.read_parquet(os.path.join(root, "scan-*.parquet"))
                partial = scans.map_partitions(
                    per_depot, meta={"depot_id": "int64", "tonnes": "float64"}
                )
                joined = partial.merge(
                    dd.from_pandas(depots, npartitions=1), on="depot_id", how="left"
                )
                by_city = joined.groupby("city")["tonnes"].sum().compute()
                print(by_city.round(2).to_string())


if __name__ == "__main__":
    main()
