"""A nightly job as a team would write it, with its own cluster: sales by customer."""

# mypy: ignore-errors
# (Code as a team has it, with modules in a folder of its own.)

from __future__ import annotations

import os
import sys

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask_blackbox import recording
from distributed import Client, LocalCluster

NAMES = ["customer", "price", "name"]


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the names that we know."""
    frame = frame.copy()
    frame.columns = pd.Index(NAMES)
    return frame


def priced(frame: pd.DataFrame, least: float) -> pd.DataFrame:
    """Return what is worth a look."""
    distances = np.ones(30_000_000)  # 240 MB, for a moment
    assert distances.size > len(frame)
    return frame[frame.price > least]


def main(day: str, least: float) -> None:
    """Do the night's work."""
    meta = {"customer": "i8", "price": "f8", "name": "object"}
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=os.environ.get("JOB_MEMORY", "700MiB"),
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
        recording(
            client,
            store=os.environ["JOB_STORE"],
            job="frames",
            run_id=os.environ["JOB_RUN"],
            parameters={"day": day, "least": least},
        ),
    ):
        sales = dd.read_parquet(f"input/{day}")
        sales = sales.map_partitions(named, meta=meta)
        worth = sales.map_partitions(priced, least, meta=meta)
        by_customer = worth.groupby("customer").price.sum().compute()
        assert by_customer.sum() > 0, "no sales"


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
