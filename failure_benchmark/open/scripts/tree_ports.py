"""Trains a model whose parts listen at a port, one part for each worker."""

import socket
import time

from dask.distributed import Client, LocalCluster

FIRST_PORT = 12402


def train_part(part):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", FIRST_PORT))
        listener.listen()
        time.sleep(1)
    return part


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = list(client.scheduler_info()["workers"])
        parts = [
            client.submit(train_part, number, workers=[worker])
            for number, worker in enumerate(workers)
        ]
        print(sum(client.gather(parts)))
