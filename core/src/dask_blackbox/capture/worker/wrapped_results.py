"""Results that a host wraps: their size, and which of them nobody computed.

A Prefect task returns its state, which Dask measures as a few hundred bytes, whatever it holds.
Dask's own figure is not changed, because it decides where tasks run and what is spilled.
For Dask, a task whose result came from the host's cache, which the host did not run because
its inputs had failed, or whose function raised, was executed like any other.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from dask.sizeof import sizeof

if TYPE_CHECKING:
    from dask.typing import Key

    # Only describe arguments.
    from distributed import Worker

_HOLDERS = {("prefect.client.schemas.objects", "State"): ("data", "result")}
"""Where the classes of hosts hold a result: attributes of attributes, by module and name."""
_NOT_COMPUTED = {
    ("prefect.client.schemas.objects", "State"): {
        "Cached": "result-cached",
        "NotReady": "task-not-run",
    }
}
"""The kind of row for a result that nobody computed, by its attribute `name`, likewise."""
_FAILED = {("prefect.client.schemas.objects", "State"): {"FAILED", "CRASHED"}}
"""The values of a result's `type` that say that its task failed, likewise."""
_MODULES = frozenset(module for module, _ in _HOLDERS)
_SMALLEST = 2**16
_WAITING = 100


class WrappedResults:
    """Reports results of a host's tasks; measures them in its own thread.

    Args:
        keep: Takes a row `result-cached` for each result from a cache, a row
            `task-not-run` for each task whose inputs had failed, a row `task-failed` for
            each that failed for its host, and a row `result-size` for each large result,
            the latter in that thread.
    """

    def __init__(self, worker: Worker, keep: Callable[[list[object]], None]) -> None:
        self._worker, self._keep = worker, keep
        self._finished: SimpleQueue[tuple[object, float, object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._unmeasured = 0

    def finished(self, key: Key) -> None:
        """Note a task that has just finished, if its result is wrapped; never blocks."""
        ts = self._worker.state.tasks.get(key)
        if ts is None or ts.type is None or not _attribute_path(ts.type):
            return
        # Not `data[key]`: it would read what is on disk, here on the event loop.
        value = getattr(self._worker.data, "memory", self._worker.data).get(key)
        if (kind := _no_result(value)) is not None:
            self._keep([time.time(), kind, str(key), "{}"])
        if self._finished.qsize() >= _WAITING:
            self._unmeasured += 1
            return
        self._finished.put((str(key), time.time(), value))
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._measure, name="dask-blackbox-results", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread after it has measured the waiting results."""
        self._finished.put(None)

    def _measure(self) -> None:
        while (each := self._finished.get()) is not None:
            key, at, value = each
            facts = {"nbytes": _size(value)}
            del each, value  # until the next one comes, it may be released
            if self._unmeasured:
                facts["unmeasured"], self._unmeasured = self._unmeasured, 0
            if facts["nbytes"] >= _SMALLEST or len(facts) > 1:
                self._keep([at, "result-size", key, json.dumps(facts)])


def _attribute_path(kind: type) -> tuple[str, ...]:
    """Return the attributes that lead to the result within a value; empty: it is not wrapped."""
    return _HOLDERS.get(_name(kind), ()) if kind.__module__ in _MODULES else ()


def _no_result(value: object) -> str | None:
    name = _name(type(value))
    state = getattr(getattr(value, "type", None), "value", None)
    if state in _FAILED.get(name, ()):
        return "task-failed"
    return _NOT_COMPUTED.get(name, {}).get(getattr(value, "name", None) or "")


def _name(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__name__.partition("[")[0]


def _size(value: object) -> int:
    try:
        for name in _attribute_path(type(value)):
            value = getattr(value, name)
        return 0 if value is None else int(sizeof(value))
    except Exception:  # it holds none: an exception, a reference to a store
        return 0
