"""Which frames are of the user's own code."""

from __future__ import annotations

import os
import re
from types import FrameType

_DEEPEST = 200
_FOREIGN = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python", "<frozen")
_OURS = re.compile(r"[/\\](?:airflow_|prefect_)?dask_blackbox[/\\]|<dask-blackbox ")
_SCRIPT = re.compile(r".*[\\/](?:bin|Scripts)[\\/][^.\\/]+(?:\.exe)?")
_CALL = re.compile(r"(?:sys\.exit|raise SystemExit)\([\w.]+\(\)\)")


def is_ours(file: str) -> bool:
    """Return whether a file is of this package or of its integrations."""
    return _OURS.search(file) is not None


def is_foreign(file: str) -> bool:
    """Return whether a file is of Python or of an installed package."""
    return any(part in file for part in _FOREIGN)


def is_console_script(file: str, function: str, code: str) -> bool:
    """Return whether a frame is the one line of a script that an installer generated.

    Such scripts (`airflow` in `bin`) lie in no library, and what they call is no code of the job's.

    Args:
        file: Path of the frame's code.
        function: Its name.
        code: The line.
    """
    return (
        function == "<module>"
        and _SCRIPT.fullmatch(file) is not None
        and _CALL.fullmatch(code.strip()) is not None
    )


def innermost_user_frame(frame: FrameType | None, stop: str = "") -> FrameType | None:
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
        if not is_ours(name) and not is_foreign(name):
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
        if not name.endswith(through) and not is_ours(name):
            return None if is_foreign(name) else frame
        frame = frame.f_back
    return None


def place_of(frame: FrameType | None) -> dict[str, object]:
    """Return file, line and function of a frame, for an event."""
    if frame is None:
        return {"file": None, "line": None, "function": None}
    code = frame.f_code
    return {"file": code.co_filename, "line": frame.f_lineno, "function": code.co_name}
