"""Lines that tasks and the driver print, on their way into the recording."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from itertools import count
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Iterator

from .logs import LONGEST, PROCESS, LogTap, TakePrinted, cut, plain
from .masked_values import OwnSecrets
from .redaction import BLANK
from .worker.ring import Ring, quoted

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Worker

_A_SECOND = 100
_MOST_STREAMS = 10
_Line = tuple[float, str, int, str, int]
_BURST, _SUSTAINED = 5_000, 1_000
"""Lines of a worker that are all recorded at once, and in each second after that."""
_NEWEST = 50
"""Lines that are kept of what is beyond that, each time somebody looks."""
_Record = Callable[[float, int, str, object], None]
"""Records a line: its moment, number and text, and the task that has printed it."""


class WorkerPrintedLines:
    """Takes the lines that the tasks of a worker print.

    Tasks that print in a loop wait for this, so it is one function with few calls: what lines
    have in common is looked up and encoded before.  Beyond `_BURST` lines, and `_SUSTAINED` in
    each second after that, lines are counted, and only the newest are kept, in memory: the
    worker's sampling thread hands them over ten times a second.

    Args:
        secrets: Of this process; adding one sets its `until` to 0.
        ring: Where lines go at once.
        lock: Held while writing to the ring.
        waiting: Where they wait to be shipped, as rows with their kind first.
        most: How many rows may wait there.
        wake: Called for a line that no task printed: the sampling thread may be asleep.
    """

    def __init__(  # noqa: PLR0917
        self,
        worker: Worker,
        tap: LogTap,
        secrets: OwnSecrets,
        ring: Ring,
        lock: threading.Lock,
        waiting: deque[list[object]],
        most: int,
        wake: Callable[[], None],
    ) -> None:
        self._worker, self._tap, self._secrets = worker, tap, secrets
        self._ring, self._lock, self._waiting = ring, lock, waiting
        self._most, self._wake = most, wake
        self.dropped = 0
        """How many did not fit since the reader reset it to zero (with the lock)."""
        self._floods: list[_Flood] = []

    def taking(self, logger: str, level: int) -> TakePrinted:
        """Return what takes the lines of a stream, given its name and their level."""
        _, numbers = self._tap.numbered("worker")
        process, active, now = PROCESS, self._worker.active_threads, time.time
        record, wake = self._recording(logger, level), self._wake
        flood = _Flood(record, numbers)
        count_one, hold = flood.count_one, flood.newest.append
        self._floods.append(flood)
        left, until, pid = _BURST, 0.0, os.getpid()

        def take(text: str, thread: int) -> None:
            nonlocal left, until
            if process[0] != pid or text.isspace():
                return
            at = now()
            if at >= until:
                if not left:
                    flood.end(at)
                left = min(_BURST, left + int((at - until + 1) * _SUSTAINED))
                until = at + 1
            elif not left:
                if at + 1 < until:  # the clock was set back
                    until = at
                count_one()  # no lock for it
                hold((at, next(numbers), text, active.get(thread)))
                return
            left -= 1
            task = active.get(thread)
            record(at, next(numbers), text, task)
            if task is None:
                wake()

        return take

    def _recording(self, logger: str, level: int) -> _Record:
        """Return what records a line of a stream."""
        worker, tap, secrets = self._worker, self._tap, self._secrets
        acquire, release = self._lock.acquire, self._lock.release
        waiting, most, longest = self._waiting, self._most, LONGEST
        role, pid = "worker", os.getpid()
        known: tuple[object, str | None, str] = (None, None, "null")
        source, _ = tap.numbered(role)
        write = self._ring.printing(
            '["log", ', f"e-6, {quoted(role)}, {quoted(source)}, {pid}, ",
            f", {quoted(logger)}, {level}, ",
        )  # fmt: skip

        def record(at: float, number: int, text: str, task: object) -> None:
            nonlocal known
            if not text.isascii() or len(text) > longest:
                text = plain(cut(text, longest))
            if at > secrets.until:
                secrets.look(at)
            if (values := secrets.values) is not None:
                text = values.sub(BLANK, text)
            at += worker.scheduler_delay
            if at < tap.at:
                at = tap.not_before_last(at)
                secrets.until = 0.0  # the clock may have jumped
            else:
                tap.at = at
            before, key, shown = known
            if before is not task:
                key = None if task is None else str(task)
                shown = "null" if key is None else quoted(key)
                known = (task, key, shown)
            acquire()  # `with` takes half as long again
            try:
                write(at, number, text, shown)
                if len(waiting) < most:
                    waiting.append(
                        ["log", at, role, source, pid, number, logger, level, text, key]
                    )
                else:
                    self.dropped += 1
            finally:
                release()

        return record

    @property
    def floods(self) -> bool:
        """Whether lines wait to be handed over by `flush`."""
        return any(flood.newest for flood in self._floods)

    def flush(self, *, end: bool = False) -> None:
        """Hand over the newest lines of a flood.

        Args:
            end: No more come: hand over as well how many were left out.
        """
        for flood in self._floods:
            flood.flush()
            if end:
                flood.end(time.time())


class _Flood:
    """The newest lines of a stream that has more of them than are recorded.

    Each line has its number, so that gaps show how many are missing.

    Args:
        record: Records a line.
        numbers: Of the lines of this process.
    """

    def __init__(self, record: _Record, numbers: Iterator[int]) -> None:
        self._record, self._numbers = record, numbers
        self.newest: deque[tuple[float, int, str, object]] = deque(maxlen=_NEWEST)
        self._count = count()
        self.count_one = self._count.__next__
        """Called for each line that is held; without a lock, it counts all the same."""
        self._known = 0  # of that count: recorded, reported, or our own look at it

    def flush(self) -> None:
        """Record the newest lines."""
        try:
            while True:  # another thread may do the same
                line = self.newest.popleft()
                self._known += 1
                self._record(*line)
        except IndexError:
            return

    def end(self, at: float) -> None:
        """Record the newest lines, and how many were left out."""
        self.flush()
        left_out = next(self._count) - self._known
        self._known += left_out + 1
        if left_out > 0:
            text = (
                f"dask-blackbox: {left_out:,} printed lines are left out here: more than "
                f"{_SUSTAINED:,} a second"
            )
            self._record(at, next(self._numbers), text, None)


class DriverPrintedLines:
    """Takes what the driver prints, and hands it to its tap.

    Of a flood, the first lines of each second are taken, and the newest when it is over; how
    many are left out between is a line, too.

    Args:
        tap: What makes rows of lines.
    """

    def __init__(self, tap: LogTap) -> None:
        self._tap = tap
        self._lock = threading.RLock()  # a signal's handler may print, too
        self._until, self._count = 0.0, 0
        self._newest: deque[_Line] = deque(maxlen=_A_SECOND)
        self._held = count()

    def attach(self) -> None:
        """Listen to standard output."""
        self._tap.attach_streams(self.taking, names=("stdout",))

    def taking(self, name: str, level: int) -> TakePrinted:
        """Return what takes the lines of a stream, given its name and their level."""
        now = time.time

        def take(text: str, thread: int) -> None:
            if _is_shown_for_worker():
                return
            at = now()
            if self._count >= _A_SECOND and at < self._until:  # a flood: no lock for it
                next(self._held)
                self._newest.append((at, name, level, text, thread))
            elif not _is_workers(name):
                self._take((at, name, level, text, thread))

        return take

    def _take(self, line: _Line) -> None:
        with self._lock:
            if line[0] >= self._until:
                self.flush()
                self._until, self._count = line[0] + 1, 0
            self._count += 1
            self._hand_over(line)

    def flush(self) -> None:
        """Hand over the newest lines of a flood, and how many were left out."""
        with self._lock:
            left_out = next(self._held) - len(self._newest)
            self._held = count()
            if left_out > 0:
                at, name, level, _, thread = self._newest[0]
                text = f"… {left_out} more printed lines within a second"
                self._hand_over((at, name, level, text, thread))
            while self._newest:
                self._hand_over(self._newest.popleft())

    def _hand_over(self, line: _Line) -> None:
        at, name, level, text, thread = line
        self._tap.take(at, "driver", name, level, text, thread)


def _is_shown_for_worker() -> bool:
    """Return whether a worker has printed a line that Dask prints in each client, too."""
    frame: FrameType | None = sys._getframe(2)
    while (
        frame is not None and frame.f_code.co_name == "write"
    ):  # one of each recording
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_handle_print"


def _is_workers(name: str) -> bool:
    """Return whether a worker of this process (`processes=False`) records what is printed in it."""
    stream: Any = getattr(sys, name)
    for _ in range(_MOST_STREAMS):
        if getattr(stream, "role", None) == "worker" and not stream.muted:
            return True
        stream = getattr(stream, "inner", None)
        if stream is None:
            break
    return False
