"""Mean amounts, with a typo."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    frame = pd.DataFrame({"day": range(1000), "amount": [2.5] * 1000})
    payments = dd.from_pandas(frame, npartitions=5)
    print("days", payments["day"].max().compute())
    print("mean", payments["amuont"].mean().compute())
