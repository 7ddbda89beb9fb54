"""Measures reefs in a container whose working directory is read-only."""

from dask.distributed import Client, LocalCluster


def measure(reef):
    return reef * 3


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory="/sys/dask-scratch",
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(measure, range(8)))))
