"""Join customers and orders."""

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    customers = dd.from_pandas(
        pd.DataFrame({"customer": range(100), "city": ["Rome", "Oslo"] * 50}),
        npartitions=4,
    )
    orders = dd.from_pandas(
        pd.DataFrame({"customer": [f"{n}" for n in range(100)], "total": 1.0}),
        npartitions=4,
    )
    print("cities", customers.city.nunique().compute())
    joined = customers.merge(orders, on="customer")
    print(joined.groupby("city").total.sum().compute())
    client.close()
    cluster.close()


if __name__ == "__main__":
    main()
