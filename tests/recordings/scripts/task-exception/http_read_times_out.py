"""Ask a service that accepts and never answers."""

import socket

import requests
from dask.distributed import Client


def quote(url, isin):
    return requests.get(f"{url}/{isin}", timeout=3).json()


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            print(client.submit(quote, url, "DE0007164600").result())
