"""Merges lighthouse log books; the index may be written by one task at a time."""

import os
import signal
import tempfile
import threading
import time

from dask.distributed import Client, LocalCluster, Lock


def merge_book(path, book, entries):
    lock = Lock("logbook-index")
    lock.acquire()
    if not entries:
        return book, 0  # nothing to merge
    with open(path, "a") as f:
        for e in entries:
            f.write(f"{book},{e}\n")
    time.sleep(0.2)
    lock.release()
    return book, len(entries)


BOOKS = {
    "fastnet": ["fog", "gale"],
    "bishop": ["calm"],
    "longships": [],
    "wolf": ["gale", "gale"],
    "eddystone": ["fog"],
    "lizard": ["calm", "fog"],
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index.csv")
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                futures = [
                    client.submit(merge_book, path, b, e, key=f"merge_book-{b}")
                    for b, e in BOOKS.items()
                ]
                # the operator's patience
                timer = threading.Timer(14, os.kill, (os.getpid(), signal.SIGINT))
                timer.daemon = True
                timer.start()
                merged = client.gather(futures)
                timer.cancel()
                print(merged)


if __name__ == "__main__":
    main()
