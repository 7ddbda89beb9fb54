"""Wait for the trigger of another system between two computations."""

import socket

from dask.distributed import Client, LocalCluster


def square(n):
    return n * n


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    print(sum(client.gather(client.map(square, range(100)))))
    with socket.create_server(("127.0.0.1", 0)) as server:
        print("waiting for the trigger at", server.getsockname(), flush=True)
        connection, _ = server.accept()
        connection.close()
    print(sum(client.gather(client.map(square, range(200)))))
