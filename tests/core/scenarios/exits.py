"""A script of a user who has never heard of us: how its workers exit, or its tasks fail.

python exits.py HOW
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

import dask
from dask.distributed import Client, Event, LocalCluster, Worker, wait
from scenario_reports import scaled

MIB = 2**20


def cluster(*, workers: int = 1, threads: int = 1, limit: str = "auto") -> LocalCluster:
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        memory_limit=limit,
        dashboard_address=":0",
    )


def fault(number: int) -> None:
    ctypes.string_at(0)


def double(number: int) -> int:
    return 2 * number


def end_own_process() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        time.sleep(0.05)


def watch() -> None:
    Event("watching").set()
    while True:
        time.sleep(0.2)


def load() -> int:
    """Grow, slowly enough for a nanny to see it, and fast enough to use a core."""
    kept = []
    while True:
        kept.append(bytearray(b"x" * (4 * MIB)))
        time.sleep(0.01)


def parse(number: int) -> int:
    """Raise once all the others are there: what they raise then, nobody waits for."""
    Event(f"parsing-{number}").set()
    for each in range(8):
        Event(f"parsing-{each}").wait(timeout=scaled(60))
    time.sleep(0.05 * number)
    return int(f"row {number}")


def running(dask_worker: Worker) -> int:
    return len(dask_worker.state.all_running_tasks)


def second_cluster() -> None:
    """The first task of a second cluster crashes, before anything of ours is there."""
    with cluster() as first, Client(first) as client:
        client.gather(client.map(double, range(4)))
    with cluster() as second, Client(second) as client:
        client.gather(client.map(fault, range(1)))


def signalled_worker() -> None:
    """A worker process gets SIGTERM; its nanny lives, until the script ends it."""
    with cluster() as one, Client(one) as client:
        client.gather(client.map(double, range(4)))
        client.submit(end_own_process).result()


def two_tasks() -> None:
    """The driver waits for a task that only waits, beside one that allocates."""
    with cluster(threads=2, limit="320MiB") as one, Client(one) as client:
        watching = client.submit(watch, key="watch-1")
        Event("watching").wait(timeout=scaled(60))
        loading = client.submit(load, key="load-1")
        wait([watching, loading])
        watching.result()


def eight_bad_pieces() -> None:
    with cluster(threads=8) as one, Client(one) as client:
        pieces = [dask.delayed(parse)(number) for number in range(8)]
        try:
            dask.compute(*pieces)
        finally:
            deadline = time.monotonic() + 60
            while any(client.run(running).values()):  # all raise before it is closed
                if time.monotonic() > deadline:
                    raise TimeoutError("a piece has not ended")
                time.sleep(0.05)


def restart() -> None:
    with cluster(workers=2, threads=3) as one, Client(one) as client:
        client.gather(client.map(double, range(8)))
        client.restart()
        client.gather(client.map(double, range(8, 16)))


def five_clusters() -> None:
    for number in range(5):
        with cluster(workers=1, threads=2, limit="10GiB") as one, Client(one) as client:
            client.gather(client.map(double, range(8 * number, 8 * number + 8)))


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    globals()[sys.argv[1]]()
