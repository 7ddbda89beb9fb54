"""Eleven tasks and good-bye."""

from dask.distributed import Client

if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(sum, client.map(abs, range(-5, 5))).result())
