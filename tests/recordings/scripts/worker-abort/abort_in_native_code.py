"""Render pages with a library that aborts."""

import os

from dask.distributed import Client


def render(page):
    if page == 6:
        os.abort()
    return page


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.gather(client.map(render, range(10))))
