"""Detach a recorder from the process that starts it, by forking once more.

A child process of the driver is returned by its `os.wait()`, and a loop that waits until no
child is left would wait for the recorder, which waits for the driver.
"""

from __future__ import annotations

import os
import sys

_ZOMBIES = 50
"""Exited children of process 1 from which on it is taken for one that reaps none."""


def detach() -> None:
    """Continue in a process that is no child of the one that started this one.

    Where nobody would reap that process when it ends, it stays this one.  The id of the
    process that continues is the first line of standard output.
    """
    if os.getppid() != 1 and _is_reaping(1):
        try:
            if os.fork():
                os._exit(0)
            os.setsid()
        except OSError:  # no more processes are allowed
            pass
    os.write(sys.stdout.fileno(), b"%d\n" % os.getpid())


def _is_reaping(pid: int) -> bool:
    """Say whether a process that adopts others seems to reap them when they exit.

    In a container without an init, process 1 is a program like any other, and each orphan
    that exits would keep its entry in the table of processes.
    """
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: PTH123
            children = file.read().split()
    except OSError:  # another system, where process 1 is its init
        return True
    return sum(map(_is_zombie, children)) < _ZOMBIES


def _is_zombie(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            status = file.read()
    except OSError:  # reaped by now
        return False
    return status.rpartition(b")")[2].split()[0] == b"Z"
