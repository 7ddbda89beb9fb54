"""Filter a table until most partitions are empty."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        frame = dd.from_pandas(pd.DataFrame({"n": range(1000)}), npartitions=20)
        print(len(frame[frame.n > 990].compute()))
