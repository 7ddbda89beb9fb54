"""How much of the local disk a recording may take while its store does not."""

from __future__ import annotations

import contextlib
import shutil
import stat
from pathlib import Path

__all__ = ["IN_MEMORY", "quota_for"]

IN_MEMORY = 32 * 2**20
"""Bytes that are held in memory where nothing can be written."""


_SHARE = 10
_LEAST = 8


def quota_for(folder: Path, limit: int) -> int:
    """Return how many bytes the segments of a recording may take in its spool folder.

    All recordings that wait beside it count together against `limit`; but since the
    newest is wanted most, it always has an eighth.  No recording takes more than a tenth
    of what is free when it begins: a full disk would hurt the user more than a gap.  Of
    without any space (a full disk, a file system without files of its own), memory
    holds some.

    Args:
        folder: The recording's own.
        limit: The setting `blackbox.spool-limit`, bytes.
    """
    others = 0
    with contextlib.suppress(OSError):
        for each in folder.parent.iterdir():
            if each != folder:
                others += _size_of(each)
    quota = max(limit - others, limit // _LEAST)
    for place in (folder, *folder.parents):
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(place).free
            return min(quota, free // _SHARE if free else IN_MEMORY)
    return quota


def _size_of(folder: Path) -> int:
    size = 0
    with contextlib.suppress(OSError):
        for each in folder.rglob("*"):
            with contextlib.suppress(OSError):
                reported = each.lstat()
                size += reported.st_size if stat.S_ISREG(reported.st_mode) else 0
    return size
