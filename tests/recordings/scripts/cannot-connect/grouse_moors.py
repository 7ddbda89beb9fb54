"""Grouse census: estimate the number of birds on each moor from the beaters' line transects.

The estate's job queue gives a shared folder ``state/`` that lives from night to night.  Scheduler and workers are
started from here and meet there through ``state/scheduler.json``.
"""

import json
import logging
import math
import pathlib
import random
import socket
import subprocess
import sys
import time

from distributed import Client

STATE = pathlib.Path("state")
SCHEDULER_FILE = STATE / "scheduler.json"
MOORS = ["Black Law", "Corriemuir", "Fell End", "Whiteside", "Dun Rig", "Great Shunner"]
log = logging.getLogger("moors")


def restore_shared_folder():
    """What the queue's file server holds when the job begins (notes and files of the nights before)."""
    STATE.mkdir(exist_ok=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    SCHEDULER_FILE.write_text(
        json.dumps(
            {
                "type": "Scheduler",
                "id": "Scheduler-6e0f2c1a-88d5-4a54-9d8f-0b8a7a0a0c11",
                "address": f"tcp://127.0.0.1:{port}",
                "services": {},
                "started": time.time() - 86400,
                "n_workers": 0,
                "total_threads": 0,
                "workers": {},
            },
            indent=2,
        )
    )
    (STATE / "counts.json").write_text(
        json.dumps(
            {m: [random.Random(m).randint(2, 30) for _ in range(40)] for m in MOORS}
        )
    )


def start_cluster():
    """Submit scheduler and workers.  They queue behind the weather jobs, usually for a few seconds."""
    queue_delay = 3
    python = sys.executable
    scheduler = subprocess.Popen(
        [
            "sh",
            "-c",
            f'sleep {queue_delay}; exec "$0" -m dask scheduler --host 127.0.0.1 --port 0 '
            f"--no-dashboard --scheduler-file {SCHEDULER_FILE}",
            python,
        ]
    )
    workers = [
        subprocess.Popen(
            [
                "sh",
                "-c",
                f'sleep {queue_delay + 3}; exec "$0" -m dask worker --scheduler-file {SCHEDULER_FILE} '
                f"--nthreads 1 --no-dashboard --no-nanny --name beat-{i}",
                python,
            ]
        )
        for i in range(2)
    ]
    return [scheduler, *workers]


def wait_for(path, timeout):
    end = time.monotonic() + timeout
    while not path.exists():
        if time.monotonic() > end:
            raise RuntimeError(f"{path} did not appear in {timeout} s")
        time.sleep(0.2)
    log.info("%s is there", path)


def density(moor, flushes, strip_width):
    detection = sum(math.exp(-n / 25) for n in flushes) / len(flushes)
    return moor, sum(flushes) / (detection * strip_width * len(flushes))


def estimate(client):
    counts = json.loads((STATE / "counts.json").read_text())
    futures = [
        client.submit(density, moor, flushes, 0.12) for moor, flushes in counts.items()
    ]
    return dict(client.gather(futures))


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    restore_shared_folder()
    jobs = start_cluster()
    try:
        wait_for(SCHEDULER_FILE, timeout=60)
        with Client(scheduler_file=str(SCHEDULER_FILE), timeout=12) as client:
            client.wait_for_workers(2, timeout=20)
            report = estimate(client)
        for moor, birds in sorted(report.items()):
            print(f"{moor:15s} {birds:8.1f} birds per km2")
    finally:
        for p in reversed(jobs):
            p.terminate()
        for p in jobs:
            try:
                p.wait(6)
            except subprocess.TimeoutExpired:
                p.kill()


if __name__ == "__main__":
    main()
