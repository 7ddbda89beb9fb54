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


def is_symptom(exception: str, message: str) -> bool:
    """Say whether an exception may well follow from an earlier one that was swallowed."""
    return bool(_CLASSES.search(class_of(exception)) or _NOTHING.search(message))
