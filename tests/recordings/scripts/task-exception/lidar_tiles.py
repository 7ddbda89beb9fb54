import gzip
import os
import tempfile

import dask.dataframe as dd
from dask.distributed import Client, LocalCluster


def write_tile(folder, row, col):
    path = os.path.join(folder, f"tile_{row}_{col}.csv.gz")
    with gzip.open(path, "wt") as fh:
        fh.write("x,y,z,intensity\n")
        for k in range(2500):
            fh.write(
                f"{row * 100 + k % 50},{col * 100 + k // 50},{(k * 7919) % 997 / 10},{(k * 104729) % 256}\n"
            )
    return path


def transfer(path, limit):
    data = open(path, "rb").read()
    with open(path, "wb") as fh:
        fh.write(data[:limit])


def main():
    with tempfile.TemporaryDirectory(prefix="lidar-") as folder:
        for row in range(3):
            for col in range(3):
                path = write_tile(folder, row, col)
                transfer(path, 9_000 if (row, col) == (2, 1) else 10_000_000)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            points = dd.read_csv(
                os.path.join(folder, "tile_*.csv.gz"),
                compression="gzip",
                blocksize=None,
            )
            print("tiles", points.npartitions)
            ground = points[points.z < 20]
            print("mean intensity", ground.intensity.mean().compute())
            print("highest", points.z.max().compute())


if __name__ == "__main__":
    main()
