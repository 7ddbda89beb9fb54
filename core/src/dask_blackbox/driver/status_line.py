"""The progress of a run in the last row of a terminal.

The row is excluded from scrolling, as package managers do it, so that everything that the run
and its processes print appears above it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from dask_blackbox.formatting import duration
from dask_blackbox.guard import guard
from dask_blackbox.settings import setting

if TYPE_CHECKING:
    from dask_blackbox.protocol.messages import Progress

_SAVE, _BACK = "\x1b7", "\x1b8"
_ALL_SCROLLS = "\x1b[r"
_FEWEST_ROWS = 5


class StatusLine:
    """The last row of the terminal that a file descriptor is."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._started = time.monotonic()
        self._rows = 0
        self._lock = threading.Lock()
        self._closed = False

    def show(self, progress: Progress) -> None:
        """Show the progress; called every two seconds, in a thread."""
        with guard("the status line"), self._lock:
            if self._closed:
                return
            columns, rows = os.get_terminal_size(self._descriptor)
            if rows < _FEWEST_ROWS:
                return
            text = progress_text(progress, time.monotonic() - self._started)[
                : columns - 1
            ]
            made = ""
            if rows != self._rows:
                # A new line first, so that text in the last row moves up.
                made = f"\n{_SAVE}\x1b[1;{rows - 1}r{_BACK}\x1b[1A"
                self._rows = rows
            made += f"{_SAVE}\x1b[{rows};1H\x1b[2K\x1b[7m{text}\x1b[0m{_BACK}"
            os.write(self._descriptor, made.encode())

    def close(self) -> None:
        """Restore the terminal's last row."""
        with guard("the status line"), self._lock:
            self._closed = True
            if self._rows:
                last = f"\x1b[{self._rows};1H\x1b[2K"
                os.write(
                    self._descriptor,
                    f"{_SAVE}{_ALL_SCROLLS}{last}{_BACK}".encode(),
                )
                self._rows = 0


def progress_text(progress: Progress, seconds: float) -> str:
    """Return the progress of a run in one line."""
    parts = [f"{progress.finished:,} tasks finished", f"{progress.rate:,.1f} a second"]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    parts.append(
        "1 worker" if progress.workers == 1 else f"{progress.workers:,} workers"
    )
    if progress.memory_limit:
        parts.append(f"memory {progress.memory / progress.memory_limit:.0%}")
    if progress.stall is not None:
        parts.append("stalled")
    return f" recording {duration(seconds)} · {' · '.join(parts)} "


def status_line() -> StatusLine | None:
    """Return the status line of standard error; None where it is not a terminal."""
    from rich.console import Console

    if not setting("progress") or hasattr(sys, "ps1"):
        return None
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal or console.is_jupyter:
        return None
    try:
        return StatusLine(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        return None  # closed, or replaced by something else
