"""Which lines of a command's output are kept for its verdict."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

_FIRST, _LAST, _OF_THREADS = 100, 400, 500
"""Lines that are kept: the first, the last, and those of threads that ended with an exception."""
_THREAD_FAILED = "Exception in thread "
_TRACEBACK = "Traceback (most recent call last):"


class _Line(NamedTuple):
    """A line, its number among all, and when it was written (epoch seconds)."""

    number: int
    at: float
    text: str


class KeptLines:
    """The lines of a program's standard error that may say why it failed.

    The first ones and the last ones; and, as Dask may log much after it, what Python prints
    of a thread that an exception ended.
    """

    def __init__(self) -> None:
        self._first: list[_Line] = []
        self._last: deque[_Line] = deque(maxlen=_LAST)
        self._of_threads: list[_Line] = []
        self._number = 0
        self._in_thread = False

    def add(self, at: float, text: str) -> None:
        """Keep a line, perhaps until others replace it."""
        line = _Line(self._number, at, text)
        self._number += 1
        if len(self._first) < _FIRST:
            self._first.append(line)
        else:
            self._last.append(line)
        begins = text.startswith(_THREAD_FAILED)
        if (begins or self._in_thread) and len(self._of_threads) < _OF_THREADS:
            self._of_threads.append(line)
        # The exception itself is the first line that is not indented.
        goes_on = text.startswith((" ", _TRACEBACK)) or not text
        self._in_thread = begins or (self._in_thread and goes_on)

    def lines(self) -> Iterator[tuple[float, str]]:
        """Yield the lines in their order, and how many are left out between them."""
        following = 0
        for number, at, text in sorted({*self._first, *self._of_threads, *self._last}):
            if left_out := number - following:
                yield at, f"dask-blackbox: {left_out:,} lines are left out here"
            following = number + 1
            yield at, text
