"""The process that holds a cluster which outlives the task that started it.

    python -m airflow_dask_blackbox.cluster_process

A `LocalCluster`, and most other classes, close with the process that made them; a cluster
for several tasks has to stay until the last of them has ended.  So the first task starts
this process, in a session of its own, and tells it what to start; it answers with the
cluster's address.  It goes when the cluster's scheduler does, which the last task asks for.

Airflow is not imported here: in new processes of a task it cannot be.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

__all__ = ["KEEP", "main"]

KEEP = b"keep\n"
"""What the task says when the address has arrived; without it, the cluster is closed."""

_LOOK = 2.0
_ANSWER = 10.0
_MOST_FAILURES = 5
_LONGEST_SILENCE = 600.0
"""Seconds: a scheduler that takes a large graph answers nothing for minutes."""
_ENDED = ("Status.closed", "Status.failed")


def main() -> None:
    """Start what standard input says, keep it, and close it when it is used no more."""
    import cloudpickle
    from dask_blackbox.driver.host_task import longer_worker_timeout

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the task reads the answer only, and workers print
    orders: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = orders["path"]
    os.chdir(orders["folder"])
    size = int(sys.stdin.buffer.readline())
    start, adapt = cloudpickle.loads(sys.stdin.buffer.read(size))
    note = Path(orders["note"])
    with longer_worker_timeout():
        try:
            cluster = _started(start, adapt, orders["idle_timeout"])
        except BaseException as error:
            _write_answer(answers, {"error": f"{type(error).__name__}: {error}"})
            raise
        try:
            reported = _facts(cluster)
            with _noted(note, {**orders["task"], **reported, "pid": os.getpid()}):
                _write_answer(answers, reported)
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


def _facts(cluster: Any) -> dict[str, Any]:
    return {
        "address": str(cluster.scheduler_address),
        "dashboard": str(getattr(cluster, "dashboard_link", "") or ""),
        "name": str(getattr(cluster, "name", "")),
        "class": f"{type(cluster).__module__}.{type(cluster).__qualname__}",
        "started": time.time(),
    }


@contextmanager
def _noted(note: Path, facts: dict[str, Any]) -> Iterator[None]:
    """Have a file say that the cluster is there, for as long as it is."""
    note.write_text(json.dumps(facts))
    try:
        yield
    finally:
        with suppress(OSError):
            if json.loads(note.read_text()).get("pid") == os.getpid():
                note.unlink()


def _write_answer(answers: IO[str], reported: dict[str, Any]) -> None:
    with answers:
        answers.write(json.dumps(reported) + "\n")


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
        except OSError:
            failures += 1


if __name__ == "__main__":
    main()
