"""Makes features of orders: one column for each shop."""

import os
import tempfile

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def written():
    folder = tempfile.mkdtemp()
    for day in range(4):
        shops = ["oslo", "bergen", "tromso", "alta"][: day + 1]
        rows = {"shop": shops * 50, "items": list(range(len(shops) * 50))}
        pd.DataFrame(rows).to_csv(os.path.join(folder, f"{day}.csv"), index=False)
    return os.path.join(folder, "*.csv")


if __name__ == "__main__":
    files = written()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        orders = dd.read_csv(files)
        orders["shop"] = orders["shop"].astype("category")
        features = dd.get_dummies(orders, columns=["shop"])
        print(features.sum().compute())
