"""Lines that the driver prints, a limited number of them in each second."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from itertools import count
from typing import Any

from ..logs import LogTap, TakePrinted

_A_SECOND = 100
_MOST_STREAMS = 10
_ROLE = "driver"
_Line = tuple[float, str, int, str, int]


class PrintedLines:
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
        self._tap.take(at, _ROLE, name, level, text, thread)


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
