"""Sorting plan of the parcel hub: derive the chute of each parcel."""

import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

CHUTES = {"letter": 1, "small": 4, "bulky": 9}


def parcels():
    kinds = ["letter", "small", "bulky"]
    return pd.DataFrame(
        {
            "parcel": range(3000),
            "kind": [kinds[i % 3] for i in range(3000)],
            "grams": [(i * 37) % 9000 + 20 for i in range(3000)],
        }
    )


def chute(row):
    base = CHUTES[row["kind"]]
    return base + (1 if row["grams"] > 5000 else 0)


def main():
    frame = dd.from_pandas(parcels(), npartitions=6)
    warm_up = frame.groupby("kind").grams.mean().compute()
    print(warm_up.to_dict())
    plan = frame.assign(chute=frame.apply(chute, axis=1))
    print(plan.groupby("chute").parcel.count().compute())


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0")
    client = Client(cluster)
    try:
        main()
    finally:
        client.close()
        cluster.close()
