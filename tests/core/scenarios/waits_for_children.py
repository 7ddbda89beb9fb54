"""A driver that waits for all children that it has, while it is recorded.

python waits_for_children.py STORE loop
python waits_for_children.py STORE handler
python waits_for_children.py STORE ignored
python waits_for_children.py STORE killed
python waits_for_children.py STORE works
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from dask_blackbox import recording
from distributed import Client
from scenario_reports import recorders, report_card, until

CHILDREN = 3

waited: list[int] = []


def reap(*_: object) -> None:
    """Note which children have exited, as the handler of a server does."""
    while True:
        try:
            pid, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        waited.append(pid)


def wait_for_all() -> None:
    """Wait until no child is left."""
    while True:
        try:
            pid, _status = os.wait()
        except ChildProcessError:
            return
        waited.append(pid)


def started() -> list[int]:
    """Start children that exit, and return their ids."""
    return [os.posix_spawn("/bin/true", ["true"], os.environ) for _ in range(CHILDREN)]


def exited(parent: int) -> list[int]:
    """Return the children of a process that have exited, and that nobody has reaped."""
    found = []
    for task in Path("/proc", str(parent), "task").glob("*/children"):
        for pid in task.read_text().split():
            status = Path("/proc", pid, "stat").read_text().rpartition(")")[2]
            found += [int(pid)] if status.split()[0] == "Z" else []
    return found


def main(store: str, how: str) -> None:
    """Record it."""
    if how == "ignored":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    before = exited(1) if how == "works" else []
    with Client(
        processes=False, n_workers=1, dashboard_address=":0", memory_limit="2GB"
    ) as client:
        if how == "handler":  # not before: Dask has started a program, too
            signal.signal(signal.SIGCHLD, reap)
        with recording(client, store=store, job="waits", run_id=how) as rec:
            own = [] if how == "works" else started()
            if how == "killed":
                (first,) = recorders(os.getpid())
                os.kill(first, signal.SIGKILL)
                until(lambda: recorders(os.getpid()) - {first}, "another recorder")
                client.submit(abs, -1).result()
            if how == "handler":
                until(lambda: set(own) <= set(waited), "the handler")
            if how != "works":
                wait_for_all()
            client.gather(client.map(abs, range(10)))
        left = exited(os.getpid())
    report_card(
        rec,
        own=own,
        waited=waited,
        left=left,
        exited=[before, exited(1)] if how == "works" else None,
        tasks=11 if how == "killed" else 10,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
