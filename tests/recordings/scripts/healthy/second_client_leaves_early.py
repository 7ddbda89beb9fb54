"""Two clients of one cluster; the second publishes a data set and leaves."""

from dask.distributed import Client, LocalCluster


def block(n):
    return list(range(n))


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            with Client(cluster, set_as_default=False) as other:
                other.publish_dataset(lists=other.map(block, range(10)))
            print(sum(map(len, client.gather(client.get_dataset("lists")))))
            client.unpublish_dataset("lists")
