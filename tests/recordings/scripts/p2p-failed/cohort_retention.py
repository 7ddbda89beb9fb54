"""Retention per signup cohort; events are shuffled by user."""

import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def month_events(month):
    rng = np.random.default_rng(month)
    n = 3000
    frame = pd.DataFrame(
        {
            "user": rng.integers(0, 2500, n),
            "month": month,
            "spend": rng.gamma(1.4, 9, n),
        }
    )
    if month == 7:
        frame["spend"] = frame["spend"].map(lambda v: "refund" if v < 0.5 else v)
    return frame


def main():
    layout = pd.DataFrame(
        {
            "user": pd.Series(dtype="int64"),
            "month": pd.Series(dtype="int64"),
            "spend": pd.Series(dtype="float64"),
        }
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        events = dd.from_map(
            month_events, range(1, 11), meta=layout, enforce_metadata=False
        )
        by_user = events.shuffle("user", npartitions=5, shuffle_method="p2p")
        span = by_user.map_partitions(
            lambda p: p.groupby("user").month.agg(["min", "nunique"]),
            meta={"min": "int64", "nunique": "int64"},
        )
        print(span.groupby("min")["nunique"].mean().compute())


if __name__ == "__main__":
    main()
