"""Stock check of the apothecaries' shelves.

A preflight makes sure that the rules refuse what they have to refuse, then the shelves are counted.
The cluster belongs to this script: scheduler and workers are child processes, taken down by signals
as the operations handbook asks for.
"""

import logging
import random
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client, as_completed

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("stock")


class ShelfRefused(Exception):
    pass


def check_shelf(shelf):
    for item, (count, months) in shelf.items():
        if count < 0:
            raise ShelfRefused(f"{item}: {count} pieces")
        if months <= 0:
            raise ShelfRefused(f"{item}: out of date")
    return len(shelf)


def count_shelf(number):
    rng = random.Random(number)
    shelf = {f"jar{n}": (rng.randint(0, 40), rng.randint(1, 30)) for n in range(200)}
    check_shelf(shelf)
    return number, sum(count for count, _ in shelf.values())


def launch(logs, name, module, *args):
    out = open(Path(logs) / f"{name}.log", "wb")
    return subprocess.Popen(
        [sys.executable, "-m", module, *args], stdout=out, stderr=subprocess.STDOUT
    )


def preflight(client):
    bad = [{"arnica": (-1, 5)}, {"valerian": (3, 0)}, {"sage": (5, 5), "hops": (2, -4)}]
    refused = 0
    for future in client.map(check_shelf, bad):
        try:
            future.result()
        except ShelfRefused as error:
            refused += 1
            log.info("refused as it should be: %s", error)
    if refused != len(bad):
        raise SystemExit("the rules let something through")


def end(child, with_signal, patience=10):
    child.send_signal(with_signal)
    try:
        return child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def main():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as logs:
        scheduler = launch(
            logs,
            "scheduler",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
        )
        workers = [
            launch(
                logs,
                f"shelf-{i}",
                "distributed.cli.dask_worker",
                address,
                "--name",
                f"shelf-{i}",
                "--nthreads",
                "1",
                "--memory-limit",
                "350MB",
                "--no-dashboard",
            )
            for i in range(2)
        ]
        try:
            with Client(address, timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                preflight(client)
                totals = dict(
                    f.result() for f in as_completed(client.map(count_shelf, range(80)))
                )
        finally:
            for worker in workers:
                log.info(
                    "worker %d ended with %s", worker.pid, end(worker, signal.SIGTERM)
                )
            log.info("scheduler ended with %s", end(scheduler, signal.SIGINT))
    print(f"{len(totals)} shelves, {sum(totals.values())} pieces")


if __name__ == "__main__":
    main()
