"""Snow depth on an adaptive cluster: shuffle the readings by station, twice."""

import time

import dask
import numpy as np
import pandas as pd
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def readings(rows=40_000):
    rng = np.random.default_rng(42)
    return pd.DataFrame(
        {"station": rng.integers(0, 90, rows), "depth": rng.gamma(2, 30, rows)}
    )


def deepest(part):
    return part.groupby("station").depth.max().to_frame()


def main():
    dask.config.set({"dataframe.shuffle.method": "p2p"})
    with LocalCluster(
        n_workers=0, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="300ms", wait_count=6)
        with Client(cluster) as client:
            table = dd.from_pandas(readings(), npartitions=5)
            by_station = table.shuffle("station", npartitions=4)
            first = by_station.map_partitions(deepest, meta={"depth": "f8"}).compute()
            deadline = time.time() + 10
            while client.scheduler_info()["workers"] and time.time() < deadline:
                time.sleep(0.3)
            print("workers in the pause:", len(client.scheduler_info()["workers"]))
            second = client.submit(lambda n: n * 2, len(first)).result()
            print(len(first), second, round(float(first.depth.max()), 1))


if __name__ == "__main__":
    main()
