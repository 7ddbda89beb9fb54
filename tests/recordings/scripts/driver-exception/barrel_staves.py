"""Weekly stave usage of the cooperage, from parquet exported by the shop-floor system."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

FORESTS = ["troncais", "limousin", "vosges", "slavonia"]


def export(folder):
    rng = np.random.default_rng(5)
    for week in range(6):
        rows = 20_000
        pd.DataFrame(
            {
                "barrel": rng.integers(1, 5000, rows),
                "forest": rng.choice(FORESTS, rows),
                "stave_len_mm": rng.normal(950, 8, rows),
                "toast": rng.choice(["light", "medium", "heavy"], rows),
                "week": week,
            }
        ).to_parquet(folder / f"week_{week:02d}.parquet")


def clean(part):
    time.sleep(0.3)
    return part[part["stave_len_mm"].between(900, 1000)]


def usage_by_toast(staves):
    counted = staves.groupby(["forest", "toast"]).barrel.count().compute()
    return counted.unstack("toast")


def usage_by_length(staves):
    long_enough = staves[staves["stave_length_mm"] > 945]
    return long_enough.groupby("forest").barrel.nunique().compute()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="700MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                client.wait_for_workers(2)
                staves = dd.read_parquet(str(folder / "week_*.parquet"))
                staves = staves.map_partitions(clean)
                print("rows:", len(staves))
                print(usage_by_toast(staves).to_string())
                report = usage_by_length(staves)
                report.to_frame("barrels").to_csv(folder / "report.csv")
                print(report.to_string())


if __name__ == "__main__":
    main()
