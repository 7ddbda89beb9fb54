"""Frames of the user's own code, in this process."""

from __future__ import annotations

import os
from types import FrameType

_DEEPEST = 200
FOREIGN = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python", "<frozen")
"""Parts of the paths of files that are not the user's own."""
_OURS = (f"dask_blackbox{os.sep}", "<dask-blackbox ")


def users_frame(frame: FrameType | None, stop: str = "") -> FrameType | None:
    """Return the innermost frame of the user's own; None if Dask's own code comes before.

    Args:
        frame: Where to begin.
        stop: A part of the names of files at which to give up.
    """
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        name = frame.f_code.co_filename
        if stop and stop in name:
            return None
        if not any(part in name for part in (*_OURS, *FOREIGN)):
            return frame
        frame = frame.f_back
    return None


def calling_frame(
    frame: FrameType | None, through: tuple[str, ...]
) -> FrameType | None:
    """Return the user's frame that called a function of the standard library, or None.

    What another library calls for reasons of its own is not the user's act.

    Args:
        frame: Where to begin.
        through: Ends of the names of files of the standard library that may lie between.
    """
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        name = frame.f_code.co_filename
        if not name.endswith(through) and not any(part in name for part in _OURS):
            return None if any(part in name for part in FOREIGN) else frame
        frame = frame.f_back
    return None


def place_of(frame: FrameType | None) -> dict[str, object]:
    """Return file, line and function of a frame, for an event."""
    if frame is None:
        return {"file": None, "line": None, "function": None}
    code = frame.f_code
    return {"file": code.co_filename, "line": frame.f_lineno, "function": code.co_name}
