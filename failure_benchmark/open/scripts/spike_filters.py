"""Filters recordings of spikes on as many workers as there are channels."""

from dask.distributed import Client, LocalCluster

CHANNELS = 6


def filtered(channel):
    return channel**2


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(CHANNELS)
        print(sum(client.gather(client.map(filtered, range(CHANNELS)))))
