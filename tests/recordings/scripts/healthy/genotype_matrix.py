import time

import numpy as np
from dask.distributed import Client, LocalCluster


def kinship(n):
    matrix = np.ones((n, n), dtype="f8")
    matrix += np.eye(n)
    time.sleep(1)
    return float(np.trace(matrix)) / n


def small(n):
    return float(np.ones(n).sum())


def main():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="1100MiB",
        dashboard_address=None,
    ) as cluster:
        with Client(cluster) as client:
            big = client.submit(kinship, 7600)
            minor = client.map(small, range(1000, 1020))
            print("kinship", big.result(), "minor", sum(client.gather(minor)))


if __name__ == "__main__":
    main()
