"""What a command writes to standard error: passed on at once, and the last lines kept."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import threading
import time
from collections import deque

__all__ = ["ErrorOutput"]

_LINES, _LONGEST, _AT_ONCE = 200, 4_000, 65_536
_DRAINING = 1.0
"""Seconds to wait for a command's children that still hold its standard error."""


class ErrorOutput:
    """The standard error of a command that is about to run.

    A command that would have had a terminal gets one: colours and progress bars stay.

    Attributes:
        writes_to: The file descriptor for the command; None: that of this process.
    """

    def __init__(self) -> None:
        self.writes_to: int | None = None
        self._lines: deque[tuple[float, str]] = deque(maxlen=_LINES)
        self._rest = b""
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

        try:
            self._ours = sys.stderr.fileno()
            self._reads, self.writes_to = self._pair()
        except (OSError, ValueError, AttributeError, termios.error):
            return  # closed, or no file: nothing is kept

    def _pair(self) -> tuple[int, int]:
        if not os.isatty(self._ours):
            return os.pipe()
        reads, writes = os.openpty()
        settings = termios.tcgetattr(writes)
        settings[1] &= ~termios.OPOST  # our own terminal does that
        termios.tcsetattr(writes, termios.TCSANOW, settings)
        size = fcntl.ioctl(self._ours, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(writes, termios.TIOCSWINSZ, size)
        return reads, writes

    def started(self) -> None:
        """Begin to read: the command has its end."""
        if self.writes_to is not None:
            os.close(self.writes_to)
            self._thread.start()

    def ended(self) -> list[list[object]]:
        """Return the last lines as rows of `log`, the command having exited."""
        if self._thread.ident is not None:
            self._thread.join(_DRAINING)
        pid = os.getpid()
        lines = [*self._lines]
        if self._rest:
            lines.append((time.time(), _text(self._rest)))
        parts = [(at, text) for at, text in lines if text.strip()]
        return [
            [at, "driver", "driver", pid, seq, "stderr", 20, text, None]
            for seq, (at, text) in enumerate(parts)
        ]

    def _pass_on(self) -> None:
        while True:
            try:
                got = os.read(self._reads, _AT_ONCE)
            except OSError:  # of a terminal: everybody has closed it
                got = b""
            if not got:
                return
            self._keep(got)
            try:
                while got:
                    got = got[os.write(self._ours, got) :]
            except OSError:  # nobody reads ours; the command need not know
                continue

    def _keep(self, got: bytes) -> None:
        *whole, rest = (self._rest + got).split(b"\n")
        now = time.time()
        self._lines.extend((now, _text(line)) for line in whole)
        self._rest = rest[-_LONGEST:]


def _text(line: bytes) -> str:
    # A progress bar writes one line again and again: its last state counts.
    last = line.rstrip(b"\r").rpartition(b"\r")[2]
    return last[:_LONGEST].decode(errors="replace")
