"""Workers of one cluster die in every way, one after the other; then some leave in peace.

python deaths.py STORE
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client, Event, KilledWorker, LocalCluster
from scenario_reports import report, report_card, scaled, until

LINES = 2_000
BURST = 20_000


def exit_with_0() -> None:
    os._exit(0)


def exit_with_3() -> None:
    os._exit(3)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


def log_and_die(count: int, mark: str) -> None:
    log = logging.getLogger("job.numbers")
    for i in range(count):
        log.warning("%s %d", mark, i)
    os.kill(os.getpid(), signal.SIGKILL)


def print_and_die(count: int) -> None:
    for i in range(count):
        print("printed", i, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def wait_to_be_killed() -> None:
    Event("waiting").set()
    while True:
        time.sleep(0.05)


def hoard() -> None:
    hoarded = []
    while True:
        hoarded.append(bytearray(8 * 2**20))
        time.sleep(0.02)


def killed(client: Client, function: Any, *args: Any) -> str:
    """Return the key of a task that took its worker along."""
    future = client.submit(function, *args, pure=False)
    try:
        future.result(timeout=scaled(60))
    except KilledWorker:
        return str(future.key)
    raise AssertionError(f"{future.key} survived")


def killed_from_outside(client: Client, number: int) -> str:
    future = client.submit(wait_to_be_killed, pure=False)
    Event("waiting").wait(timeout=scaled(30))
    Event("waiting").clear()
    [worker] = [w for w, keys in client.processing().items() if future.key in keys]
    pid = client.run(os.getpid, workers=[worker])[worker]
    os.kill(pid, number)
    try:
        future.result(timeout=scaled(60))
    except KilledWorker:
        return str(future.key)
    raise AssertionError(f"{future.key} survived")


def die_in_every_way(client: Client) -> dict[str, str]:
    keys = {
        "exit 0": killed(client, exit_with_0),
        "exit 3": killed(client, exit_with_3),
        "SIGKILL": killed(client, kill_itself),
        "SIGSEGV": killed(client, fault),
        "SIGABRT": killed(client, abort),
        "SIGTERM from outside": killed_from_outside(client, signal.SIGTERM),
        "lines": killed(client, log_and_die, LINES, "numbered"),
        "prints": killed(client, print_and_die, LINES),
        "burst": killed(client, log_and_die, BURST, "burst"),
        "memory": killed(client, hoard),
    }
    client.wait_for_workers(2)
    return keys


def leave_in_peace(client: Client) -> list[str]:
    addresses = list(client.run(os.getpid))
    client.retire_workers([addresses[0]])
    until(lambda: len(client.run(os.getpid)) == 1, "retirement")
    return addresses


def main(store: str) -> None:
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            # Else LocalCluster gives up workers that restart slowly on a busy machine.
            "distributed.deploy.lost-worker-timeout": "120s",
        }
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="320MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        rec = recording(client, store=store, job="deaths")
        with rec:
            keys = die_in_every_way(client)
            report(keys=keys, peaceful=leave_in_peace(client))
            cluster.close()
        report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1])
