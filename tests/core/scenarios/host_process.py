"""Recordings as guests of one long-lived process and cluster: what they change, and what not.

python host_process.py STORE
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any

import psutil
from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_reports import report, until

reported: dict[str, Any] = {}


def work(i: int) -> int:
    return i + 1


def of_outer(i: int) -> int:
    return i


def of_inner(i: int) -> int:
    return i


def of_one(i: int) -> int:
    return i


def of_other(i: int) -> int:
    return i


def card_of(rec: Any) -> Any:
    return json.loads(rec.card.to_json())


def handlers() -> dict[str, list[str]]:
    names = ["", "distributed", "tornado.application", "distributed.worker"]
    return {
        name: [type(h).__name__ for h in logging.getLogger(name or None).handlers]
        for name in names
    }


def state_of_worker(dask_worker: Any) -> dict[str, Any]:
    import faulthandler

    return {
        "handlers": handlers(),
        "streams": [type(sys.stdout).__name__, type(sys.stderr).__name__],
        "faulthandler": faulthandler.is_enabled(),
        "plugins": sorted(dask_worker.plugins),
        "threads": sorted(
            t.name for t in threading.enumerate() if "blackbox" in t.name
        ),
    }


def state_of_scheduler(dask_scheduler: Any) -> dict[str, Any]:
    return {
        "plugins": sorted(dask_scheduler.plugins),
        "handlers": sorted(dask_scheduler.handlers),
        "worker_plugins": sorted(dask_scheduler.worker_plugins),
        "nanny_plugins": sorted(dask_scheduler.nanny_plugins),
        "listeners": len(dask_scheduler.listeners),
        "topics": sorted(t for t in dask_scheduler._broker._topics if "blackbox" in t),
    }


def state_of_nanny(dask_worker: Any) -> dict[str, Any]:
    wrapped = ("_on_worker_exit_sync", "instantiate", "_dask_blackbox_listeners")
    return {
        "plugins": sorted(dask_worker.plugins),
        "wrapped": [name for name in wrapped if name in vars(dask_worker)],
        "kill": "kill" in vars(dask_worker.process),
    }


def state_of(client: Client) -> dict[str, Any]:
    return {
        "driver": {
            "handlers": handlers(),
            "showwarning": warnings.showwarning.__module__,
            "excepthook": sys.excepthook is sys.__excepthook__,
            "streams": [type(sys.stdout).__name__, type(sys.stderr).__name__],
            "threads": sorted(
                t.name for t in threading.enumerate() if "blackbox" in t.name
            ),
            "environment": sorted(k for k in os.environ if "BLACKBOX" in k),
        },
        "scheduler": client.run_on_scheduler(state_of_scheduler),
        "workers": sorted(client.run(state_of_worker).values(), key=str),
        "nannies": sorted(client.run(state_of_nanny, nanny=True).values(), key=str),
    }


class UserError(Exception):
    """Holds something that cannot be compared or copied."""

    def __init__(self) -> None:
        super().__init__("mine")
        self.lock = threading.Lock()


def an_exception_passes(client: Client, store: str) -> None:
    error = UserError()

    def raising() -> None:
        raise error

    rec = recording(client, store=store, job="passes")
    try:
        with rec:
            raising()
    except UserError as caught:
        reported["same_exception"] = caught is error
        reported["context"] = repr(caught.__context__)
        reported["frames"] = [
            f.name for f in traceback.extract_tb(caught.__traceback__)
        ]
        reported["notes"] = getattr(caught, "__notes__", [])
    reported["passes"] = card_of(rec)
    reported["finished_twice"] = rec.finish() is rec.finish(ValueError("other"))


def nested(client: Client, store: str) -> None:
    with recording(client, store=store, job="outer") as outer:
        client.gather(client.map(of_outer, range(3)))
        with recording(client, store=store, job="inner") as inner:
            client.gather(client.map(of_inner, range(4)))
        client.gather(client.map(of_outer, range(3, 6)))
    reported["outer"], reported["inner"] = card_of(outer), card_of(inner)


def say(i: int) -> None:
    print("last line", i)


def last_lines(client: Client, store: str) -> None:
    """End recordings right after tasks that print and log."""
    cards = []
    for i in range(3):
        with recording(client, store=store, job="last-lines") as rec:
            client.gather(client.map(say, range(20 * i, 20 * i + 20)))
        cards.append(card_of(rec))
    reported["last_lines"] = cards


def two_clients(cluster: LocalCluster, store: str) -> None:
    with (
        Client(cluster, set_as_default=False) as one,
        Client(cluster, set_as_default=False) as other,
        recording(one, store=store, job="one") as first,
        recording(other, store=store, job="other") as second,
    ):
        one.gather(one.map(of_one, range(3)))
        other.gather(other.map(of_other, range(4)))
    reported["one"], reported["other"] = card_of(first), card_of(second)


def one_client_leaves(cluster: LocalCluster, store: str) -> None:
    with Client(cluster, set_as_default=False) as second:
        rec = recording(second, store=store, job="leaves")
        rec.start()
        second.gather(second.map(work, range(10, 15)))
    reported["leaves"] = json.loads(rec.finish().to_json())


def no_dask_at_all(store: str) -> None:
    with recording(store=store, job="no-dask") as rec:
        logging.getLogger("job").warning("nothing of Dask here")
        warnings.warn("a warning of the user's", stacklevel=1)
    reported["no_dask"] = card_of(rec)


def a_dead_client(store: str) -> None:
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        client = Client(cluster, set_as_default=False)
    client.close()
    with recording(client, store=store, job="dead-client") as rec:
        reported["went_on"] = True
    reported["dead_client"] = card_of(rec)


def a_forked_child(client: Client, store: str) -> None:
    with recording(client, store=store, job="forked") as rec:
        client.submit(work, 100).result()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                logging.getLogger("job").warning("a line of the child's")
                card = rec.finish(ValueError("the child's own"))
                os.write(write, card.state.encode())
            finally:
                os._exit(0)
        reported["child"] = os.read(read, 100).decode()
        reported["child_code"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(read)
        os.close(write)
        client.submit(work, 101).result()
        logging.getLogger("job").warning("a line of the parent's")
    reported["forked"] = card_of(rec)


def open_files(cluster: LocalCluster) -> list[str]:
    """What this process has open, without the connections of the cluster.

    Dask keeps as many of those as it has ever needed at once, which differs from one
    recording to the next.
    """
    workers = cluster.scheduler_info["workers"]
    addresses = [cluster.scheduler_address, *workers]
    addresses += [worker["nanny"] for worker in workers.values()]
    ports = {int(address.rpartition(":")[2]) for address in addresses}
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        # The file of this listing itself is closed by the time that it is read.
        with contextlib.suppress(FileNotFoundError):
            found[int(entry.name)] = str(entry.readlink())
    # Asked last: a connection that is opened meanwhile is in neither.
    for c in psutil.Process().net_connections("tcp"):
        if ports & {address.port for address in (c.laddr, c.raddr) if len(address)}:
            found.pop(c.fd, None)
    return sorted(found.values())


def leaves_no_file_open(cluster: LocalCluster, store: str) -> None:
    before = open_files(cluster)
    with recording(store=store, job="files"):
        during = open_files(cluster)
    # A thread closes the pipes of a recorder that has ended.
    with contextlib.suppress(TimeoutError):
        until(lambda: open_files(cluster) == before, "the same open files as before")
    reported["files"] = {
        "before": before,
        "during": during,
        "after": open_files(cluster),
    }


def main(store: str) -> None:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        reported["result"] = client.gather(client.map(work, range(3)))
        before = state_of(client)
        an_exception_passes(client, store)
        nested(client, store)
        last_lines(client, store)
        two_clients(cluster, store)
        one_client_leaves(cluster, store)
        no_dask_at_all(store)
        leaves_no_file_open(cluster, store)
        a_forked_child(client, store)
        a_dead_client(store)
        # What is still on its way when a recording ends is forgotten moments later.
        with contextlib.suppress(TimeoutError):
            until(lambda: state_of(client) == before, "rest", 10)
        reported["before"], reported["after"] = before, state_of(client)
    report(**reported)


if __name__ == "__main__":
    main(sys.argv[1])
