"""Computes the heights of waves on the fast network of the machines."""

from dask.distributed import Client, LocalCluster


def height(buoy):
    return buoy * 0.3


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, interface="ib0", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(height, range(60)))))
