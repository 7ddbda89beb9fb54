"""Exceptions that say what was not there, late or not as expected, and not why."""

from __future__ import annotations

import re

from dask_blackbox.formatting import class_of

_CLASSES = re.compile(
    r"Timeout|TimedOut|Expired|NotFound|DoesNotExist|NoSuch|Missing|^(?:AssertionError|"
    r"SystemExit|KeyError|IndexError|StopIteration|Exception|RuntimeError)$"
)
_NOTHING = re.compile(
    r"NoneType|\bempty\b|\bat least one\b|\bno objects\b|zero-size|not enough values|"
    r"has no attribute",
    re.IGNORECASE,
)
"""What Python and NumPy say of values that are not there."""


_LACKS = re.compile(
    r"\b(?:no|not|none|nan|nothing|only|empty|missing|incomplete|truncated|finite|zero)\b",
    re.IGNORECASE,
)
"""What is said of values that are there in part, or not at all."""

_WAITS = re.compile(
    r"\b(?:timed?[ -]?out|within \d|(?:after|for|in) (?:waiting )?\d[\d.]* ?(?:s|sec\w*|m|min\w*)\b"
    r"|waited|waiting|busy|locked)\b",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(r"Timeout|TimedOut|Expired|^(?:BrokenBarrierError|Empty|Full)$")


def lacks_something(exception: str, message: str) -> bool:
    """Say whether an exception reports that a value is absent, incomplete or late.

    Args:
        exception: Name of its class.
        message: Its text.
    """
    return is_symptom(exception, message) or bool(_LACKS.search(message))


def is_wait(exception: str, message: str) -> bool:
    """Say whether an exception reports that something did not come, or become free, in time.

    Args:
        exception: Name of its class.
        message: Its text.
    """
    return bool(_GIVEN_UP.search(class_of(exception)) or _WAITS.search(message))


def is_symptom(exception: str, message: str) -> bool:
    """Say whether an exception may well follow from an earlier one that was swallowed."""
    return bool(_CLASSES.search(class_of(exception)) or _NOTHING.search(message))
