"""The working directory of this process, and the line of the user's code that changed it last.

It belongs to the process: a task that changes it changes it for all later tasks there.
"""

from __future__ import annotations

import os
import time
from types import FrameType
from typing import NamedTuple

from .user_frames import calling_frame, place_of

_THROUGH = (f"{os.sep}contextlib.py",)


class _Change(NamedTuple):
    at: float
    subject: str
    place: dict[str, object]


_began: str | None = None
_newest: _Change | None = None


def current() -> str | None:
    """Return the working directory, or None if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def absolute(path: str) -> str:
    """Return an absolute path; a relative one as it is where its directory is gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def begin() -> None:
    """Remember where this process works, once."""
    global _began  # noqa: PLW0603 - one for each process
    if _began is None:
        _began = current()


def changed(frame: FrameType | None, subject: str) -> None:
    """Note that the directory has been changed, if the user's own code did it.

    Args:
        frame: Of the call.
        subject: Whose code that is: `driver`, or the key of a task.
    """
    global _newest  # noqa: PLW0603 - one for each process
    own = calling_frame(frame, _THROUGH)
    if own is not None:
        _newest = _Change(time.time(), subject, place_of(own))


def change_for(path: str) -> dict[str, object] | None:
    """Return the fields of an `events.DirectoryChange`, or None where there was none.

    Args:
        path: A relative path that does not exist.
    """
    now = current()
    if _began is None or _newest is None or now == _began:
        return None
    return {
        "before": _began,
        "now": now,
        "exists": os.path.lexists(os.path.join(_began, path)),
        "at": _newest.at,
        "subject": _newest.subject,
        **_newest.place,
    }
