"""Files that the user's own code removes or renames, and files that it does not find.

A relative path depends on the working directory, which belongs to the process: a task that
changes it changes it for all later tasks there.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from collections import deque
from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

from .exceptions import message_of
from .user_frames import calling_frame, place_of

_CHANGED_THROUGH = (f"{os.sep}contextlib.py",)
_MOST_CHAINED = 20
_DEEPEST = 60
_MOST_ENTRIES = 1_000
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where Linux has it
_QUOTED = re.compile(r"['\"](?P<path>(?:/|\.{0,2}/)[^'\"\n]+)['\"]")


def missing_file_of(error: BaseException | None) -> str | None:
    """Return the path that an exception, or one that it follows from, did not find.

    A name without folder and extension is a program's, and None is returned for it.

    Args:
        error: The exception, as it was raised.
    """
    for _ in range(_MOST_CHAINED):
        if error is None:
            return None
        if isinstance(error, FileNotFoundError):
            path = _path_of(error)
            return path if path and (os.sep in path or "." in path) else None
        error = error.__cause__ or error.__context__
    return None


def _path_of(error: FileNotFoundError) -> str | None:
    named = error.filename
    if isinstance(named, str) and _is_shared_memory(error):
        return os.path.join(_SHARED_MEMORY, named.lstrip("/"))
    if error.errno == errno.ENOENT and isinstance(named, str | bytes | os.PathLike):
        return os.fsdecode(named)
    quoted = _QUOTED.search(message_of(error))  # Arrow sets no file name
    return None if quoted is None else quoted["path"]


def _is_shared_memory(error: BaseException) -> bool:
    """Return whether the name is that of a block of shared memory, which Linux has as a file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        trace is not None
        and trace.tb_frame.f_code.co_filename.endswith("/shared_memory.py")
        and os.path.isdir(_SHARED_MEMORY)
    )


def missing_file_facts(path: str, drivers: str = "") -> dict[str, object]:
    """Return the fields of an `events.MissingFile`; asks the file system, and may block.

    Args:
        path: As it was named, relative to the working directory of this process.
        drivers: The driver's working directory, if this is another process.

    Raises:
        OSError: The file system does not answer.
    """
    full = _absolute(path)
    relative = not os.path.isabs(path)
    moved = _directory_change_for(path) if relative else None
    found = {"path": full, "relative": relative, "moved": moved}
    if relative and drivers and os.path.lexists(os.path.join(drivers, path)):
        found["with_driver"] = os.path.join(drivers, path)
    if not os.path.isabs(full):  # the working directory is gone
        return {**found, "exists": False}
    folder = os.path.dirname(full)
    for _ in range(_DEEPEST):
        if os.path.isdir(folder) or folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    with os.scandir(folder) as entries:
        number = sum(1 for _ in islice(entries, _MOST_ENTRIES))
    return {
        **found,
        "exists": os.path.lexists(full),
        "folder": folder,
        "changed": os.stat(folder).st_mtime,
        "entries": number,
    }


EVENTS = {
    "os.remove": "removed",
    "os.rename": "renamed",
    "os.rmdir": "removed",
    "shutil.rmtree": "removed",
}
"""The interpreter's audit events, and what they do to their first argument."""

_MOST = 2_000
_SHORTEST = 4
_THROUGH = tuple(
    f"{os.sep}{name}" for name in ("shutil.py", "pathlib.py", "tempfile.py")
)
_NAMED = re.compile(r"[^\s'\"`<>|:,;()\[\]{}]{4,}")
_MOST_NAMES = 200
_MOST_TEXT = 20_000


class Removed(NamedTuple):
    """What was removed or renamed, by which line and when."""

    path: str
    action: str
    place: dict[str, object]
    subject: str
    at: float

    def row(self) -> tuple[float, str, dict[str, object]]:
        """Return time, subject and fields of an `events.FileRemoved`."""
        return (
            self.at,
            self.subject,
            {"path": self.path, "action": self.action, **self.place},
        )


class RemovedFiles:
    """The newest removals, until an error names one of them."""

    def __init__(self) -> None:
        self._newest: deque[Removed] = deque(maxlen=_MOST)
        self._lock = threading.RLock()  # a signal's handler may remove files, too

    def take(
        self,
        event: str,
        args: tuple[Any, ...],
        frame: FrameType | None,
        subject: str = "driver",
    ) -> Removed | None:
        """Note an audit event and return it, if the user's own code removes the file.

        Args:
            event: Its name, one of `EVENTS`.
            args: Its arguments, the path first.
            frame: Of the call.
            subject: Whose code that is: `driver`, or the key of a task.
        """
        # The files of a folder that `shutil.rmtree` removes are not noted one by one.
        inside = frame is not None and frame.f_code.co_filename.endswith("shutil.py")
        if inside and event in ("os.remove", "os.rmdir"):
            return None
        own = calling_frame(frame, _THROUGH)
        if own is None or not isinstance(args[0], bytes | str | os.PathLike):
            return None
        path = _absolute(os.fsdecode(args[0]))
        if len(path) < _SHORTEST:
            return None
        removed = Removed(path, EVENTS[event], place_of(own), subject, time.time())
        with self._lock:
            self._newest.append(removed)
        return removed

    def named_in(self, text: str) -> list[Removed]:
        """Return what was removed and is named in a text, each once.

        Args:
            text: Of an exception.
        """
        if not self._newest:
            return []
        paths = set[str]()
        for name in _NAMED.findall(text[:_MOST_TEXT])[:_MOST_NAMES]:
            if os.sep in name or "." in name:
                path = _absolute(name)
                while len(path) >= _SHORTEST:
                    paths.add(path)
                    path = os.path.dirname(path)
        with self._lock:
            found = [each for each in self._newest if each.path in paths]
            for each in found:
                self._newest.remove(each)
        return found


class _DirectoryChange(NamedTuple):
    at: float
    subject: str
    place: dict[str, object]


_began_in: str | None = None
_newest_change: _DirectoryChange | None = None


def working_directory() -> str | None:
    """Return the working directory, or None if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _absolute(path: str) -> str:
    """Return an absolute path; a relative one as it is where its directory is gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def remember_directory() -> None:
    """Remember where this process works, once."""
    global _began_in  # noqa: PLW0603 - one for each process
    if _began_in is None:
        _began_in = working_directory()


def note_directory_change(frame: FrameType | None, subject: str) -> None:
    """Note that the directory has been changed, if the user's own code did it.

    Args:
        frame: Of the call.
        subject: Whose code that is: `driver`, or the key of a task.
    """
    global _newest_change  # noqa: PLW0603 - one for each process
    own = calling_frame(frame, _CHANGED_THROUGH)
    if own is not None:
        _newest_change = _DirectoryChange(time.time(), subject, place_of(own))


def _directory_change_for(path: str) -> dict[str, object] | None:
    """Return the fields of an `events.DirectoryChange`, or None where there was none.

    Args:
        path: A relative path that does not exist.
    """
    now = working_directory()
    if _began_in is None or _newest_change is None or now == _began_in:
        return None
    return {
        "before": _began_in,
        "now": now,
        "exists": os.path.lexists(os.path.join(_began_in, path)),
        "at": _newest_change.at,
        "subject": _newest_change.subject,
        **_newest_change.place,
    }
