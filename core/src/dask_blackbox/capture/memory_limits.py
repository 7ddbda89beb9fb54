"""What limits the memory of this process: host, cgroup and soft limits are four different facts.

Dask takes the least of them for the memory of the host, with `ulimit -m`, which Linux ignores.
The limit of a job is its queue's to say.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

if sys.platform != "win32":
    import resource

_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_V1, _V2 = PurePosixPath("/sys/fs/cgroup/memory"), PurePosixPath("/sys/fs/cgroup")
_FILES = ("memory.max", "memory.limit_in_bytes")


def cgroups(pid: int | str = "self") -> Iterator[PurePosixPath]:
    """Yield the folders of the cgroups (version 2 and 1) that account for a process's memory.

    Its own first.  A container sees its own cgroup as the root, whatever its path is outside.
    """
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            entries = [line.rstrip("\n").split(":", 2) for line in file]
    except (OSError, ValueError):
        entries = []
    for entry in entries:
        if len(entry) == 3 and (not entry[1] or "memory" in entry[1].split(",")):  # noqa: PLR2004
            root = _V1 if entry[1] else _V2
            own = root / entry[2].lstrip("/")
            yield own
            yield from (each for each in own.parents if each.is_relative_to(root))
    yield from (_V2, _V1)


def memory_limits() -> dict[str, int]:
    """Return what limits the memory of this process, in bytes, by name.

    Returns:
        `host`: what the machine has; `cgroup`: the least limit of its cgroups, if that is less;
        `ulimit -v` and `ulimit -d`: of its address space, and its data, if they are limited.
    """
    if sys.platform == "win32":
        return {}
    found = {"host": os.sysconf("SC_PHYS_PAGES") * _PAGE_SIZE}
    limits = [each for folder in cgroups() for each in _limit_in(folder)]
    found |= (
        {"cgroup": min(limits)}
        if min(limits, default=found["host"]) < found["host"]
        else {}
    )
    for name, kind in (
        ("ulimit -v", resource.RLIMIT_AS),
        ("ulimit -d", resource.RLIMIT_DATA),
    ):
        soft = resource.getrlimit(kind)[0]
        if soft != resource.RLIM_INFINITY:
            found[name] = soft
    return found


def _limit_in(folder: PurePosixPath) -> Iterator[int]:
    for name in _FILES:
        try:
            with open(folder / name, encoding="ascii") as file:
                yield int(file.read(32))  # `max` is no number
        except (OSError, ValueError):
            continue
