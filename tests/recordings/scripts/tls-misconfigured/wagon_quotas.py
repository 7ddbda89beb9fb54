"""Quota of empty wagons per yard, as the cron host of the freight team runs it."""

import os

# /etc/profile.d/dask.sh of the new hosts
os.environ.setdefault("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "True")
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "10s")

import sys
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

YARDS = ["Zwolle", "Hamm", "Gremberg", "Muizen", "Kijfhoek"]


def wagons(seed=5, n=30_000):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "yard": rng.choice(YARDS, n),
            "kind": rng.choice(["Eanos", "Habbins", "Sgns"], n, p=[0.5, 0.2, 0.3]),
            "empty": rng.random(n) < 0.37,
            "axles": rng.choice([4, 6], n),
        }
    )


def quotas(frame, share):
    table = dd.from_pandas(frame, npartitions=6)
    empty = table[table["empty"]].groupby(["yard", "kind"]).axles.sum().compute()
    return (empty * share).astype("int64")


def start_cluster():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    )
    return cluster, Client(cluster, timeout=15)


def main():
    began = time.time()
    print("wagon quotas on", len(YARDS), "yards", flush=True)
    cluster, client = start_cluster()
    try:
        print(quotas(wagons(), share=0.8).to_string())
    finally:
        client.close()
        cluster.close()
    print(f"done after {time.time() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
