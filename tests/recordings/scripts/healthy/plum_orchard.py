"""Downloads leaf samples from a picky meter: the first calls of a sample often fail, retries are set."""

import os
import tempfile
import time

import dask
from dask import delayed
from dask.distributed import Client, LocalCluster


@delayed
def leaf_sample(tree, folder):
    count = os.path.join(folder, f"{tree}.n")
    with open(count, "a") as f:
        f.write("x")
    time.sleep(0.2)
    if os.path.getsize(count) <= tree % 3:
        raise ConnectionResetError(f"meter hung up on tree {tree}")
    return tree * 0.7


def main():
    with tempfile.TemporaryDirectory() as folder:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster):
                values = dask.compute(
                    *[leaf_sample(t, folder) for t in range(12)], retries=3
                )
                print("mean chlorophyll", round(sum(values) / len(values), 2))


if __name__ == "__main__":
    main()
