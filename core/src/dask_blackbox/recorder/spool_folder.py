"""Where spools are, and which process works on one: one at a time.

The lock is the kernel's, because it ends with its process, however that ends, and because
it holds for processes of other containers that share the folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def default_spool() -> Path:
    """Return the folder that holds the spools of this user's recordings."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"dask-blackbox-{user}"
    if _has_other_owner(folder):  # who might read what lies there
        folder = Path("~/.cache/dask-blackbox").expanduser()
    return folder / "spool"


def _has_other_owner(folder: Path) -> bool:
    try:
        reported = folder.lstat()
    except OSError:
        return False
    ours = not hasattr(os, "getuid") or reported.st_uid == os.getuid()
    return not (ours and stat.S_ISDIR(reported.st_mode))


_NAME = "recorder.pid"


class Claim:
    """The right to work on a spool folder, until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._file: int | None = None
        self.ours = self._taken(folder)

    def _taken(self, folder: Path) -> bool:
        try:
            file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            return False
        except OSError:  # where nothing can be written, nothing can be claimed either
            return True
        self._file = file
        if not _locked(file):
            self.release()
            return False
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.write(file, f"{os.getpid()}".encode())  # for people who look
        return True

    def release(self) -> None:
        """Let others work on it."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def claimed(folder: Path) -> bool:
    """Return whether somebody works on a folder, this process included."""
    try:
        file = os.open(folder / _NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _locked(file)
    finally:
        os.close(file)


def _locked(file: int) -> bool:
    """Lock a file; False if somebody else has. File systems without locks lock nothing."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
