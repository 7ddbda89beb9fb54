"""One execution of a task: its parts, and its exception as far as the scheduler knows it."""

from __future__ import annotations

import pickle
from typing import Any

from .classes import qualified
from .logs import words_of


def split(startstops: Any) -> tuple[float | None, ...]:
    """Return start, stop and the seconds of compute, transfer, disk, deserialize."""
    if not startstops:
        return (None, None, 0.0, 0.0, 0.0, 0.0)
    if len(startstops) == 1 and startstops[0]["action"] == "compute":  # by far the most
        begin, end = startstops[0]["start"], startstops[0]["stop"]
        return (begin, end, end - begin, 0.0, 0.0, 0.0)
    compute = transfer = disk = deserialize = 0.0
    begin, end = startstops[0]["start"], startstops[0]["stop"]
    for part in startstops:
        start, stop, action = part["start"], part["stop"], part["action"]
        begin, end = min(begin, start), max(end, stop)
        if action == "compute":
            compute += stop - start
        elif action == "transfer":
            transfer += stop - start
        elif action == "deserialize":
            deserialize += stop - start
        else:
            disk += stop - start
    return (begin, end, compute, transfer, disk, deserialize)


def texts(facts: dict[str, object]) -> tuple[str, str, str]:
    """Return class, message and traceback of an exception of which only texts are known."""
    text = str(facts.get("exception_text") or "")
    name, bracket, rest = text.partition("(")
    message = rest.rstrip(")").strip("'\"") if bracket else text
    return name or "Exception", message, str(facts.get("traceback_text") or "")


def scheduler_exception(pickled: bytes) -> tuple[str, str]:
    """Return class and text of an exception that this very scheduler has pickled."""
    try:
        error = pickle.loads(pickled)
    except Exception as problem:
        return "Exception", f"could not be read: {problem!r}"
    return qualified(type(error)), words_of(error)
