"""Vectors of dishes: previews are a nicety, the vectors have to be there in the morning."""

import logging
import time

import dask
import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster, get_worker

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("menu")
dask.config.set({"distributed.scheduler.allowed-failures": 0})


def load_vocabulary(words, dask_worker=None):
    dask_worker.vocabulary = {
        word: np.random.default_rng(number).normal(size=16)
        for number, word in enumerate(words)
    }
    return len(dask_worker.vocabulary)


def preview(dishes):
    """Contact sheet of all dishes in print resolution."""
    sheet = []
    for dish in range(dishes):
        sheet.append(np.full((1500, 1500), dish, dtype="float64"))
        time.sleep(0.12)
    return float(sum(image.mean() for image in sheet))


def vectorize(dish):
    time.sleep(0.2)
    words = dish.split()
    vocabulary = get_worker().vocabulary
    return sum(vocabulary[word] for word in words) / len(words)


def main():
    words = ["leek", "soup", "roast", "duck", "plum", "tart", "rye", "bread"]
    dishes = [f"{a} {b}" for a in words for b in words if a != b]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="450MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            log.info(
                "vocabulary: %s", list(client.run(load_vocabulary, words).values())
            )
            log.info("sample: %s", client.submit(vectorize, "leek soup").result()[:2])
            try:
                client.submit(preview, 120, key="preview").result()
            except KilledWorker:
                log.warning("no preview tonight")
            client.wait_for_workers(2)
            time.sleep(3)
            vectors = client.gather(client.map(vectorize, dishes))
            log.info("%d vectors", len(vectors))


if __name__ == "__main__":
    main()
