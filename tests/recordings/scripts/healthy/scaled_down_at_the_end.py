"""Scale up for the work, scale to nothing when it is done."""

from dask.distributed import Client, LocalCluster


def block(n):
    return sum(range(n * 1000))


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    cluster.scale(2)
    client.wait_for_workers(2)
    print(sum(client.gather(client.map(block, range(40)))))
    cluster.scale(0)
    client.close()
    cluster.close()
