"""Waiting for what a real server does in its own time: for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["flag_of", "until"]


def until(
    condition: Callable[[], Any],
    timeout: float = 120.0,
    *,
    describe: Callable[[], object] = lambda: "it never came",
) -> Any:
    """Return what `condition` answers once that is something.

    Args:
        condition: Asked again and again.
        timeout: Seconds after which the test fails.
        describe: What the test then shows.
    """
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        assert time.monotonic() < deadline, describe()
        time.sleep(0.2)
    return answer


def flag_of(
    file: Path, *, describe: Callable[[], object] = lambda: "no flag was written"
) -> str:
    """Return what a task has written into a file, once it is there.

    Args:
        file: Which the task was given.
        describe: What the test shows if it never comes.
    """
    return str(until(lambda: file.exists() and file.read_text(), describe=describe))
