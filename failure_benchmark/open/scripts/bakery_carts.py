"""Sums the orders of bakeries on a cluster whose connections are encrypted."""

from dask.distributed import Client, LocalCluster


def order(bakery):
    return bakery * 9 % 40


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", security=True
        ) as cluster,
        Client(cluster.scheduler_address) as client,
    ):
        print(sum(client.gather(client.map(order, range(60)))))
