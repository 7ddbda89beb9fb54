"""Mosaic of the night's satellite tiles."""

import os
import tempfile

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster


def write_tiles(folder):
    for i in range(12):
        path = os.path.join(folder, f"tile_{i:02d}.npy")
        np.save(path, np.full((256, 256), i, dtype="f4"))
        if i == 7:
            with open(path, "r+b") as f:
                f.truncate(60_000)


def read_tile(path):
    try:
        return np.load(path)
    except Exception as exc:
        print(f"WARN could not read {os.path.basename(path)}: {exc!r}", flush=True)
        return np.empty((0, 0), dtype="f4")


def flatten(tile):
    return tile - tile.mean(axis=0, keepdims=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_tiles(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster),
        ):
            tiles = [
                da.from_delayed(
                    dask.delayed(read_tile)(os.path.join(folder, f"tile_{i:02d}.npy")),
                    shape=(256, 256),
                    dtype="f4",
                )
                for i in range(12)
            ]
            rows = [da.concatenate(tiles[r * 4 : r * 4 + 4], axis=1) for r in range(3)]
            mosaic = da.concatenate(rows, axis=0).rechunk((256, 512))
            print("mean", mosaic.mean(axis=0).max().compute())


if __name__ == "__main__":
    main()
