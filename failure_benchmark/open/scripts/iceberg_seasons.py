"""Follows icebergs season by season on a cluster that grows and shrinks."""

import time

from dask.distributed import Client, LocalCluster


def drift(iceberg):
    time.sleep(0.3)
    return iceberg % 5


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="200ms", wait_count=1)
        for season in range(4):
            drifts = client.map(drift, range(season * 10, season * 10 + 10))
            print(season, sum(client.gather(drifts)))
            del drifts
            # Write the chart of the season.
            time.sleep(4)
