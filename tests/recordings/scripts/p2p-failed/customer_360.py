import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster


def visits(part):
    rng = np.random.default_rng(part)
    cust = rng.integers(0, 500, 300)
    if part == 4:
        cust = [f"C-{c:05d}" for c in cust]
    return pd.DataFrame({"customer": cust, "minutes": rng.integers(1, 90, 300)})


def orders(part):
    rng = np.random.default_rng(100 + part)
    return pd.DataFrame(
        {"customer": rng.integers(0, 500, 200), "total": rng.random(200) * 80}
    )


def segment(df):
    return df.assign(value=df["total"] / df["minutes"])


def main():
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    cluster = SubprocessCluster(
        n_workers=2,
        worker_kwargs={"nthreads": 1, "memory_limit": "500MB"},
        scheduler_kwargs={"dashboard": False},
    )
    client = Client(cluster)
    try:
        v = dd.from_map(
            visits, range(6), meta=pd.DataFrame({"customer": [1], "minutes": [1]})[:0]
        )
        o = dd.from_map(
            orders, range(6), meta=pd.DataFrame({"customer": [1], "total": [1.0]})[:0]
        )
        both = o.merge(v, on="customer", how="inner", shuffle_method="p2p")
        print(segment(both)["value"].mean().compute())
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
