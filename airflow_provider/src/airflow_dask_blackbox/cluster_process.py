"""The process that holds a cluster which outlives the task that started it.

    python -m airflow_dask_blackbox.cluster_process

A `LocalCluster`, and most other classes, close with the process that made them; a cluster
for several tasks has to stay until the last of them has ended.  So the first task starts
this process, in a session of its own, and tells it what to start; it answers with the
cluster's address.  It goes when the cluster's scheduler does, which the last task asks for.

Airflow is not imported here: in new processes of a task it cannot be.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec

__all__ = ["KEEP", "Answer", "Note", "StartRequest", "is_here", "main"]

KEEP = b"keep\n"
"""What the task says when the address has arrived; without it, the cluster is closed."""

_LOOK = 2.0
_ANSWER = 10.0
_MOST_FAILURES = 5
_LONGEST_SILENCE = 600.0
"""Seconds: a scheduler that takes a large graph answers nothing for minutes."""
_ENDED = ("Status.closed", "Status.failed")


class StartRequest(msgspec.Struct, kw_only=True):
    """The first line that the task sends; what starts the cluster follows it, pickled.

    Attributes:
        path: The task's `sys.path`.
        folder: Its working directory.
        note: File that says where the cluster is, for as long as it is there.
        idle_timeout: As Dask's `distributed.scheduler.idle-timeout`.
        size: Bytes that follow.
    """

    path: list[str]
    folder: str
    note: str
    idle_timeout: str
    size: int


class Answer(msgspec.Struct, kw_only=True):
    """The line that this process answers with.

    Attributes:
        address: Of the scheduler; empty: the cluster did not start.
        dashboard: Address of Dask's dashboard, if there is one.
        kind: Name of the cluster's class.
        here: Whether its scheduler runs on this machine.
        error: Why the cluster did not start.
    """

    address: str = ""
    dashboard: str = ""
    kind: str = ""
    here: bool = True
    error: str = ""


class Note(msgspec.Struct):
    """What the file says: where the cluster is, and which process holds it."""

    address: str
    pid: int


def main() -> None:
    """Start what standard input says, keep it, and close it when it is used no more."""
    import cloudpickle
    from dask_blackbox.driver.host_task import longer_worker_timeout

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the task reads the answer only, and workers print
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=StartRequest)
    sys.path[:] = request.path
    os.chdir(request.folder)
    start, adapt = cloudpickle.loads(sys.stdin.buffer.read(request.size))
    with longer_worker_timeout():
        try:
            cluster = _started(start, adapt, request.idle_timeout)
        except BaseException as error:
            _write_answer(answers, Answer(error=f"{type(error).__name__}: {error}"))
            raise
        try:
            answer = _answer_of(cluster)
            with _noted(Path(request.note), answer.address):
                _write_answer(answers, answer)
                if sys.stdin.buffer.readline() == KEEP:
                    _wait_for_the_end(cluster)
        finally:
            cluster.close()


def _started(start: Callable[[], Any], adapt: Any, idle_timeout: str) -> Any:
    import dask.config

    with dask.config.set({"distributed.scheduler.idle-timeout": idle_timeout}):
        cluster = start()
    if adapt:
        cluster.adapt(**adapt)
    return cluster


def _answer_of(cluster: Any) -> Answer:
    address = str(cluster.scheduler_address)
    return Answer(
        address=address,
        dashboard=str(getattr(cluster, "dashboard_link", "") or ""),
        kind=type(cluster).__name__,
        here=is_here(address),
    )


def is_here(address: str) -> bool:
    """Return whether the host of an address is this machine; True where that is not known."""
    try:
        parts = urlsplit(address)
        if parts.scheme == "inproc" or not parts.hostname:
            return True
        found = socket.getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return True
    return any(map(_is_own, found))


def _is_own(found: tuple[Any, ...]) -> bool:
    """Return whether an address is one of this machine's: it takes no other."""
    family, kind, protocol, _, where = found
    try:
        with socket.socket(family, kind, protocol) as taking:
            taking.bind(where)
    except OSError:
        return False
    return True


@contextmanager
def _noted(file: Path, address: str) -> Iterator[None]:
    """Have a file say that the cluster is there, for as long as it is."""
    note = msgspec.json.encode(Note(address, os.getpid()))
    file.write_bytes(note)
    try:
        yield
    finally:
        with suppress(OSError):
            if file.read_bytes() == note:  # and not that of the next cluster
                file.unlink()


def _write_answer(answers: IO[bytes], answer: Answer) -> None:
    with answers:
        answers.write(msgspec.json.encode(answer) + b"\n")


def _wait_for_the_end(cluster: Any) -> None:
    """Wait until its scheduler is closed, by the last task or by its own idle timeout.

    A scheduler that nothing reaches any more counts as closed, and so does one that has
    been silent for very long: it is needed as long as it may only be busy.
    """
    scheduler: Any = getattr(cluster, "scheduler", None)
    failures, answered = 0, time.monotonic()
    while failures < _MOST_FAILURES:
        time.sleep(_LOOK)
        if str(getattr(scheduler, "status", "")) in _ENDED:
            return
        try:
            cluster.sync(cluster.scheduler_comm.identity, callback_timeout=_ANSWER)
            failures, answered = 0, time.monotonic()
        except TimeoutError:
            if time.monotonic() - answered > _LONGEST_SILENCE:
                return
        # The last two by Dask's `sync`, if its event loop has ended or cancels the question.
        except (OSError, RuntimeError, UnboundLocalError):
            failures += 1


if __name__ == "__main__":
    main()
