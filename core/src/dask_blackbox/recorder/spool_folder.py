"""Where spools are: for whoever starts a recorder, without what a recorder itself needs."""

from __future__ import annotations

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
