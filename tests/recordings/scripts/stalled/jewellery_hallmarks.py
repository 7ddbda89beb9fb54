"""Hallmark register of an assay office.

The photographs of the day are scored by Dask; the register (SQLite) must only be written by one thread, so the
scores go through a small buffer to the clerk thread, which enters them while the next photographs are scored.
"""

import os
import queue
import random
import sqlite3
import threading
import time

from distributed import Client, LocalCluster, as_completed

SCHEMA = """
create table if not exists hallmarks (
    punch text not null,
    item text primary key,
    fineness integer,
    score real
)
"""


def photographs(count):
    """Item numbers as the cameras deliver them; an item that was photographed again has the same number."""
    rng = random.Random(28)
    items = [f"AO-{number:05d}" for number in range(count)]
    items[17] = items[5]
    return [
        {"item": item, "punch": rng.choice(["anchor", "leopard", "castle"])}
        for item in items
    ]


def score_hallmark(photograph):
    rng = random.Random(photograph["item"])
    time.sleep(0.05 + rng.random() * 0.1)
    if rng.random() < 0.02:
        return {**photograph, "fineness": None, "score": 0.0}
    return {
        **photograph,
        "fineness": rng.choice([375, 585, 750, 925]),
        "score": rng.random(),
    }


class Clerk(threading.Thread):
    def __init__(self, path, buffer):
        super().__init__(name="register-clerk", daemon=True)
        self.path = path
        self.buffer = buffer
        self.entered = 0

    def run(self):
        register = sqlite3.connect(self.path)
        register.execute(SCHEMA)
        try:
            while True:
                row = self.buffer.get()
                if row is None:
                    break
                register.execute(
                    "insert into hallmarks (punch, item, fineness, score) values (:punch, :item, :fineness, :score)",
                    row,
                )
                register.commit()
                self.entered += 1
        finally:
            register.close()


def enter_scores(client, photos, clerk, buffer):
    futures = [
        client.submit(score_hallmark, photo, key=f"score_hallmark-{n}")
        for n, photo in enumerate(photos)
    ]
    doubtful = []
    for future, row in as_completed(futures, with_results=True):
        if row["fineness"] is None:
            doubtful.append(row["item"])
        buffer.put(row)
    buffer.put(None)
    clerk.join()
    return doubtful


def main():
    path = "register.sqlite"
    if os.path.exists(path):
        os.remove(path)
    buffer = queue.Queue(maxsize=6)
    clerk = Clerk(path, buffer)
    clerk.start()
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0"
    )
    client = Client(cluster)
    print("scoring the photographs of the day", flush=True)
    try:
        doubtful = enter_scores(client, photographs(120), clerk, buffer)
    finally:
        client.close()
        cluster.close()
    print(
        f"{clerk.entered} hallmarks entered, {len(doubtful)} doubtful: {', '.join(doubtful) or 'none'}"
    )


if __name__ == "__main__":
    main()
