import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

MONTHS = [f"2026-{m:02d}" for m in range(1, 9)]
META = pd.DataFrame(
    {
        "hub": pd.Series(dtype="int64"),
        "parcel": pd.Series(dtype="int64"),
        "fee": pd.Series(dtype="float64"),
    }
)


def fees(month):
    n = 2000
    rng = np.random.default_rng(int(month[-2:]))
    frame = pd.DataFrame(
        {
            "hub": rng.integers(1, 60, n),
            "parcel": rng.integers(1, 10**9, n),
            "fee": rng.random(n) * 30,
        }
    )
    if month == "2026-06":
        frame["fee"] = frame["fee"].round(2).astype(object)
        frame.loc[1200, "fee"] = "waived"
    return frame


def rank(frame):
    return frame.sort_values("fee", ascending=False).groupby("hub").head(3)


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        table = dd.from_map(fees, MONTHS, meta=META, enforce_metadata=False)
        print("parcels", len(table))
        by_hub = table.shuffle("hub", npartitions=6, shuffle_method="p2p")
        top = by_hub.map_partitions(rank, meta=META)
        print(top.compute().sort_values(["hub", "fee"]).head(12))


if __name__ == "__main__":
    main()
