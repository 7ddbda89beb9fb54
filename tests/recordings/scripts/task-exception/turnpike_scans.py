"""Book the day's passages of the turnpike.

Readers stream the passages of their gantry into a queue on the scheduler; one booking
task takes them out, prices them and writes the ledger. The queue is bounded so that the
readers cannot run away from the booking.
"""

from __future__ import annotations

import argparse
import csv
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, Queue, wait

log = logging.getLogger("turnpike")

TARIFF = {f"G{n:02d}": 1.10 + 0.15 * n for n in range(1, 12)}
CLASSES = {"car": 1.0, "van": 1.4, "lorry": 2.6, "coach": 2.1}


class CommandLineCluster:
    """dask scheduler and dask worker as the night shift starts them."""

    def __init__(self, folder: Path, workers: int, threads: int):
        self.file = folder / "scheduler.json"
        self.procs = [
            self._start(
                "scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0"
            )
        ]
        for n in range(workers):
            self.procs.append(
                self._start(
                    "worker",
                    "--name",
                    f"lane-{n}",
                    "--nthreads",
                    str(threads),
                    "--no-nanny",
                    "--memory-limit",
                    "300MiB",
                    "--no-dashboard",
                    "--local-directory",
                    str(folder),
                )
            )

    def _start(self, what: str, *options: str) -> subprocess.Popen:
        common = ["--scheduler-file", str(self.file), "--host", "127.0.0.1"]
        command = [sys.executable, "-m", "dask", what, *common, *options]
        return subprocess.Popen(command, start_new_session=True)

    def __enter__(self):
        deadline = time.monotonic() + 60
        while not self.file.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("no scheduler after 60 s")
            time.sleep(0.2)
        return self

    def __exit__(self, *exc):
        # the workers first, the scheduler last
        for proc in reversed(self.procs):
            proc.send_signal(signal.SIGTERM)
            try:
                proc.wait(8)
            except subprocess.TimeoutExpired:
                os.killpg(proc.pid, signal.SIGKILL)
                proc.wait()


def read_gantry(gantry: str, passages: int) -> int:
    """Decode the day file of one gantry and hand its passages on."""
    rng = random.Random(gantry)
    queue = Queue("passages")
    for n in range(passages):
        plate = f"{rng.choice('KLMNP')}{rng.randrange(1000, 9999)}"
        queue.put(
            {
                "gantry": gantry,
                "n": n,
                "plate": plate,
                "class": rng.choice(list(CLASSES)),
            }
        )
    return passages


def book_passages(ledger: str, expected: int) -> float:
    """Price every passage and write it into the ledger."""
    queue = Queue("passages")
    total = 0.0
    with open(ledger, "w", newline="") as out:
        writer = csv.writer(out)
        for _ in range(expected):
            passage = queue.get()
            toll = TARIFF[passage["gantry"]] * CLASSES[passage["class"]]
            writer.writerow([passage["plate"], passage["gantry"], f"{toll:.2f}"])
            total += toll
    return total


def run(
    client: Client, folder: Path, gantries: int, passages: int, patience: float
) -> None:
    queue = Queue("passages", client=client, maxsize=20)
    names = [f"G{n:02d}" for n in range(1, gantries + 1)]
    booking = client.submit(
        book_passages, str(folder / "ledger.csv"), len(names) * passages
    )
    readers = client.map(read_gantry, names, passages=passages)
    log.info("%d gantries, %d passages to book", len(names), len(names) * passages)

    wait(readers, timeout=patience)
    log.info("all gantries read, %d passages waiting", queue.qsize())
    log.info("booked %.2f", booking.result(timeout=patience))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gantries", type=int, default=14)
    parser.add_argument("--passages", type=int, default=25)
    parser.add_argument("--patience", type=float, default=25)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="turnpike-") as name:
        folder = Path(name)
        with CommandLineCluster(folder, workers=2, threads=2) as cluster:
            with Client(scheduler_file=str(cluster.file), timeout=60) as client:
                client.wait_for_workers(2, timeout=60)
                run(client, folder, args.gantries, args.passages, args.patience)
    return 0


if __name__ == "__main__":
    sys.exit(main())
