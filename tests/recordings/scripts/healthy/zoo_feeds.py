"""Feed consumption of a zoo: one small CSV file per enclosure and day.

Many enclosures are empty in winter, so that a good part of the files has a
header only, and the filter for the species in question empties others.
"""

import glob
import os
import shutil
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

ENCLOSURES = 15
DAYS = pd.date_range("2026-11-20", periods=4)
SPECIES = ["otter", "lynx", "crane", "tapir", "ibex"]
TYPES = {
    "enclosure": "int64",
    "species": "object",
    "feed": "object",
    "kg": "float64",
    "day": "object",
}


def deliver(folder):
    rng = np.random.default_rng(11)
    for enclosure in range(ENCLOSURES):
        for day in DAYS:
            size = 0 if enclosure % 3 == 2 else int(rng.integers(20, 60))
            frame = pd.DataFrame(
                {
                    "enclosure": np.full(size, enclosure),
                    "species": np.full(
                        size, SPECIES[enclosure % len(SPECIES)], dtype=object
                    ),
                    "feed": rng.choice(["hay", "fish", "meat", "pellets"], size).astype(
                        object
                    ),
                    "kg": rng.gamma(2, 1.5, size).round(2),
                    "day": [f"{day:%Y-%m-%d}"] * size,
                }
            )
            frame.to_csv(
                os.path.join(folder, f"{day:%m%d}_{enclosure:03d}.csv"), index=False
            )


def add_cost(frame, prices):
    return frame.assign(
        cost=(frame["kg"] * frame["feed"].map(prices).astype("float64")).round(2)
    )


def consumption(folder):
    feeds = dd.read_csv(os.path.join(folder, "*.csv"), blocksize=None, dtype=TYPES)
    prices = {"hay": 0.4, "fish": 3.2, "meat": 5.1, "pellets": 1.1}
    meta = feeds._meta.assign(cost=pd.Series(dtype="float64"))
    return feeds.map_partitions(add_cost, prices, meta=meta)


def main():
    folder = tempfile.mkdtemp(prefix="feeds-")
    try:
        deliver(folder)
        files = glob.glob(os.path.join(folder, "*.csv"))
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster):
                feeds = consumption(folder)
                swimmers = feeds[feeds["species"].isin(["otter", "crane"])]
                by_feed, kg, rows = dask.compute(
                    feeds.groupby(["species", "feed"])["cost"].sum(split_out=1),
                    swimmers["kg"].sum(),
                    swimmers.map_partitions(len),
                )
                swimmers.repartition(npartitions=2).to_parquet(
                    "swimmers", write_index=False
                )
        empty = int((np.asarray(rows) == 0).sum())
        print(
            f"{len(files)} files, {empty} without otters or cranes, {kg:.1f} kg for the rest"
        )
        print(by_feed.sort_index().to_string())
        assert kg > 0 and len(pd.read_parquet("swimmers")) == int(np.sum(rows))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
