import dask
import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

N = 50_000


def tills(n=N):
    rng = np.random.default_rng(3)
    card = rng.integers(100_000, 900_000, n)
    card[rng.random(n) < 0.12] = 0
    return pd.DataFrame(
        {
            "card": card,
            "basket": rng.random(n) * 80,
            "items": rng.integers(1, 30, n),
            "till": rng.integers(1, 40, n),
        }
    )


def coupons(n=N):
    rng = np.random.default_rng(4)
    card = rng.integers(100_000, 900_000, n)
    card[rng.random(n) < 0.12] = 0
    return pd.DataFrame(
        {
            "card": card,
            "coupon": rng.integers(1, 500, n),
            "rebate": rng.random(n) * 5,
            "shop": rng.integers(1, 300, n),
        }
    )


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="440 MiB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster):
            left = dd.from_pandas(tills(), npartitions=3)
            right = dd.from_pandas(coupons(), npartitions=3)
            print("baskets", len(left), "coupons", len(right))
            joined = left.merge(right, on="card", how="inner", shuffle_method="p2p")
            joined["net"] = joined.basket - joined.rebate
            print(joined.groupby("shop").net.mean().compute().describe())


if __name__ == "__main__":
    main()
