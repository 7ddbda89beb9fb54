"""Trains two models at the same time; the parts of a model exchange gradients."""

import socket

from dask.distributed import Client, LocalCluster

PARTS = 2


def train(model, part, port):
    if part == 0:
        with socket.create_server(("127.0.0.1", port)) as server:
            peers = [server.accept()[0] for _ in range(PARTS - 1)]
            return model, sum(len(peer.recv(64)) for peer in peers)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        peer.sendall(b"g" * 64)
    return model, 64


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    ports = {"spruce": free_port(), "birch": free_port()}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        trained = [
            client.submit(train, model, part, port, pure=False)
            for part in range(PARTS)
            for model, port in ports.items()
        ]
        print(client.gather(trained))
