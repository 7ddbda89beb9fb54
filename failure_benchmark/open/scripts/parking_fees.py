"""Sums parking fees on a cluster whose connections are encrypted."""

from dask.distributed import Client, LocalCluster
from distributed.security import Security


def fee(place):
    return place % 4 * 150


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            security=Security.temporary(),
        ) as cluster,
        Client(cluster.scheduler_address, security=Security.temporary()) as client,
    ):
        print(sum(client.gather(client.map(fee, range(60)))))
