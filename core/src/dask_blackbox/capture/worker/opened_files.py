"""The files that tasks open to read: how many, of what size, and which a failed task had opened.

A graph shows the files that tasks were given, and Dask the size of their results.  What a task
opens by itself, and reduces to a number, would show nowhere how much was read.
"""

from __future__ import annotations

import json
import os
import sysconfig
import threading
import time
import zlib
from collections import deque
from typing import TYPE_CHECKING, Any

from .. import os_calls

if TYPE_CHECKING:
    from distributed import Worker

_MOST_WAITING = 5_000
_MOST_DISTINCT = 300  # of a worker
_MOST_PREFIXES = 50  # of a report
_MOST_OF_A_TASK = 5
_LONGEST = 400
_FIRST, _EVERY = 0.2, 10.0  # seconds before a report: a task may end its worker soon
_NO_DATA = (".py", ".pyc", ".so")
_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
_NO_FOLDERS = tuple(
    os.path.join(each, "")
    for each in (
        *("/proc", "/sys", "/dev", "/etc", "/usr/share/zoneinfo"),
        *(sysconfig.get_path(name) for name in _INSTALLED),
    )
)

_listeners: list[OpenedFiles] = []


class OpenedFiles:
    """Collects what the tasks of one worker open to read, from `start` to `stop`."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: deque[tuple[str, str, int]] = deque(maxlen=_MOST_WAITING)
        self._by_thread: dict[int, tuple[str, dict[str, None]]] = {}
        self._known: set[tuple[str, str]] = set()
        self._prefixes: dict[str, _FilesOfPrefix] = {}
        self._missed = 0
        self._reported, self._pause = time.monotonic(), _FIRST

    def start(self) -> None:
        """Begin to listen."""
        _listeners.append(self)
        os_calls.listen_to_opened(_heard)

    def stop(self) -> None:
        """Listen no more."""
        if self in _listeners:
            _listeners.remove(self)
        if not _listeners:
            os_calls.listen_to_opened(None)

    def take(self, file: Any, thread: int) -> bool:
        """Note a file that a task has opened; return whether this worker runs that task.

        Called in the thread of the task, which may be anywhere: takes no lock.
        """
        running = self._worker.active_threads.get(thread)
        if running is None:
            return False
        found = _remote(file) if hasattr(file, "fs") else _local(file)
        if found is None:
            return True
        path, nbytes = found
        key, before = str(running), self._by_thread.get(thread)
        of_task = before[1] if before is not None and before[0] == key else {}
        of_task.pop(path, None)
        of_task[path] = None
        if len(of_task) > _MOST_OF_A_TASK:
            del of_task[next(iter(of_task))]
        self._by_thread[thread] = key, of_task
        self._missed += len(self._waiting) == _MOST_WAITING
        self._waiting.append((key, path, nbytes))
        return True

    def opened_by(self, key: str) -> list[object] | None:
        """Return the event of a task that failed; None if it opened nothing that is known.

        Args:
            key: Its key; what its execution opened last comes first.
        """
        for running, paths in tuple(self._by_thread.values()):
            if running == key:
                opened = [path[:_LONGEST] for path in reversed(tuple(paths))]
                return _row("task-opened-files", key, {"files": opened})
        return None

    def reports(self, *, now: bool = False) -> list[list[object]]:
        """Return events of what was opened since the last ones; nothing if it is not time.

        Args:
            now: Whether they must not wait.
        """
        while self._waiting:
            self._add(*self._waiting.popleft())
        if not now and time.monotonic() - self._reported < self._pause:
            return []
        worker, prefixes = str(self._worker.address), self._prefixes.values()
        rows = [each.row(worker, self._missed) for each in prefixes]
        if rows:
            self._prefixes, self._missed, self._reported = {}, 0, time.monotonic()
            self._pause = min(2 * self._pause, _EVERY)
        return rows

    def _add(self, key: str, path: str, nbytes: int) -> None:
        from dask.utils import key_split

        prefix = str(key_split(key))
        if (prefix, path) in self._known:
            return
        if prefix not in self._prefixes and len(self._prefixes) >= _MOST_PREFIXES:
            self._missed += 1
            return
        found = self._prefixes.setdefault(prefix, _FilesOfPrefix(prefix))
        is_new = len(self._known) < _MOST_DISTINCT
        if is_new:
            self._known.add((prefix, path))
        found.add(key, path, nbytes, counted_once=is_new)


class _FilesOfPrefix:
    def __init__(self, prefix: str) -> None:
        self._prefix, self._key, self._largest, self._size = prefix, "", "", -1
        self._files: dict[str, int] = {}
        self._more = self._more_bytes = 0

    def add(self, key: str, path: str, nbytes: int, *, counted_once: bool) -> None:
        if counted_once:
            self._files[f"{zlib.crc32(os.fsencode(path)):08x}"] = nbytes
        else:
            self._more += 1
            self._more_bytes += nbytes
        if nbytes > self._size:
            self._key, self._largest, self._size = key, path[-_LONGEST:], nbytes

    def row(self, worker: str, missed: int) -> list[object]:
        """Return its event."""
        return _row(
            "files-read",
            self._key,
            {
                "worker": worker,
                "prefix": self._prefix,
                "files": self._files,
                "more": self._more,
                "more_bytes": self._more_bytes,
                "largest": self._largest,
                "missed": missed,
            },
        )


def _local(file: Any) -> tuple[str, int] | None:
    """Return path and size of a file that `open` opened; None: it holds no data of a job."""
    path = file.name
    if isinstance(path, int):  # of a file that is open already
        return None
    path = os.path.abspath(os.fsdecode(path))
    if path.endswith(_NO_DATA) or path.startswith(_NO_FOLDERS):
        return None
    return path, os.fstat(file.fileno()).st_size


def _remote(file: Any) -> tuple[str, int] | None:
    """Return URL, without query, and size of a file that fsspec opened; None: not known.

    A local file was opened by `open`.
    """
    protocols = file.fs.protocol
    protocol = protocols if isinstance(protocols, str) else protocols[0]
    path, size = str(file.path).partition("?")[0], getattr(file, "size", None)
    if protocol in ("file", "local") or not isinstance(size, int):
        return None
    return path if "://" in path else f"{protocol}://{path.lstrip('/')}", size


def _row(kind: str, subject: str, detail: dict[str, object]) -> list[object]:
    return [time.time(), kind, subject, json.dumps(detail)]


def _heard(file: Any) -> None:
    try:
        thread = threading.get_ident()
        for listener in tuple(_listeners):
            if listener.take(file, thread):
                return
    except Exception:  # an error here would be the user's
        pass
