import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client


def make_baskets(n=20000):
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "shop": rng.choice(["A12", "B07", "C33"], n),
            "items": rng.integers(1, 30, n),
            "total": rng.gamma(3, 12, n),
        }
    )


def add_features(part):
    part = part.assign(per_item=part.total / part["items"])
    if part.total.max() > 170:
        part = part.assign(outlier=part.total > 150)
    return part


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    baskets = dd.from_pandas(make_baskets(), npartitions=8)
    meta = baskets._meta.assign(per_item=0.0)
    featured = baskets.map_partitions(add_features, meta=meta)
    try:
        stats = featured[featured["items"] > 1]
        print(stats.groupby("shop").per_item.mean().compute())
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
