import os
import tempfile

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client

REGIONS = ["north", "south", "east", "west", "coast"]


def export_region(folder, region, seed):
    rng = np.random.default_rng(seed)
    path = os.path.join(folder, f"claims_{region}.parquet")
    pd.DataFrame(
        {"claim_id": np.arange(5000), "paid": rng.gamma(2, 300, 5000), "region": region}
    ).to_parquet(path)
    return path


@dask.delayed
def load(path):
    return pd.read_parquet(path)


@dask.delayed
def summarise(frame):
    return frame.region.iloc[0], float(frame.paid.sum()), len(frame)


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = [export_region(folder, r, i) for i, r in enumerate(REGIONS)]
        size = os.path.getsize(paths[2])
        with open(paths[2], "r+b") as fh:
            fh.truncate(size // 2)
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            rows = dask.compute(*[summarise(load(p)) for p in paths])
        report = pd.DataFrame(rows, columns=["region", "paid", "claims"])
        print(report.to_string(index=False))


if __name__ == "__main__":
    main()
