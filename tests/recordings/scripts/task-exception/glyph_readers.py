"""Reads inscriptions with a model that every worker keeps open for the whole night."""

import time
import types

import numpy as np
import dask.array as da
from dask.distributed import Client, LocalCluster, get_worker


def open_model(seed, dask_worker=None):
    """Loads the weights once per worker."""
    rng = np.random.default_rng(seed)
    dask_worker.glyph_model = types.SimpleNamespace(
        weights=rng.normal(size=(64, 26)), seed=seed
    )
    return seed


def contrast(stone):
    time.sleep(0.15)
    rng = np.random.default_rng(stone)
    return rng.normal(size=(40, 64))


def read_glyphs(patches, collection):
    worker = get_worker()
    model = getattr(worker, "glyph_model", None)
    if model is None:
        raise RuntimeError(
            f"no glyph model is open on {worker.name} for collection {collection}"
        )
    letters = (patches @ model.weights).argmax(axis=1)
    return "".join(chr(65 + letter) for letter in letters)


def background(client):
    wall = da.random.random((4000, 4000), chunks=(1000, 1000))
    return float(da.hypot(wall, wall.T).mean().compute())


def read_collection(client, name, stones):
    patches = client.map(contrast, stones)
    texts = client.gather(client.map(read_glyphs, patches, collection=name, pure=False))
    print(name, len(texts), "stones", texts[0][:12])
    return texts


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="700MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            client.run(open_model, 12)
            read_collection(client, "palmyra", range(12))
            print("background", round(background(client), 4))
            client.restart()
            client.wait_for_workers(2)
            read_collection(client, "dura", range(20, 32))


if __name__ == "__main__":
    main()
