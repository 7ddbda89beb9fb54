"""Compute loss ratio per line of business over the monthly claim extracts."""

import tempfile
import warnings
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

warnings.simplefilter("always")


def month_extract(root, month):
    rng = np.random.default_rng(month)
    n = 1500
    frame = pd.DataFrame(
        {
            "claim_id": np.arange(n) + month * 10000,
            "line": rng.choice(["motor", "home", "travel"], n),
            "paid": rng.gamma(1.5, 700, n),
            "premium": rng.gamma(2.5, 600, n),
        }
    )
    if month >= 9:
        frame = frame.rename(columns={"paid": "paid_gross"})
    frame.to_parquet(root / f"claims_2025{month:02d}.parquet", index=False)


def loss_ratio(root):
    claims = dd.read_parquet(str(root), columns=["line", "paid", "premium"])
    sums = claims.groupby("line")[["paid", "premium"]].sum()
    return sums.assign(ratio=sums.paid / sums.premium)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp) / "claims"
        root.mkdir()
        for month in range(1, 13):
            month_extract(root, month)
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        client = Client(cluster)
        try:
            print(loss_ratio(root).compute())
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
