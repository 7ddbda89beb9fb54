"""Timetables of the winter exams: students, rooms and hours.

Scheduler and workers are started by this script with a scheduler file in the faculty's state folder, which
outlives the run, so that colleagues can attach a notebook to a running optimisation.
"""

import collections
import json
import logging
import socket
import subprocess
import sys
import time
from pathlib import Path

import click
from distributed import Client

log = logging.getLogger("timetables")
STATE = Path("state")


def previous_term():
    """The state folder as it is found on the machine: the file of the summer's run is in it."""
    STATE.mkdir(exist_ok=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    info = {
        "type": "Scheduler",
        "id": "Scheduler-6d0a3f0c-summer",
        "address": f"tcp://127.0.0.1:{port}",
        "services": {},
        "started": 1783000000.0,
        "workers": {},
    }
    (STATE / "scheduler.json").write_text(json.dumps(info))
    (STATE / "rooms.json").write_text(
        json.dumps({f"H{i}": 40 + 15 * i for i in range(8)})
    )
    return port


def start(kind, *options):
    log.info("starting %s", kind)
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            kind,
            "--scheduler-file",
            str(STATE / "scheduler.json"),
            *options,
        ]
    )


def wait_for_file(path, patience=20):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if path.exists() and path.stat().st_size:
            return path
        time.sleep(0.2)
    raise TimeoutError(f"{path} was not written in {patience} s")


def clashes(room, seats, seed):
    """Local search for one room: count the clashes of the best of some orders."""
    best = None
    for turn in range(60):
        hours = collections.Counter(
            (seed * 7 + s * (turn + 3)) % 30 for s in range(seats)
        )
        n = sum(c - 1 for c in hours.values() if c > 1)
        best = n if best is None else min(best, n)
    return room, best


@click.command()
@click.option("--rounds", default=4)
@click.option("--timeout", default=8.0, help="seconds to wait for the scheduler")
def main(rounds, timeout):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    previous_term()
    rooms = json.loads((STATE / "rooms.json").read_text())
    running = []
    try:
        running.append(
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        )
        where = wait_for_file(STATE / "scheduler.json")
        client = Client(scheduler_file=str(where), timeout=timeout)
        for i in range(2):
            running.append(
                start(
                    "worker",
                    "--name",
                    f"seat-{i}",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                )
            )
        client.wait_for_workers(2, timeout=20)
        for n in range(rounds):
            futures = [
                client.submit(clashes, room, seats, n) for room, seats in rooms.items()
            ]
            log.info("round %d: %s", n, dict(client.gather(futures)))
        client.close()
    finally:
        for p in running:
            p.terminate()
        for p in running:
            p.wait(10)


if __name__ == "__main__":
    main()
