"""Computes the index of rents of two years, from tables that are kept in memory."""

import time

import dask
from dask.distributed import Client, LocalCluster, wait


@dask.delayed
def rents(year):
    time.sleep(0.3)
    return {"year": year, "rents": [year % 7 + flat for flat in range(50)]}


@dask.delayed
def index(table):
    return table["year"], sum(table["rents"]) / len(table["rents"])


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        before = rents(2025, dask_key_name="rents").persist()
        wait(before)
        print(index(before).compute())
        now = rents(2026, dask_key_name="rents")
        year, value = index(now).compute()
        if year != 2026:
            raise ValueError(f"the index of 2026 was made of the rents of {year}")
        print(value)
