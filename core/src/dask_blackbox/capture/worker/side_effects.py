"""What tasks do outside of Dask: programs that fail, files that they remove or do not find,
signals that they send.

Calls of the standard library tell of it, in the thread of the task.  What is noted there is
only appended to a queue: a finalizer may remove files wherever memory is allocated, so no
lock of ours may be taken.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from .. import os_calls, programs
from ..files import (
    RemovedFiles,
    missing_file_facts,
    missing_file_of,
    note_directory_change,
    remember_directory,
)
from ..process import parent_of
from ..user_frames import innermost_user_frame, place_of

if TYPE_CHECKING:
    from distributed import Worker

_MOST, _KEPT = 100, 100
_DASKS = f"{os.sep}distributed{os.sep}"
_SIGNALS = ("os.kill", "os.killpg")
_listeners: list[SideEffects] = []
_ended: deque[int] = deque(maxlen=_KEPT)  # programs that this process signalled


class SideEffects:
    """Collects the acts of one worker's tasks, from `start` to `stop`.

    Of each kind the first are kept and the newest, and of removals those that an error of
    a task on this worker names.

    Args:
        worker: The worker.
        keep_now: Takes an event that must not wait, because the process may end at once.
    """

    def __init__(
        self, worker: Worker, keep_now: Callable[[list[object]], None]
    ) -> None:
        self._worker, self._keep_now = worker, keep_now
        self._taken: deque[list[object]] = deque(maxlen=_MOST + _KEPT)
        self._newest: deque[list[object]] = deque(maxlen=_KEPT)
        self._counts = Counter[str]()
        self._removed = RemovedFiles()

    def start(self) -> None:
        """Begin to listen."""
        _listeners.append(self)
        remember_directory()
        programs.report_to(_note_program, subject_of=_key_of_thread)
        os_calls.listen(_heard)

    def stop(self) -> None:
        """Stop watching calls; rows that were held back in a flood can be taken now."""
        if self in _listeners:
            programs.report_unreaped()
            _listeners.remove(self)
        if not _listeners:
            # Of whoever uses this cluster next, nothing is noted.
            programs.report_to(None, subject_of=_key_of_thread)
            os_calls.listen(None)
            programs.forget()
        self._taken.extend(self._newest)
        self._newest.clear()

    def taken(self) -> list[list[object]]:
        """Return the events since the last call."""
        rows = list[list[object]]()
        while self._taken:
            rows.append(self._taken.popleft())
        return rows

    def keep_later(self, row: list[object]) -> None:
        """Have an event returned by the next `taken`."""
        self._taken.append(row)

    def failed(self, error: BaseException | None, message: str) -> str | None:
        """Note a task that failed; return the path that it did not find, if it did not.

        Args:
            error: What it raised.
            message: Its text.
        """
        for each in self._removed.named_in(message):
            self._taken.append(_row(*each.row(), kind="file-removed"))
        return missing_file_of(error)

    def key_of_thread(self) -> str | None:
        """Return the key of the task that the calling thread runs, or None."""
        key = self._worker.active_threads.get(threading.get_ident())
        return None if key is None else str(key)

    def take(self, at: float, kind: str, key: str, detail: dict[str, object]) -> None:
        """Note an act of a task."""
        row = _row(at, key, detail, kind=kind)
        self._counts[kind] += 1
        (self._taken if self._counts[kind] <= _MOST else self._newest).append(row)

    def signalled(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        """Note a signal that is about to be sent, unless to a program of this process."""
        target, number = int(args[0]), int(args[1])
        group = event == "os.killpg" or target <= 0
        target = abs(target) or os.getpgid(0)
        sender, key = innermost_user_frame(frame, stop=_DASKS), self.key_of_thread()
        if not number or sender is None or parent_of(target) == os.getpid():
            return
        self._counts["task-signalled"] += 1
        if self._counts["task-signalled"] > _MOST:
            return
        detail = {
            "pid": os.getpid(),
            "target": target,
            "group": group,
            "signal": signal.Signals(number).name,
            **place_of(sender),
        }
        subject = key or str(self._worker.address)
        self._keep_now(_row(time.time(), subject, detail, kind="task-signalled"))

    def removed(
        self, event: str, args: tuple[Any, ...], frame: FrameType, key: str
    ) -> None:
        """Note a removal by a task."""
        removed = self._removed.take(event, args, frame, key)
        if removed is not None:
            at, subject, detail = removed.row()
            self.take(at, "file-removed", subject, detail)


def missing_file_row(key: str, path: str, drivers: str = "") -> list[object]:
    """Return the event of a file that a task did not find; asks the file system.

    Args:
        key: Of the task.
        path: As it was named.
        drivers: The driver's working directory.

    Raises:
        OSError: The file system does not answer.
    """
    return _row(
        time.time(), key, missing_file_facts(path, drivers), kind="missing-file"
    )


def _row(
    at: float, subject: str, detail: dict[str, object], *, kind: str
) -> list[object]:
    return [at, kind, subject, json.dumps(detail)]


def _heard(event: str, args: tuple[Any, ...], frame: FrameType) -> None:
    try:
        if event == os_calls.STARTED:
            programs.started_by(args[0], frame)
            return
        if event in _SIGNALS:
            if event == "os.kill":
                _ended.append(int(args[0]))
            for listener in tuple(_listeners):
                if len(_listeners) == 1 or listener.key_of_thread() is not None:
                    listener.signalled(event, args, frame)
            return
        for listener in tuple(_listeners):
            if (key := listener.key_of_thread()) is not None:
                if event == os_calls.MOVED:
                    note_directory_change(frame, key)
                else:
                    listener.removed(event, args, frame, key)
    except Exception:  # an error here would stop the user's own call
        pass


def _key_of_thread() -> str | None:
    keys = (each.key_of_thread() for each in tuple(_listeners))
    return next((key for key in keys if key is not None), None)


def _note_program(at: float, key: str, detail: dict[str, object]) -> None:
    if detail["program_pid"] in _ended:
        return  # what the task's own code ended has not failed
    for listener in tuple(_listeners):
        listener.take(at, "program-failed", key, detail)
