"""Correlation blocks larger than memory: spilling to disk is expected."""

import numpy as np
from dask.distributed import Client, LocalCluster, wait


def block(i):
    return np.random.default_rng(i).random((1500, 1000))


def trace(a):
    return float(a[:1000, :1000].trace())


def main():
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="450MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        blocks = client.map(block, range(35))
        traces = []
        for start in range(0, 35, 7):
            traces += client.gather(client.map(trace, blocks[start : start + 7]))
        print("blocks", len(traces), "trace", round(sum(traces), 1))


if __name__ == "__main__":
    main()
