"""Weekly roll-up of till receipts per store."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def write_receipts(root):
    rng = np.random.default_rng(4)
    for week in range(1, 7):
        n = 4000
        frame = pd.DataFrame(
            {
                "store": rng.integers(100, 180, n).astype(str),
                "till": rng.integers(1, 9, n),
                "amount": rng.gamma(2.0, 14.0, n).round(2),
            }
        )
        if week == 5:
            frame.loc[2900:2910, "store"] = "OUTLET-7"
        frame.to_csv(root / f"receipts_w{week:02d}.csv", index=False)


def weekly_totals(root):
    receipts = dd.read_csv(str(root / "receipts_w*.csv"))
    receipts = receipts[receipts["amount"] > 0]
    return receipts.groupby("store")["amount"].sum()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        write_receipts(root)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster),
        ):
            totals = weekly_totals(root).compute()
            print(totals.sort_values(ascending=False).head(10))


if __name__ == "__main__":
    main()
