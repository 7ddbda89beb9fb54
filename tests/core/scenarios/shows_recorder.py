"""Report what the recorder of the `dask blackbox run` that has started this is like."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from scenario_reports import recorders, report, until


def ignored(process: Path) -> list[str]:
    """Return the signals that a process ignores, by name."""
    fields = (line.split(":") for line in (process / "status").open())
    mask = next(int(value, 16) for name, value in fields if name == "SigIgn")
    return [each.name for each in signal.Signals if mask >> (each - 1) & 1]


def opened(process: Path) -> list[str]:
    """Return what a process has opened."""
    found = []
    for each in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            found.append(str(each.readlink()))
    return found


def begun(owner: int) -> int | None:
    """Return the recorder of a process once it has its configuration."""
    for pid in recorders(owner):
        with contextlib.suppress(OSError):  # the one that starts it has just exited
            if "SIGHUP" in ignored(Path(f"/proc/{pid}")):
                return pid
    return None


def recorder_of(owner: int) -> dict[str, Any]:
    """Return what is to be seen of the recorder of a process."""
    pid = until(lambda: begun(owner), "a recorder")
    process = Path(f"/proc/{pid}")
    line = (process / "cmdline").read_text()
    return {
        "words": line.strip("\0").replace("\0", " ").split(),
        "comm": (process / "comm").read_text().strip(),
        "parent": int((process / "stat").read_text().rpartition(")")[2].split()[1]),
        "session": os.getsid(pid),
        "ignored": ignored(process),
        "opened": opened(process),
    }


if __name__ == "__main__":
    runner = os.getppid()
    report(recorder=recorder_of(runner), runner=runner, session=os.getsid(0))
