"""Aligns dialect word lists against a reference lexicon that every worker holds."""

import time

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, WorkerPlugin, wait

dask.config.set(
    {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": 0.7,
        "distributed.worker.memory.terminate": False,
    }
)


class Lexicon(WorkerPlugin):
    """Keeps the reference vectors ready in every worker."""

    name = "lexicon"

    def __init__(self, megabytes):
        self.megabytes = megabytes

    def setup(self, worker):
        rows = self.megabytes * 1_000_000 // (300 * 8)
        worker.lexicon = np.ones((rows, 300))


def tokenise(village):
    time.sleep(0.2)
    return [f"w{village}_{number}" for number in range(200)]


def align(words):
    time.sleep(0.2)
    return sum(len(word) for word in words)


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            lists = client.map(tokenise, range(16))
            print("words:", sum(client.gather(client.map(len, lists))))
            client.register_plugin(Lexicon(320))
            time.sleep(2)
            aligned = client.map(align, lists)
            try:
                wait(aligned, timeout=20)
            except TimeoutError:
                open_tasks = sum(not future.done() for future in aligned)
                raise SystemExit(
                    f"lists are due at six, {open_tasks} of {len(aligned)} are not aligned"
                )
            print("letters:", sum(client.gather(aligned)))


if __name__ == "__main__":
    main()
