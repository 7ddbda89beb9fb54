"""Which processes this process descends from, and on which machine it runs.

A scheduler or worker that descends from the driver's process belongs to its script: whatever
ends it when the script ends is no failure.
"""

from __future__ import annotations

import os
from typing import Any

_MOST = 12


def ancestry() -> dict[str, object]:
    """Return `pid`, `ancestors` ([[pid, start time]], the parent first) and `boot`.

    `boot` names the running kernel and the space of process ids: where it is the same, process
    ids and clocks of two processes can be compared.  Empty where the system does not say.
    """
    ancestors: list[list[Any]] = []
    pid = _parent_of("self")
    while pid > 0 and len(ancestors) < _MOST:
        ancestors.append([pid, _stat(pid)[19:20]])
        pid = _parent_of(pid)
    return {
        "pid": os.getpid(),
        "ancestors": [[pid, (started or [None])[0]] for pid, started in ancestors],
        "boot": _boot(),
    }


def _parent_of(pid: int | str) -> int:
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _stat(pid: int | str) -> list[str]:
    """Return the fields of a process after its name, as the kernel prints them."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def _boot() -> str | None:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return None
