"""Saddlery order book: price the open orders of all workshops, every night.

The cluster is our own: one `dask scheduler` and two `dask worker`, started on
the command line with their pid files in a run directory, as on the batch host.
"""

import argparse
import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from distributed import Client

log = logging.getLogger("saddlery")

WORKSHOPS = ["walsall", "leon", "jaipur", "cuenca", "gdansk", "salzburg"]
STALE_AFTER = 15  # minutes a leftover of an earlier night may live


def dask_command(*args):
    return [sys.executable, "-m", "dask", *map(str, args)]


@contextlib.contextmanager
def own_cluster(run_dir):
    address_file = run_dir / "scheduler.json"
    children = [
        subprocess.Popen(
            dask_command(
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                0,
                "--no-show",
                "--dashboard-address",
                "127.0.0.1:0",
                "--scheduler-file",
                address_file,
                "--pid-file",
                run_dir / "scheduler.pid",
            )
        )
    ]
    try:
        for n in (1, 2):
            children.append(
                subprocess.Popen(
                    dask_command(
                        "worker",
                        "--scheduler-file",
                        address_file,
                        "--name",
                        f"bench-{n}",
                        "--nthreads",
                        1,
                        "--memory-limit",
                        "250MiB",
                        "--no-dashboard",
                        "--local-directory",
                        run_dir,
                        "--death-timeout",
                        60,
                    )
                )
            )
        yield address_file
    finally:
        for child in reversed(children):
            child.terminate()
        for child in children:
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def sweep_stale(run_dir):
    """End what an earlier night did not end, and forget its pid file."""
    for path in run_dir.glob("*.pid"):
        age = time.time() - path.stat().st_mtime
        if age > STALE_AFTER:
            pid = int(path.read_text())
            log.info("sweep: %s is %.0f old, ending process %d", path.name, age, pid)
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                os.kill(pid, signal.SIGTERM)
                path.unlink()


def keep_swept(run_dir, done):
    while not done.wait(2):
        sweep_stale(run_dir)


def open_orders(workshop, batch):
    time.sleep(0.5)
    return [
        {"workshop": workshop, "size": 15 + n % 4, "hides": 1 + n % 3}
        for n in range(batch, batch + 400)
    ]


def price_orders(orders):
    total = 0.0
    for order in orders:
        total += 310 + 42.5 * order["hides"] + 3 * order["size"]
        time.sleep(0.004)  # tariff look-up
    return round(total, 2)


def price_book(client, batches):
    totals = {}
    for workshop in WORKSHOPS:
        orders = client.map(
            open_orders, [workshop] * batches, range(batches), pure=False
        )
        priced = client.map(price_orders, orders, pure=False)
        totals[workshop] = sum(client.gather(priced))
        log.info("%-9s %12.2f", workshop, totals[workshop])
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=6)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    done = threading.Event()
    with tempfile.TemporaryDirectory(
        prefix="saddlery-", ignore_cleanup_errors=True
    ) as folder:
        run_dir = Path(folder)
        with own_cluster(run_dir) as address_file:
            client = Client(scheduler_file=str(address_file), timeout=60)
            client.wait_for_workers(2, timeout=90)
            threading.Thread(
                target=keep_swept, args=(run_dir, done), daemon=True
            ).start()
            try:
                totals = price_book(client, args.batches)
            finally:
                done.set()
                client.close(timeout=5)
    log.info("order book: %.2f", sum(totals.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
