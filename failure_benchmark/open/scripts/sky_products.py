"""Writes the products of sky fields; each field starts the tasks of its channels."""

from dask.distributed import Client, LocalCluster, as_completed, get_client


def channel(field, number):
    return field * 100 + number


def products(field):
    client = get_client()
    channels = [client.submit(channel, field, number) for number in range(4)]
    return sum(future.result() for future in as_completed(channels))


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(products, range(4)))))
