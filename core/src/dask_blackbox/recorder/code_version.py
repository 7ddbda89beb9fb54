"""The version of the job's code that a driver runs, according to git."""

from __future__ import annotations

import subprocess

_TIMEOUT = 5.0


def version_of_code(folder: str) -> dict[str, object]:
    """Return the git commit of a folder, and whether its files differ from that.

    The recorder asks: a child process of the driver would be returned by its `os.wait()`.
    """
    found = (_git(folder, "log", "-1", "--format=%H%n%cI") or "").split()
    status = _git(folder, "status", "--porcelain", "-uno")
    commit = {"commit": found[0], "committed": found[1]} if len(found) > 1 else None
    return {"git": commit, "dirty": None if status is None else bool(status.strip())}


def _git(folder: str, *words: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", folder, *words]
    try:
        return subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_TIMEOUT, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
