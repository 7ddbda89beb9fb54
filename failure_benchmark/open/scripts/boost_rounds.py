"""Trains a model on two workers, which exchange gradients over a socket."""

import ctypes
import socket
import time

from dask.distributed import Client, LocalCluster, get_worker

PEERS = 2


def gradients(rank):
    if rank == 1 and time.time() > 0:
        # The library reads past the end of a matrix with missing labels.
        ctypes.CDLL(None).abort()
    return b"g" * 64


def train(rank, port):
    if rank == 0:
        with socket.create_server(("127.0.0.1", port), reuse_port=True) as server:
            peers = [server.accept()[0] for _ in range(PEERS - 1)]
            total = sum(len(peer.recv(64)) for peer in peers)
        return get_worker().address, total
    own = gradients(rank)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        peer.sendall(own)
    return get_worker().address, len(own)


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=PEERS, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        addresses = sorted(client.scheduler_info()["workers"])
        parts = [
            client.submit(train, rank, port, workers=[address], pure=False)
            for rank, address in enumerate(addresses)
        ]
        print(client.gather(parts))
