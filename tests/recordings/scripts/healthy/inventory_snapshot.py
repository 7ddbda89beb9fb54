"""Compare two large inventory snapshots that do not fit the workers' memory at once."""

import logging
import tempfile

import dask
import dask.array as da
from dask.distributed import Client, LocalCluster, wait


def snapshot(seed):
    rng = da.random.default_rng(seed)
    return rng.random((12_000, 4_000), chunks=(1_000, 4_000))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="600MB",
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster),
        ):
            monday, friday = dask.persist(snapshot(1), snapshot(2))
            wait([monday, friday])
            moved = da.fabs(friday - monday)
            print(
                "mean move",
                round(float(moved.mean().compute()), 4),
                "peak",
                round(float(moved.max().compute()), 3),
            )
            del monday, friday


if __name__ == "__main__":
    main()
