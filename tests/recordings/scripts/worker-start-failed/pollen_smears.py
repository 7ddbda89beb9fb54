# Pollen smear counts, ported from the notebook of the aerobiology group.
import time

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

TAXA = ["betula", "alnus", "corylus", "poaceae", "artemisia"]
SLIDES = 24


def smear(block_id=None, size=400):
    rng = np.random.default_rng(block_id[0])
    return rng.poisson(3.0, (1, size, size)).astype("int16")


def count_grains(block, threshold=7):
    time.sleep(0.05)
    return (block > threshold).sum(axis=(1, 2), keepdims=True)


def summarize(counts):
    per_taxon = counts.reshape(len(TAXA) - 1, -1).sum(axis=1)
    return dict(zip(TAXA, per_taxon.tolist()))


started = time.time()
cluster = LocalCluster(
    n_workers=2,
    threads_per_worker=1,
    memory_limit="700MiB",
    dashboard_address=":0",
)
client = Client(cluster)
print("cluster is up after", round(time.time() - started, 1), "s")

slides = da.map_blocks(
    smear,
    chunks=((1,) * SLIDES, (400,), (400,)),
    dtype="int16",
    meta=np.empty((0, 0, 0), dtype="int16"),
)
grains = slides.map_blocks(
    count_grains, chunks=((1,) * SLIDES, (1,), (1,)), dtype="int64"
)
counts = grains.compute()
print("slides:", counts.shape[0], "grains:", int(counts.sum()))
print(summarize(counts))

client.close()
cluster.close()
