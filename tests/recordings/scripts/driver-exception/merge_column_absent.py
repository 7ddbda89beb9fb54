"""Join two tables on a column that one lacks."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        left = dd.from_pandas(pd.DataFrame({"client_id": range(10)}), npartitions=2)
        right = dd.from_pandas(pd.DataFrame({"customer_id": range(10)}), npartitions=2)
        print(len(left.merge(right, on="client_id").compute()))
