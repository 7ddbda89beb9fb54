"""Distances walked by collared elks; archives are opened on the store, reduced on the compute worker."""

import logging
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

from dask.distributed import Client, Scheduler, SpecCluster, Worker, wait

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("elk_migrations")

HERDS = ["dovre", "femund", "setesdal"]
LIMIT = 35


def write_archives(folder):
    rng = random.Random(21)
    for herd in HERDS:
        db = sqlite3.connect(folder / f"{herd}.db")
        with db:
            db.execute("CREATE TABLE fixes (elk INTEGER, hour INTEGER, x REAL, y REAL)")
            for elk in range(8):
                x = y = 0.0
                for hour in range(200):
                    x, y = x + rng.gauss(0, 0.4), y + rng.gauss(0.1, 0.4)
                    db.execute(
                        "INSERT INTO fixes VALUES (?, ?, ?, ?)", (elk, hour, x, y)
                    )
        db.close()


class CollarArchive:
    """Fixes of a herd, read on demand."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path, check_same_thread=False)

    def tracks(self):
        tracks = {}
        for elk, x, y in self.db.execute(
            "SELECT elk, x, y FROM fixes ORDER BY elk, hour"
        ):
            tracks.setdefault(elk, []).append((x, y))
        return tracks


def open_archive(path):
    return CollarArchive(path)


def walked(archive):
    lengths = {}
    for elk, points in archive.tracks().items():
        lengths[elk] = sum(
            ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5
            for a, b in zip(points, points[1:])
        )
    return lengths


def main():
    scheduler = {"cls": Scheduler, "options": {"dashboard": False}}
    worker = {
        "cls": Worker,
        "options": {"nthreads": 1, "dashboard": False, "memory_limit": 0},
    }
    with tempfile.TemporaryDirectory(prefix="elks-") as tmp:
        folder = Path(tmp)
        write_archives(folder)
        with (
            SpecCluster(
                scheduler=scheduler, workers={"store": worker, "compute": worker}
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(2, timeout=40)
            results = []
            for herd in HERDS:
                archive = client.submit(
                    open_archive,
                    str(folder / f"{herd}.db"),
                    key=f"open_archive-{herd}",
                    workers=["store"],
                )
                results.append(
                    client.submit(
                        walked, archive, key=f"walked-{herd}", workers=["compute"]
                    )
                )
            log.info("%d herds", len(results))
            wait(results, timeout=LIMIT)
            for herd, future in zip(HERDS, results):
                lengths = future.result()
                log.info(
                    "%s: %.0f km on average", herd, sum(lengths.values()) / len(lengths)
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
