"""Sums the feedback of climate models on a cluster that grows and shrinks."""

import time

from dask.distributed import Client, LocalCluster


def feedback(model):
    time.sleep(0.4)
    return model % 7


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=3, interval="500ms", wait_count=2)
        for season in range(2):
            models = client.map(feedback, range(season * 60, season * 60 + 60))
            print(season, sum(client.gather(models)))
            del models
            # Write the report of the season; the cluster shrinks meanwhile.
            time.sleep(5)
