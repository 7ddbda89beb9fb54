"""Bobbin planning of a weaving mill.

Every evening the order books of the looms are exploded into the bobbins that the winding room has to
prepare for the next day.  The mill has no permanent cluster: the job starts a scheduler and two workers
on the planning machine and takes them down when it is done.
"""

import json
import logging
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s"
)
log = logging.getLogger("bobbins")

YARNS = {
    "NE20": 1450.0,
    "NE30": 2100.0,
    "NE40": 2800.0,
    "NM60": 3900.0,
}  # metres on one bobbin


class OrderBookError(Exception):
    """An order book that the winding room cannot use."""


def read_book(path):
    with open(path) as f:
        book = json.load(f)
    time.sleep(0.15)
    return book


def explode_book(book):
    needed = Counter()
    for line in book["lines"]:
        metres = line["ends"] * line["length"]
        try:
            per_bobbin = YARNS[line["yarn"]]
        except KeyError as exc:
            raise OrderBookError(
                f"loom {book['loom']}, article {line['article']}: no yarn table entry"
            ) from exc
        needed[line["yarn"]] += -(-metres // per_bobbin)
    time.sleep(0.2)
    return dict(needed)


def winding_plan(parts):
    total = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


class WindingRoom:
    """A scheduler and some workers as processes of their own."""

    def __init__(self, folder, workers=2):
        self.folder = Path(folder)
        self.workers = workers
        self.procs = []

    def _start(self, name, *args):
        out = open(self.folder / f"{name}.log", "w")
        proc = subprocess.Popen(
            [sys.executable, "-m", "dask", *args], stdout=out, stderr=subprocess.STDOUT
        )
        self.procs.append((name, proc))
        log.info("started %s as process %d", name, proc.pid)

    def open(self):
        address = self.folder / "scheduler.json"
        self._start(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(address),
        )
        for i in range(self.workers):
            self._start(
                f"worker-{i}",
                "worker",
                "--scheduler-file",
                str(address),
                "--nthreads",
                "1",
                "--memory-limit",
                "400MB",
                "--name",
                f"winder-{i}",
                "--no-dashboard",
            )
        client = Client(scheduler_file=str(address), timeout=30)
        client.wait_for_workers(self.workers, timeout=30)
        return client

    def close(self):
        for name, proc in self.procs:
            if proc.poll() is None:
                proc.send_signal(
                    signal.SIGTERM if name != "scheduler" else signal.SIGKILL
                )
        for name, proc in self.procs:
            try:
                code = proc.wait(8)
            except subprocess.TimeoutExpired:
                proc.kill()
                code = proc.wait()
            log.warning("%s has ended with %s", name, code)


def write_books(folder, looms=14):
    paths = []
    yarns = list(YARNS)
    for loom in range(looms):
        lines = [
            {
                "article": f"A{loom:02d}{k}",
                "yarn": yarns[(loom + k) % 4],
                "ends": 1200 + 40 * k,
                "length": 90 + loom,
            }
            for k in range(9)
        ]
        if loom == 10:
            lines[6]["yarn"] = "NE30/2"
        path = Path(folder) / f"loom-{loom:02d}.json"
        path.write_text(json.dumps({"loom": loom, "lines": lines}))
        paths.append(str(path))
    return paths


def main():
    with tempfile.TemporaryDirectory() as folder:
        books = write_books(folder)
        room = WindingRoom(folder)
        client = room.open()
        try:
            read = client.map(read_book, books)
            exploded = client.map(explode_book, read)
            plan = client.submit(winding_plan, exploded)
            log.info("bobbins: %s", plan.result(timeout=40))
        finally:
            log.info("closing the winding room")
            room.close()
            try:
                client.close(timeout=2)
            except Exception as exc:
                log.error("client: %r", exc)


if __name__ == "__main__":
    main()
