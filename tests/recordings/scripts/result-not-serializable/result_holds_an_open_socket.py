"""Tasks return sessions with an open socket; the driver reads them as they finish."""

import socket

from dask.distributed import Client, as_completed


class Session:
    def __init__(self, n):
        self.n = n
        self.socket = socket.socket()


def open_session(n):
    return Session(n)


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        for future in as_completed(client.map(open_session, range(4))):
            print(future.result().n)
