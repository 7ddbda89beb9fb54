"""Word counts, recorded with the context manager."""

import dask.bag as db
from dask.distributed import Client
from dask_blackbox import recording

TEXT = "the quick brown fox jumps over the lazy dog".split()

if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        with recording(client, job="words"):
            words = db.from_sequence(TEXT * 2000, npartitions=6)
            print(words.frequencies().topk(3, key=lambda pair: pair[1]).compute())
