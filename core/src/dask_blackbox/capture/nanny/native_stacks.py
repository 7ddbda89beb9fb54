"""What a process does in native code, by py-spy where the user has installed and allowed it.

Python's own stacks end where native code begins.  py-spy stops the process for some
milliseconds to read its memory, so it is asked only about a worker that does not answer, and
only if `blackbox.capture.native-stacks` is set.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

from ..overload import extended

_TIMEOUT = 8.0  # extended on an overloaded host
_MOST_FRAMES, _LONGEST, _MOST_BYTES = 20, 160, 4 * 2**20


def native_stack(pid: int, busy: object = None) -> dict[str, object]:
    """Return the fields of `ProcessState` on what a thread of a process does.

    It is the thread that has Python's lock, else the one that computed, else one that runs.

    Args:
        pid: Of the process, which descends from this one.
        busy: Native id of the thread that computed; None: none is known.
    """
    beside = os.path.dirname(sys.executable)
    places = os.pathsep.join((beside, os.environ.get("PATH", os.defpath)))
    command = shutil.which("py-spy", path=places)
    if command is None:
        return {"native_failed": "py-spy is not installed in the worker's environment"}
    try:
        done = subprocess.run(  # noqa: S603 - the user's own py-spy
            [command, "dump", "--native", "--json", "--pid", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=extended(_TIMEOUT),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"native_failed": f"py-spy: {error}"[:_LONGEST]}
    if done.returncode:
        lines = done.stderr[-_LONGEST * 4 :].decode("utf-8", "replace").split("\n")
        said = next((line.strip() for line in lines if line.strip()), "it failed")
        return {"native_failed": f"py-spy: {said}"[:_LONGEST]}
    if len(done.stdout) > _MOST_BYTES:
        return {"native_failed": "py-spy printed too much"}
    try:
        return {"native": _frames(json.loads(done.stdout), busy)}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return {"native_failed": f"py-spy printed something else: {error}"[:_LONGEST]}


def _frames(threads: list[dict[str, Any]], busy: object) -> list[str]:
    """Return the frames of one thread, the innermost first."""

    def rank(thread: dict[str, Any]) -> tuple[bool, bool, bool]:
        is_busy = busy is not None and thread.get("os_thread_id") == busy
        return bool(thread.get("owns_gil")), is_busy, bool(thread.get("active"))

    chosen = max(threads, key=rank)
    return [_shown(frame) for frame in chosen["frames"][:_MOST_FRAMES]]


def _shown(frame: dict[str, Any]) -> str:
    name, line = str(frame.get("name", "?")), frame.get("line")
    file = frame.get("short_filename") or frame.get("module") or frame.get("filename")
    place = f"{file}:{line}" if line else str(file or "")
    return f"{name} ({place})"[:_LONGEST] if place else name[:_LONGEST]
