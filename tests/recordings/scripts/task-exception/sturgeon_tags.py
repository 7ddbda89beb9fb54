"""Nightly growth table of the tagged sturgeons, one file per hatchery."""

import os
import tempfile
import time

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

HATCHERIES = [
    "alma",
    "borodin",
    "chernyi",
    "dolgoe",
    "elets",
    "foros",
    "gluboki",
    "hvalynsk",
]


def write_inbox(folder):
    rng = np.random.default_rng(41)
    for number, hatchery in enumerate(HATCHERIES):
        rows = 4000
        mass = [f"{value:.2f}" for value in rng.gamma(4.0, 3.0, rows)]
        if hatchery == "foros":
            mass[2711] = "12,4"
        pd.DataFrame(
            {
                "tag": np.arange(rows) + number * 100_000,
                "hatchery": hatchery,
                "mass": mass,
                "length_cm": rng.normal(90, 12, rows).round(1),
            }
        ).to_csv(os.path.join(folder, f"tags_{hatchery}.csv"), index=False)


def to_kilograms(part):
    time.sleep(0.25)
    part = part.copy()
    part["kg"] = part["mass"].astype(float)
    return part.drop(columns="mass")


def condition_factor(part):
    part = part.copy()
    part["fulton"] = 100_000 * part["kg"] / part["length_cm"] ** 3
    return part


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_inbox(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="600MB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster),
        ):
            tags = dd.read_csv(
                os.path.join(folder, "tags_*.csv"),
                dtype={"mass": "object"},
                include_path_column="source",
            )
            print("files:", tags.npartitions)
            counts = tags.groupby("hatchery").tag.count().compute()
            print(counts.to_string())
            meta = {
                "tag": "i8",
                "hatchery": "object",
                "length_cm": "f8",
                "source": "object",
                "kg": "f8",
            }
            grown = tags.map_partitions(to_kilograms, meta=meta)
            grown = grown.map_partitions(
                condition_factor, meta={**meta, "fulton": "f8"}
            )
            table = (
                grown.groupby("hatchery").fulton.agg(["mean", "std", "count"]).compute()
            )
            print(table.round(3).to_string())


if __name__ == "__main__":
    main()
