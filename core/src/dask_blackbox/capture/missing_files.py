"""Where a file that an exception reports as missing should have been, as it was then."""

from __future__ import annotations

import errno
import os
import re
from itertools import islice

from .logs import words_of
from .working_directory import absolute, change_for

_MOST_CHAINED = 20
_DEEPEST = 60
_MOST_ENTRIES = 1_000
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
    if error.errno == errno.ENOENT and isinstance(named, str | bytes | os.PathLike):
        return os.fsdecode(named)
    quoted = _QUOTED.search(words_of(error))  # Arrow sets no file name
    return None if quoted is None else quoted["path"]


def surroundings_of(path: str) -> dict[str, object]:
    """Return the fields of an `events.MissingFile`; asks the file system, and may block.

    Args:
        path: As it was named, relative to the working directory of this process.

    Raises:
        OSError: The file system does not answer.
    """
    full = absolute(path)
    relative = not os.path.isabs(path)
    moved = change_for(path) if relative else None
    found = {"path": full, "relative": relative, "moved": moved}
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
