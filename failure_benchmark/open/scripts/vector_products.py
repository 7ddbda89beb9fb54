"""Multiplies matrices in threads, each of which starts the threads of a library."""

import dask
import numpy as np
from dask.distributed import Client, LocalCluster


def product(seed):
    matrix = np.random.default_rng(seed).random((900, 900))
    for _ in range(6):
        matrix = matrix @ matrix
        matrix /= np.abs(matrix).max()
    return float(matrix.sum())


if __name__ == "__main__":
    # As with workers that no nanny starts: nothing limits the library's threads.
    nothing = {"OPENBLAS_NUM_THREADS": 16}
    dask.config.set({"distributed.nanny.pre-spawn-environ": nothing})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(product, range(60)))))
