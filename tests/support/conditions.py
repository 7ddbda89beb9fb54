"""Waits for a condition of a real server, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["flag_of", "until"]


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
        timeout: Seconds after which the test fails.
        interval: Seconds between calls: more, if they ask a server.
        describe: Returns what the test shows then.
    """
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > deadline:
            message = f"waited {timeout:.0f} s for {what}\n{describe()}"
            raise AssertionError(message.rstrip())
        time.sleep(interval)
    return found


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
