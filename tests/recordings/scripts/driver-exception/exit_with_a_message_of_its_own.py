"""Count yesterday's orders; none is no success."""

import sys

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


def main():
    orders = pd.DataFrame({"day": ["2026-11-20"] * 50, "total": range(50)})
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        frame = dd.from_pandas(orders, npartitions=5)
        found = len(frame[frame.day == "2026-11-21"])
    if not found:
        sys.exit("no orders for 2026-11-21: is the export late?")


if __name__ == "__main__":
    main()
