"""Cleans the tiles of a survey, each by itself."""

import time

import dask
from dask.distributed import Client, wait


@dask.delayed
def load(tile: int) -> list[int]:
    return list(range(tile, tile + 10))


@dask.delayed
def clean(values: list[int]) -> int:
    time.sleep(0.1)
    return sum(values)


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2) as client:
        tiles = [clean(load(tile)) for tile in range(8)]
        cleaned = client.compute(*tiles)
        wait(cleaned)
        print(cleaned)
