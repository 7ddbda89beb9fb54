"""Sums the loads of a quarry's shift, on the port that the firewall lets through."""

import socket

from dask.distributed import Client, LocalCluster


def load(lorry):
    return lorry * 7


if __name__ == "__main__":
    # Somebody else's job is on this node as well.
    other = socket.socket()
    other.bind(("127.0.0.1", 18901))
    other.listen()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            scheduler_port=18901,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(load, range(9)))))
