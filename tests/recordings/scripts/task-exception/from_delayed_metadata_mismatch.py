"""Read ledgers with our own reader and hand them to dask.dataframe."""

import dask.dataframe as dd
import pandas as pd
from dask import delayed
from dask.distributed import Client


@delayed
def read_ledger(year):
    frame = pd.DataFrame(
        {"account": ["a", "b", "c"], "balance": [1.0, 2.0, 3.0], "year": year}
    )
    if year >= 2024:
        frame = frame.rename(columns={"balance": "closing_balance"})
    return frame


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    meta = pd.DataFrame({"account": ["a"], "balance": [1.0], "year": [2020]})
    ledgers = dd.from_delayed(
        [read_ledger(year) for year in range(2018, 2026)], meta=meta
    )
    print(ledgers.balance.sum().compute())
