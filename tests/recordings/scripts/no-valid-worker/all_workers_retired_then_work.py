"""Free the workers between two stages, and forget to ask for new ones."""

from dask.distributed import Client, LocalCluster


def stage_one(n):
    return n + 1


def stage_two(n):
    return n * 2


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            values = client.gather(client.map(stage_one, range(10)))
            cluster.scale(0)
            futures = client.map(stage_two, values)
            print([each.result(timeout=18) for each in futures])
