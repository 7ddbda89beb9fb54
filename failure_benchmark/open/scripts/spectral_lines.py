"""Marks the lines of the sky in an empty mask of spectra."""

import dask.array as da
from dask.distributed import Client, LocalCluster

LINES = [557, 630, 636]


def with_lines(mask):
    mask[:, LINES] = True
    return mask


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        empty = da.full((400, 700), False, chunks=(100, 700))
        print(int(empty.map_blocks(with_lines, dtype=bool).sum().compute()))
