"""Archive the day's soundings of the weather buoys.

Every buoy's raw file is decoded on the cluster; the summary of each buoy goes into
the archive database as soon as it is there, so that a broken-off run keeps what it has.
"""

from __future__ import annotations

import argparse
import logging
import math
import random
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

from dask.distributed import Client, Future, LocalCluster

log = logging.getLogger("buoys")

SCHEMA = """
CREATE TABLE IF NOT EXISTS summary (
    buoy TEXT PRIMARY KEY, samples INTEGER, wave_height REAL, period REAL, stored_at REAL
)
"""


def decode(buoy: str, samples: int) -> dict:
    """Raw accelerations to a series of heights (a stand-in for the vendor's decoder)."""
    rng = random.Random(buoy)
    phase, height = rng.random() * math.tau, rng.uniform(0.4, 3.2)
    series = [
        height * math.sin(phase + i / 9) + rng.gauss(0, 0.05) for i in range(samples)
    ]
    time.sleep(0.15)
    return {"buoy": buoy, "series": series}


def summarise(raw: dict) -> dict:
    series = raw["series"]
    crossings = sum(1 for a, b in zip(series, series[1:]) if a < 0 <= b)
    variance = sum(v * v for v in series) / len(series)
    return {
        "buoy": raw["buoy"],
        "samples": len(series),
        "wave_height": 4 * math.sqrt(variance),
        "period": len(series) / max(crossings, 1),
    }


class Archive:
    """The archive database, and the count of what is still to come."""

    def __init__(self, path: Path, expected: int):
        self.db = sqlite3.connect(path)
        self.db.execute(SCHEMA)
        self.db.commit()
        self.expected = expected
        self.stored = 0
        self.complete = threading.Event()

    def store(self, future: Future) -> None:
        row = future.result()
        with self.db:
            self.db.execute(
                "INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?, ?)",
                (
                    row["buoy"],
                    row["samples"],
                    row["wave_height"],
                    row["period"],
                    time.time(),
                ),
            )
        self.stored += 1
        if self.stored == self.expected:
            self.complete.set()

    def report(self) -> list[tuple]:
        return self.db.execute(
            "SELECT buoy, round(wave_height, 2) FROM summary ORDER BY 2 DESC LIMIT 3"
        ).fetchall()


def run(
    client: Client, archive: Archive, buoys: list[str], samples: int, patience: float
) -> None:
    raws = [client.submit(decode, buoy, samples) for buoy in buoys]
    summaries = [client.submit(summarise, raw) for raw in raws]
    for future in summaries:
        future.add_done_callback(archive.store)
    log.info("%d buoys under way", len(buoys))

    if not archive.complete.wait(timeout=patience):
        raise RuntimeError(
            f"archive incomplete: {archive.stored} of {archive.expected} buoys "
            f"after {patience:.0f} s"
        )
    for buoy, height in archive.report():
        log.info("highest waves: %s %.2f m", buoy, height)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buoys", type=int, default=24)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--patience", type=float, default=25)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    buoys = [f"B{62000 + 7 * n}" for n in range(args.buoys)]
    with tempfile.TemporaryDirectory(prefix="buoys-") as folder:
        archive = Archive(Path(folder) / "archive.sqlite", len(buoys))
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="256MiB",
                dashboard_address=":0",
                local_directory=folder,
            ) as cluster,
            Client(cluster) as client,
        ):
            run(client, archive, buoys, args.samples, args.patience)
    log.info("archive complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
