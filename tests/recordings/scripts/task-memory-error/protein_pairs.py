"""Pairwise distances of the new protein embeddings, per family."""

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

FAMILIES = {"kinase": 900, "gpcr": 1200, "globin": 300, "unassigned": 420_000}


@dask.delayed
def embeddings(family, n):
    return np.random.default_rng(len(family)).normal(size=(n, 8)).astype("f4")


@dask.delayed
def pairwise(family, x):
    sq = (x**2).sum(1)
    gram = np.empty((len(x), len(x)), dtype="f8")
    gram[:] = x @ x.T
    return family, float(
        np.sqrt(np.maximum(sq[:, None] + sq[None, :] - 2 * gram, 0)).mean()
    )


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster):
            jobs = [pairwise(f, embeddings(f, n)) for f, n in FAMILIES.items()]
            for family, mean in dask.compute(*jobs):
                print(family, mean)


if __name__ == "__main__":
    main()
