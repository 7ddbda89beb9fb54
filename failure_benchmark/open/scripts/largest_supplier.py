"""Finds the suppliers that got all of their revenue from one town."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    suppliers = pd.DataFrame({"supplier": range(40), "town": range(40)})
    orders = pd.DataFrame(
        {"supplier": [k % 40 for k in range(800)], "price": range(800)}
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        left = dd.from_pandas(suppliers, npartitions=2)
        right = dd.from_pandas(orders, npartitions=4)
        merged = left.merge(right, on="supplier")
        revenue = merged.groupby("supplier").price.sum(split_out=2)
        largest = right.groupby("supplier").price.sum(split_out=3)
        print(revenue[revenue == largest].compute())
