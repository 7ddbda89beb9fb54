"""Looks up prices in a table that every worker has."""

import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def price(order, table):
    time.sleep(0.05)
    return float(table.iloc[order * 7 % len(table)])


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        table = client.scatter(pd.Series(np.arange(2_000_000) / 7), broadcast=True)
        prices = client.map(price, range(300), table=table)
        print(sum(client.gather(prices)))
