"""Scores the genes of cells against a matrix that each task is given."""

import numpy as np
from dask.distributed import Client, LocalCluster


def score(matrix, gene):
    return float(matrix[gene % 100].sum())


if __name__ == "__main__":
    matrix = np.random.default_rng(1).random((100, 40_000))  # 32 MB
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        scores = [client.submit(score, matrix, gene) for gene in range(60)]
        print(sum(client.gather(scores)))
