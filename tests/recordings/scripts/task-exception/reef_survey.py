"""Nightly reef survey: coral cover by reef from the divers' transect files."""

import os
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def write_transects(folder):
    rng = np.random.default_rng(4)
    for day in range(6):
        n = 3000
        df = pd.DataFrame(
            {
                "reef": rng.choice(["ribbon", "agincourt", "opal"], n),
                "transect": rng.integers(1, 40, n),
                "depth_m": rng.integers(2, 30, n),
                "cover_pct": rng.uniform(0, 80, n).round(1),
            }
        )
        if day == 4:
            df["depth_m"] = df["depth_m"].astype(object)
            df.loc[[1800, 1801, 2512], "depth_m"] = "surface"
        df.to_csv(os.path.join(folder, f"transects-0{day}.csv"), index=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_transects(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            transects = dd.read_csv(os.path.join(folder, "transects-*.csv"))
            deep = transects[transects["depth_m"] > 10]
            cover = deep.groupby("reef")["cover_pct"].mean().compute()
            print(cover)


if __name__ == "__main__":
    main()
