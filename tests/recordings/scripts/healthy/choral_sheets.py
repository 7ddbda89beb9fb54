"""Indexes scanned choral sheets; the recogniser may take its process down, such sheets go to the hand desk."""

import ctypes
import json
import logging
import sys
import tempfile
from pathlib import Path

import dask
from dask.distributed import Client, KilledWorker, LocalCluster

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("choral_sheets")

SHEETS = 8


def write_sheets(folder):
    for n in range(SHEETS):
        notes = [60 + (n * k) % 19 for k in range(120)]
        (folder / f"sheet-{n:02d}.json").write_text(
            json.dumps({"staves": 4 if n != 5 else 0, "notes": notes})
        )


def recognise(path):
    sheet = json.loads(Path(path).read_text())
    if sheet["staves"] == 0:
        ctypes.CDLL(None).abort()
    return sum(sheet["notes"]) / len(sheet["notes"])


def recognise_batch(paths):
    return {path: recognise(path) for path in paths}


def index(client, paths):
    """Results of a batch; a batch that takes a worker down is halved until one sheet is left."""
    try:
        return client.submit(recognise_batch, paths, pure=False).result(), []
    except KilledWorker as crash:
        if len(paths) == 1:
            log.error("%s goes to the hand desk: %s", Path(paths[0]).name, crash)
            return {}, paths
        log.warning("batch of %d took the worker down, halving it", len(paths))
    middle = len(paths) // 2
    left, desk_left = index(client, paths[:middle])
    right, desk_right = index(client, paths[middle:])
    return left | right, desk_left + desk_right


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with tempfile.TemporaryDirectory(prefix="choral-") as tmp:
        folder = Path(tmp)
        write_sheets(folder)
        paths = [str(p) for p in sorted(folder.glob("sheet-*.json"))]
        with LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="500MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                found, desk = index(client, paths[4:])
                more, other = index(client, paths[:4])
                found |= more
                log.info(
                    "%d sheets indexed, %d for the hand desk",
                    len(found),
                    len(desk + other),
                )
                if len(found) + len(desk + other) != SHEETS:
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
