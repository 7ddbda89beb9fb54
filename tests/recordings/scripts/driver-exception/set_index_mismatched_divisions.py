"""Set an index with divisions of the wrong order."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        frame = dd.from_pandas(pd.DataFrame({"k": range(20), "v": 1}), npartitions=2)
        print(frame.repartition(divisions=[0, 50, 10]).v.sum().compute())
