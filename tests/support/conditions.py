"""Waits for a condition of a real server, with a deadline as long as the machine needs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["LOAD_FACTOR", "flag_of", "scaled", "until"]

LOAD_FACTOR = max(1.0, float(os.environ.get("TEST_LOAD_FACTOR", "1")))
"""How many times longer than on an idle machine something may take.

`tools/suites.py` measures it once, before the first test.
"""


def scaled(seconds: float) -> float:
    """Return a deadline of an idle machine as one of this machine, in seconds."""
    return seconds * LOAD_FACTOR


def until(
    condition: Callable[[], Any],
    what: str = "a condition",
    *,
    timeout: float = 120.0,
    interval: float = 0.02,
    describe: Callable[[], object] = str,
) -> Any:
    """Return what `condition` returns as soon as it is true.

    Args:
        condition: Called again and again.
        what: What the test waits for, for its message.
        timeout: Seconds after which the test fails, on an idle machine.
        interval: Seconds between calls, at least: one that itself takes time, such as one
            that reads all of /proc, is called for a tenth of the time.
        describe: Returns what the test shows then.
    """
    limit = scaled(timeout)
    deadline = time.monotonic() + limit
    while True:
        asked = time.monotonic()
        if found := condition():
            return found
        now = time.monotonic()
        if now > deadline:
            message = f"waited {limit:.0f} s for {what}\n{describe()}"
            raise AssertionError(message.rstrip())
        time.sleep(max(interval, min(9 * (now - asked), 0.5)))


def flag_of(file: Path, *, describe: Callable[[], object] = str) -> str:
    """Return what a task has written into a file, once it is there.

    Args:
        file: Which the task was given.
        describe: What the test shows if it never comes.
    """
    written = until(
        lambda: file.exists() and file.read_text(),
        f"{file.name}",
        interval=0.2,
        describe=describe,
    )
    return str(written)
