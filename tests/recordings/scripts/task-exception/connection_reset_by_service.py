"""Fetch measurements from a socket service that drops some callers."""

import socket
import struct
import threading

import dask
from dask.distributed import Client


def serve(listener):
    served = 0
    while True:
        connection, _ = listener.accept()
        connection.recv(64)
        served += 1
        if served > 10:
            # closes with RST
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        else:
            connection.sendall(b"42")
        connection.close()


@dask.delayed
def measure(port, probe):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(f"probe {probe}\n".encode())
        return int(connection.recv(64))


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    port = listener.getsockname()[1]
    client = Client(n_workers=2, threads_per_worker=1)
    values = dask.compute(*[measure(port, probe) for probe in range(30)])
    print(sum(values))
