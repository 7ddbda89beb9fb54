"""Files and folders with the permissions that they are meant to have, whatever the umask.

`mkdir(parents=True, mode=…)` gives the mode to the last folder only, and the umask takes
from it; a folder in the temporary directory may have been made by somebody else.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
"""The modes of what only its owner may read."""


def make_private_folder(folder: Path) -> None:
    """Make a folder, and the missing ones above it, for this user only: mode 0700.

    Those above that were there before keep their mode; the folder itself becomes private
    if it is this user's.

    Raises:
        OSError: if it cannot be made.
    """
    missing: list[Path] = []
    each = folder
    while not each.exists():
        missing.append(each)
        each = each.parent
    for one in reversed(missing):
        one.mkdir(FOLDER, exist_ok=True)
        close_to_others(one)
    close_to_others(folder)


def close_to_others(folder: Path) -> None:
    """Take all permissions of others from a folder, if it is this user's own."""
    status = folder.stat()
    if status.st_uid == _user() and stat.S_IMODE(status.st_mode) & 0o077:
        folder.chmod(FOLDER)


def is_own_folder(folder: Path) -> bool:
    """Return whether a folder is none yet, or this user's own and no link."""
    try:
        status = folder.lstat()
    except OSError:
        return True
    return stat.S_ISDIR(status.st_mode) and status.st_uid == _user()


def write_private(path: Path, blob: bytes) -> None:
    """Write a file that only its owner may read; links are not followed.

    Raises:
        OSError: if that is not possible.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK, FILE)
    try:
        os.fchmod(file, FILE)
        left = memoryview(blob)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
