"""Lines that tasks print, on their way into the ring and to the scheduler.

Tasks that print in a loop wait for this, so it is one function with few calls: what lines
have in common is looked up and encoded before.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Callable

from ..logs import LONGEST, PROCESS, LogTap, TakePrinted, cut, plain
from ..masked_values import OwnSecrets
from ..redaction import BLANK
from .ring import Ring, quoted

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Worker

_ROLE = "worker"


class PrintedLines:
    """Takes the lines that the tasks of a worker print.

    Args:
        secrets: Of this process; adding one sets its `until` to 0.
        ring: Where lines go at once.
        lock: Held while writing to the ring.
        waiting: Where they wait to be shipped.
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
        waiting: deque[tuple[str, list[object]]],
        most: int,
        wake: Callable[[], None],
    ) -> None:
        self._worker, self._tap, self._secrets = worker, tap, secrets
        self._ring, self._lock, self._waiting = ring, lock, waiting
        self._most, self._wake = most, wake
        self.dropped = 0
        """How many did not fit since the reader reset it to zero (with the lock)."""

    def taking(self, logger: str, level: int) -> TakePrinted:
        """Return what takes the lines of a stream, given its name and their level."""
        worker, tap, secrets = self._worker, self._tap, self._secrets
        acquire, release = self._lock.acquire, self._lock.release
        waiting, most, longest = self._waiting, self._most, LONGEST
        process, role = PROCESS, _ROLE
        active, now, wake = worker.active_threads, time.time, self._wake
        known: tuple[object, str | None, str] = (None, None, "null")
        source, numbers = tap.numbered(role)
        pid = os.getpid()
        write = self._ring.printing(
            '["log", ', f"e-6, {quoted(role)}, {quoted(source)}, {pid}, ",
            f", {quoted(logger)}, {level}, ",
        )  # fmt: skip

        def take(text: str, thread: int) -> None:
            nonlocal known
            if process[0] != pid or text.isspace():
                return
            if not text.isascii() or len(text) > longest:
                text = plain(cut(text, longest))
            at = now()
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
            mine, task = known, active.get(thread)
            if mine[0] is not task:
                key = str(task)
                known = mine = (task, key, quoted(key))
            number = next(numbers)
            acquire()  # `with` takes half as long again
            try:
                write(at, number, text, mine[2])
                if len(waiting) < most:
                    row = [at, role, source, pid, number, logger, level, text, mine[1]]
                    waiting.append(("log", row))
                else:
                    self.dropped += 1
            finally:
                release()
            if task is None:
                wake()

        return take
