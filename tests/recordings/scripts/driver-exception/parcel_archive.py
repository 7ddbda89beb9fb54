"""Archive the day's parcel scans.

The depots' scan files are decoded on the cluster; as they come in, the driver
hands the events to a writer thread that stores them in the archive database
(SQLite allows one writer only, so the workers don't write).
"""

import argparse
import logging
import os
import queue
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("parcel_archive")

SCHEMA = """
create table scans (
    parcel text not null,
    depot  integer not null,
    seq    integer not null,
    event  text not null check (event in ('in', 'out', 'hold', 'delivered')),
    primary key (parcel, seq)
);
"""
EVENTS = ["in", "out", "hold", "delivered"]


def decode_depot(depot, n, seed):
    """The scan events of one depot as rows for the archive."""
    rng = random.Random(seed * 100 + depot)
    time.sleep(0.4)
    rows = []
    for i in range(n):
        parcel = f"{depot:02d}{i:08d}"
        rows.append((parcel, depot, 1, rng.choice(EVENTS)))
    if depot % 9 == 5:
        rows.append(rows[-1][:3] + ("out",))
    return rows


def check_depot(rows):
    bad = [r for r in rows if len(r[0]) != 10]
    if bad:
        raise ValueError(f"{len(bad)} malformed parcel numbers")
    return rows


class ArchiveWriter(threading.Thread):
    def __init__(self, path, depth):
        super().__init__(name="archive-writer", daemon=True)
        self.path = path
        self.todo = queue.Queue(maxsize=depth)
        self.rows = 0

    def run(self):
        db = sqlite3.connect(self.path)
        db.executescript(SCHEMA)
        while True:
            batch = self.todo.get()
            if batch is None:
                break
            with db:
                db.executemany("insert into scans values (?, ?, ?, ?)", batch)
            self.rows += len(batch)
            log.info("archived %d rows, %d in all", len(batch), self.rows)
        db.close()

    def put(self, batch):
        self.todo.put(batch)

    def finish(self):
        self.todo.put(None)
        self.join()


def on_alarm(signum, frame):
    raise TimeoutError("parcel_archive: time limit of the nightly window reached")


def run(client, args, path):
    writer = ArchiveWriter(path, args.depth)
    writer.start()
    decoded = [
        client.submit(
            decode_depot, d, args.scans, args.seed, key=f"decode_depot-{d:02d}"
        )
        for d in range(args.depots)
    ]
    checked = client.map(
        check_depot, decoded, key=[f"check_depot-{d:02d}" for d in range(args.depots)]
    )
    log.info("%d depots submitted", len(checked))
    for fut, rows in as_completed(checked, with_results=True):
        log.info("%s: %d scans", fut.key, len(rows))
        writer.put(rows)
    writer.finish()
    return writer.rows


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--depots", type=int, default=20)
    p.add_argument("--scans", type=int, default=2000)
    p.add_argument(
        "--depth", type=int, default=3, help="batches that may wait for the writer"
    )
    p.add_argument("--seed", type=int, default=8)
    p.add_argument(
        "--window", type=int, default=40, help="seconds of the nightly window"
    )
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(args.window)
    with tempfile.TemporaryDirectory(prefix="parcels-") as work:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=work,
            ) as cluster,
            Client(cluster) as client,
        ):
            rows = run(client, args, os.path.join(work, "archive.db"))
        signal.alarm(0)
        log.info("archive complete: %d rows", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
