"""Nightly: CSV in, Parquet out."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client

FOLDER = Path(tempfile.mkdtemp())


def main():
    rng = np.random.default_rng(1)
    for day in range(8):
        frame = pd.DataFrame(
            {"shop": rng.integers(0, 9, 20_000), "sum": rng.random(20_000)}
        )
        frame.to_csv(FOLDER / f"day-{day}.csv", index=False)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        sales = dd.read_csv(FOLDER / "day-*.csv")
        sales["net"] = sales["sum"] / 1.19
        sales.to_parquet(FOLDER / "sales")
        back = dd.read_parquet(FOLDER / "sales")
        print(back.groupby("shop")["net"].sum().compute())


if __name__ == "__main__":
    main()
