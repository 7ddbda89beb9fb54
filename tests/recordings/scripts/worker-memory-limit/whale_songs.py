"""Whale song detection: spectrograms on the cluster, detections counted by an actor."""

import logging
import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("whales")


class SongBook:
    def __init__(self):
        self.songs = {}

    def add(self, pod, count):
        self.songs[pod] = self.songs.get(pod, 0) + count
        return self.songs[pod]

    def summary(self):
        return dict(self.songs)


def recordings():
    return [
        {"hydrophone": f"H{n}", "pod": f"J{n % 3}", "minutes": 240 if n == 6 else 2}
        for n in range(10)
    ]


def spectrogram(recording):
    rng = np.random.default_rng(recording["minutes"])
    columns = []
    for _ in range(recording["minutes"]):
        block = rng.normal(size=(256, 2048)).astype("f8")
        columns.append(np.abs(np.fft.rfft(block, axis=0)).astype("f8"))
        time.sleep(0.01)
    loud = sum(int((c > 40).sum()) for c in columns)
    return recording["pod"], 1 + loud % 7


def detect(client, book, todo):
    futures = {
        client.submit(spectrogram, r, key=f"spectrogram-{r['hydrophone']}"): r
        for r in todo
    }
    for future in as_completed(list(futures)):
        recording = futures[future]
        if future.status == "error":
            log.warning("recording of %s left out tonight", recording["hydrophone"])
            continue
        pod, songs = future.result()
        total = book.add(pod, songs).result()
        log.info("%s: %d songs so far", pod, total)


def main():
    logging.basicConfig(level=logging.INFO)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                memory_limit="420MiB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            book = client.submit(SongBook, actor=True).result()
            detect(client, book, recordings())
            print(book.summary().result())


if __name__ == "__main__":
    main()
