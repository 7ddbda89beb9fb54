"""Evening settlements: net what the market's stallholders paid by card.

The operations job brings the cluster up and leaves its address in shared/;
this job looks there, settles all stalls and writes the bank's file.
"""

import glob
import json
import logging
import os
import random
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from datetime import date

from dask import delayed
from dask.distributed import Client

log = logging.getLogger("settlements")
SHARED = "shared"


@dataclass
class Run:
    day: date
    run_id: str

    @property
    def address_file(self):
        return os.path.join(SHARED, f"cluster-{self.run_id}.json")


def yesterdays_leftovers():
    """What the previous evening has left on the share."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    os.makedirs(SHARED, exist_ok=True)
    content = {
        "type": "Scheduler",
        "id": f"Scheduler-{uuid.uuid4()}",
        "address": f"tcp://127.0.0.1:{port}",
        "services": {},
        "started": time.time() - 86_000,
        "workers": {},
    }
    with open(os.path.join(SHARED, "cluster-20261126.json"), "w") as f:
        json.dump(content, f)
    os.utime(f.name, (time.time() - 86_000,) * 2)


def operations(run):
    """The other team's job: a scheduler and two workers that outlive single jobs."""
    common = dict(stdout=subprocess.DEVNULL, stderr=open("operations.log", "ab"))
    base = [sys.executable, "-m", "dask"]
    return [
        subprocess.Popen(
            [
                *base,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                run.address_file,
            ],
            **common,
        ),
        subprocess.Popen(
            [
                *base,
                "worker",
                "--scheduler-file",
                run.address_file,
                "--nworkers",
                "2",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
            ],
            **common,
        ),
    ]


def newest_cluster():
    files = sorted(
        glob.glob(os.path.join(SHARED, "cluster-*.json")), key=os.path.getmtime
    )
    if not files:
        raise FileNotFoundError("operations have left no address")
    return files[-1]


@delayed
def card_payments(stall):
    rng = random.Random(stall)
    return [round(rng.uniform(2, 60), 2) for _ in range(200)]


@delayed
def net(stall, payments, fee=0.011):
    return {"stall": stall, "net": round(sum(payments) * (1 - fee), 2)}


def settle(client, stalls):
    graph = [net(s, card_payments(s)) for s in stalls]
    return client.gather(client.compute(graph))


def connect(attempts=3):
    for attempt in range(1, attempts + 1):
        path = newest_cluster()
        log.info("attempt %d with %s", attempt, path)
        try:
            return Client(scheduler_file=path, timeout="3s")
        except OSError as exc:
            log.warning("no luck: %s", exc)
            if attempt == attempts:
                raise


def main():
    logging.basicConfig(level=logging.INFO)
    run = Run(date(2026, 11, 27), "20261127")
    yesterdays_leftovers()
    # the share keeps one folder per evening since the last clean-up
    evening = Run(run.day, os.path.join("20261127", "evening"))
    os.makedirs(os.path.dirname(evening.address_file), exist_ok=True)
    procs = operations(evening)
    try:
        with connect() as client:
            rows = settle(client, range(1, 41))
            with open("bank.json", "w") as f:
                json.dump(rows, f)
            log.info("settled %d stalls", len(rows))
    finally:
        for proc in reversed(procs):
            proc.terminate()
        for proc in procs:
            proc.wait(10)


if __name__ == "__main__":
    main()
