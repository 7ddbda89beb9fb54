"""Ends a task whose supervisor has exited, as after any other stop.

Airflow's supervisor starts a task's process, and is its only way to report anything.  Where
it is killed alone, the task would go on unseen: nobody takes its log or its result, and
Airflow fails it, and starts the next try beside it, as soon as heartbeats have been missing
for long enough.  Airflow itself does nothing about that in the task's process.
"""

from __future__ import annotations

import select
import sys
import threading
from typing import Any, Final

from dask_blackbox.guard import guard

__all__ = ["supervisor_is_gone", "watch_supervisor"]

_RUNNER: Final = "airflow.sdk.execution_time.task_runner"
_HANG_UP: Final = select.POLLHUP | getattr(select, "POLLRDHUP", 0)
_LOOK: Final = 1.0
_watched: Final[list[object]] = []


def supervisor_is_gone() -> bool:
    """Return whether the supervisor of this process's task exited before the task."""
    connection = _connection()
    return connection is not None and _hung_up(connection)


def watch_supervisor(task: Any) -> None:
    """Have `task.on_kill()` called once its supervisor is gone; `dag.test()` has none.

    Args:
        task: The operator that this process executes.
    """
    connection = _connection()
    if connection is None or any(each is connection for each in _watched):
        return
    _watched.append(connection)

    def wait() -> None:
        with guard("the end of a task whose supervisor is gone"):
            # Not a copy of it, nor forever: that would keep it open when Airflow closes it.
            while connection.fileno() >= 0:
                if _hung_up(connection, within=_LOOK):
                    task.on_kill()
                    return

    threading.Thread(target=wait, daemon=True, name="dask-blackbox-supervisor").start()


def _connection() -> Any:
    comms = getattr(sys.modules.get(_RUNNER), "SUPERVISOR_COMMS", None)
    return getattr(comms, "socket", None)


def _hung_up(connection: Any, *, within: float = 0.0) -> bool:
    """Wait for some seconds until the other end is closed; say whether it is."""
    number = connection.fileno()
    if number < 0:  # this end is closed: the task is over
        return False
    poll = select.poll()
    poll.register(number, _HANG_UP)
    return any(event & _HANG_UP for _, event in poll.poll(within * 1000))
