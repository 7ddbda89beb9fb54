"""Insurance claims intake: read the day's CSV drop and total the payouts."""

import os
import tempfile

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster


def write_drop(root):
    rng = np.random.default_rng(11)
    for hour in range(6):
        n = 4000
        frame = pd.DataFrame(
            {
                "claim_id": np.arange(hour * n, (hour + 1) * n),
                "branch": rng.choice(["ulm", "jena", "kiel"], n),
                "deductible": rng.integers(100, 900, n),
                "payout": rng.uniform(50, 9000, n).round(2),
            }
        )
        if hour == 4:
            frame["deductible"] = frame["deductible"].astype(object)
            frame.loc[1777, "deductible"] = "waived"
        frame.to_csv(os.path.join(root, f"claims_{hour:02d}.csv"), index=False)


def totals(root):
    claims = dd.read_csv(os.path.join(root, "claims_*.csv"))
    claims["net"] = claims["payout"] - claims["deductible"]
    return claims.groupby("branch")["net"].sum()


def main():
    with tempfile.TemporaryDirectory() as root:
        write_drop(root)
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster):
                result = totals(root)
                try:
                    frame = result.compute()
                except Exception:
                    raise SystemExit(
                        "claims intake: totals could not be built, see worker logs"
                    )
                print(frame.to_string())
                frame.to_csv("claims_totals.csv")


if __name__ == "__main__":
    main()
