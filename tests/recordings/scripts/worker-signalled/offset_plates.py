"""Rendering of offset printing plates for the night's newspapers.

Every rendering leaves a pid file while it runs.  The shop's housekeeper, a small program from the time before Dask,
looks through the pid files and ends what seems to have been forgotten.
"""

import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

import numpy as np
from dask.distributed import Client, KilledWorker, LocalCluster

os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
import dask  # noqa: E402

dask.config.refresh()
log = logging.getLogger("plates")

HOUSEKEEPER = """
import os, pathlib, signal, sys, time
folder, limit = pathlib.Path(sys.argv[1]), float(sys.argv[2])
while True:
    for entry in folder.glob("*.pid"):
        try:
            age = time.time() - entry.stat().st_mtime
            if age > limit:
                os.kill(int(entry.read_text()), signal.SIGTERM)
                entry.unlink()
        except (FileNotFoundError, ProcessLookupError, ValueError):
            pass
    time.sleep(0.3)
"""


@contextmanager
def housekeeper(folder, limit):
    program = pathlib.Path(folder) / "housekeeper.py"
    program.write_text(HOUSEKEEPER)
    process = subprocess.Popen([sys.executable, str(program), str(folder), str(limit)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def pid_file(folder, name):
    path = pathlib.Path(folder) / f"{name}.pid"
    path.write_text(str(os.getpid()))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def render_plate(folder, page, colours):
    """Screens of one page, one per colour; the centrefold takes its time."""
    with pid_file(folder, f"page-{page}"):
        ink = 0.0
        for colour in range(colours):
            screen = np.random.default_rng(page * 10 + colour).random((400, 600))
            for _ in range(10):
                screen = (screen + np.roll(screen, 1, axis=0)) / 2
                time.sleep(0.03)
            ink += float(screen.mean())
    return page, round(ink, 3)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    pages = {page: 4 for page in range(1, 17)}
    pages[8] = 24  # centrefold with varnish and spot colours
    with (
        tempfile.TemporaryDirectory(prefix="plates-") as folder,
        housekeeper(folder, 4),
    ):
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=None,
        )
        client = Client(cluster)
        try:
            futures = {
                page: client.submit(
                    render_plate, folder, page, colours, key=f"render-plate-{page:02}"
                )
                for page, colours in pages.items()
            }
            inks = {}
            for page, future in futures.items():
                try:
                    inks[page] = future.result()[1]
                except KilledWorker:
                    log.error("page %s has no plate", page)
            log.info("%s plates", len(inks))
            if len(inks) < len(pages):
                raise RuntimeError(
                    f"{len(pages) - len(inks)} plates are missing, the press cannot start"
                )
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
