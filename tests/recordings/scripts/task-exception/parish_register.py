"""Baptisms per decade from parish registers, plain dask.dataframe on threads, no cluster."""

import os
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd


def transcribe(folder):
    rng = np.random.default_rng(5)
    for i, parish in enumerate(["alsfeld", "grebenau", "lauterbach", "schlitz"]):
        n = 60_000
        frame = pd.DataFrame(
            {
                "parish": parish,
                "year": rng.integers(1650, 1850, n),
                "child": rng.integers(1, 12, n),
            }
        )
        frame = frame.astype({"year": "object"})
        if i == 2:
            frame.loc[n - 40, "year"] = "1732/33"
        frame.to_csv(os.path.join(folder, f"{i}_{parish}.csv"), index=False)


def main():
    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set(scheduler="threads", num_workers=2),
    ):
        transcribe(folder)
        books = dd.read_csv(
            os.path.join(folder, "*.csv"), blocksize="400KB", sample=20_000
        )
        books["decade"] = books["year"] // 10 * 10
        table = books.groupby(["parish", "decade"])["child"].count()
        print(table.compute().unstack(0).tail())


if __name__ == "__main__":
    main()
