"""Methods of actors that run for long: Dask reports nothing of them, as they are no tasks."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..user_frames import innermost_user_frame, place_of

if TYPE_CHECKING:
    from types import FrameType

    from distributed import Worker

_EVERY = 1.0  # seconds between two looks
_LONG = 5.0
_MOST = 100
_DEEPEST = 200
_ACTORS = f"{os.sep}distributed{os.sep}actor.py"


class ActorMethods:
    """Watches the threads in which a worker runs methods of its actors.

    A method is reported after 5 s, then each time that its time has doubled, and once more
    when it has returned; of a worker, 100 reports are made.

    Args:
        worker: The worker.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._looked_at = 0.0
        self._calls: dict[int, _Call] = {}
        self._reports = 0

    def rows(self) -> list[list[object]]:
        """Return the events of this moment (called often, in a thread of our own)."""
        now = time.time()
        if self._reports >= _MOST:
            self._calls.clear()  # a bound method keeps its actor
            return []
        if now - self._looked_at < _EVERY:
            return []
        self._looked_at = now
        before, self._calls = self._calls, {}
        rows = list[list[object]]()
        # What a thread runs for a task has the key of that task.
        tasks, active = self._worker.state.tasks, self._worker.active_threads.copy()
        methods = {thread: str(k) for thread, k in active.items() if k not in tasks}
        frames = sys._current_frames() if methods else {}
        for thread, name in methods.items():
            # Dask keeps the name of a method that raised an exception for its thread.
            if (frame := _frame_of_call(frames.get(thread))) is None:
                continue
            bound, call = frame.f_locals.get("func"), before.get(thread)
            if call is None or call.bound is not bound:
                call = _Call(name, bound, now)
            self._calls[thread] = call
            if now - call.since >= call.next_after:
                call.next_after = 2 * (now - call.since)
                rows.append(self._row(call, now, frames[thread]))
        rows += [
            self._row(call, now, None)
            for thread, call in before.items()
            if self._calls.get(thread) is not call and call.next_after > _LONG
        ]
        self._reports += len(rows)
        return rows

    def _row(self, call: _Call, now: float, frame: FrameType | None) -> list[object]:
        fields: dict[str, object] = {
            "method": call.name,
            "since": call.since,
            "returned": frame is None,
            "calls_actor": any(
                each.f_code.co_filename.endswith(_ACTORS) for each in _callers(frame)
            ),
            **place_of(innermost_user_frame(frame)),
        }
        address = str(self._worker.address)
        return [now, "actor-method", address, json.dumps(fields)]


class _Call:
    """A call of a method that runs, and after how many seconds it is reported next.

    Each call has a bound method of its own, which is the only trace of which call it is.
    """

    def __init__(self, name: str, bound: object, since: float) -> None:
        self.name, self.bound, self.since = name, bound, since
        self.next_after = _LONG


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    for _ in range(_DEEPEST):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _frame_of_call(frame: FrameType | None) -> FrameType | None:
    """Return the frame in which Dask calls a method of an actor, or None."""
    found = (each for each in _callers(frame) if each.f_code.co_name == "_run_actor")
    return next(found, None)
