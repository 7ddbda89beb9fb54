"""Keeps the tickets of ferries, and adds those of the next month to them."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client

TICKETS = Path(tempfile.gettempdir()) / "tickets"


def month(number: int) -> dd.DataFrame:
    sold = pd.DataFrame({"month": number, "sold": range(600), "route": "north"})
    return dd.from_pandas(sold, npartitions=3)


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        month(3).to_parquet(TICKETS)
        month(4).to_parquet(TICKETS, append=True)
        print(len(dd.read_parquet(TICKETS)))
