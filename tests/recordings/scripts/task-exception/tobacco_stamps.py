"""Monthly book of tobacco tax stamps: reads the rolls of the printing office and writes a partitioned data set."""

import argparse
import datetime as dt
import os

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

META = pd.DataFrame(
    {
        "roll": pd.Series(dtype="int64"),
        "series": pd.Series(dtype="object"),
        "printed": pd.Series(dtype="datetime64[ns]"),
        "spoiled": pd.Series(dtype="int64"),
        "month": pd.Series(dtype="object"),
    }
)


def read_roll_book(book):
    """One book of the printing office; spoiled stamps are counted by hand."""
    rng = np.random.default_rng(book)
    n = 250
    spoiled = [int(v) for v in rng.poisson(2, n)]
    if book == 5:
        # the clerk of book 5 wrote a remark instead of a number
        spoiled[int(np.argmax(spoiled))] = "abt. 12"
    start = dt.datetime(2026, 1 + book % 3, 1)
    frame = pd.DataFrame(
        {
            "roll": book * 1000 + np.arange(n),
            "series": rng.choice(["AA", "AB", "ZX"], n).astype(object),
            "printed": pd.to_datetime(
                [start + dt.timedelta(days=int(d)) for d in rng.integers(0, 28, n)]
            ).astype("datetime64[ns]"),
        }
    )
    frame["spoiled"] = spoiled
    frame["month"] = pd.Series(frame["printed"].dt.strftime("%Y-%m"), dtype="object")
    return frame


def save(frame, path):
    frame.to_parquet(
        path,
        engine="pyarrow",
        write_index=False,
        partition_on=["month"],
        compression="snappy",
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--books", type=int, default=9)
    parser.add_argument("--out", default="stamps")
    args = parser.parse_args()
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        memory_limit="1GB",
        processes=True,
        dashboard_address=":0",
    ) as cluster:
        with Client(cluster):
            books = dd.from_map(read_roll_book, range(args.books), meta=META)
            books = books[~books["series"].isin(["void"])]
            print("books:", books.npartitions)
            save(books, os.path.abspath(args.out))
            print("written:", sum(len(files) for _, _, files in os.walk(args.out)))


if __name__ == "__main__":
    main()
