"""Runs that hang on a cluster where another driver goes on working.

python stalls.py STORE             the cluster, and the runs that hang
python stalls.py STORE ADDRESS     the other driver
"""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client, Event, LocalCluster
from scenario_reports import report, scaled

STALLS = {"blackbox.stall.after": "1s", "blackbox.stall.end-run": "3s"}
PATIENT = {"blackbox.stall.after": "10s"}


def inc(x: int) -> int:
    return x + 1


def deep_in_a_library() -> Any:
    """Block a hundred frames below this line, in code that is not ours."""
    lock = threading.Lock()
    lock.acquire()
    leaf: Any = type("Leaf", (), {})()
    leaf.__reduce_ex__ = lock.acquire
    nested: list[Any] = [leaf]
    for _ in range(50):
        nested = [nested]
    return copy.deepcopy(nested)


def other_driver(store: str, address: str) -> None:
    with Client(address) as client, recording(client, store=store, job="other") as rec:
        done, enough = 0, Event("enough")
        Event("at work").set()
        while not enough.is_set():
            client.gather(client.map(inc, range(10), pure=False))
            done += 10
            time.sleep(0.1)  # it needs to be busy, not to fill a core
    report(done=done, recorded=rec.card.numbers["tasks"], state=rec.card.state)


def hang(client: Client, store: str, job: str, **task: Any) -> None:
    with dask.config.set(STALLS):
        try:
            with recording(client, store=store, job=job) as rec:
                client.submit(**task).result(timeout=scaled(60))
        except (CancelledError, TimeoutError) as error:
            report(**{job: [type(error).__name__, rec.card.links["recording"]]})


def give_up(client: Client, store: str) -> None:
    """Stop waiting a moment before a stall would be reported."""
    with dask.config.set(PATIENT):
        try:
            with recording(client, store=store, job="given_up") as rec:
                task = client.submit(inc, 1, resources={"GPU": 1}, key="g-2")
                task.result(timeout=9.5)
        except TimeoutError:
            report(given_up=rec.card.links["recording"])


def main(store: str) -> None:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        other = subprocess.Popen(
            [sys.executable, __file__, store, cluster.scheduler_address]
        )
        Event("at work").wait(60)
        hang(client, store, "resource", func=inc, x=1, resources={"GPU": 1}, key="g-1")
        give_up(client, store)
        hang(client, store, "deep", func=deep_in_a_library, key="deep-1")
        Event("enough").set()
        report(other=other.wait(60))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        other_driver(*sys.argv[1:])
    else:
        main(*sys.argv[1:])
