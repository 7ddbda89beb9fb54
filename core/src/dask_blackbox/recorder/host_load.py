"""The load of this host: that of the driver, and of the workers that it starts here.

A start that takes too long is often one for which the host had no core, or no memory.  Nothing of
the cluster can report that as long as no worker has joined.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from dask_blackbox.capture.process import host_cpu, host_swap, stat_fields
from dask_blackbox.events import EventRow

_EVERY, _LEAST = 5.0, 0.5
"""Seconds between two looks, and before the last one."""
_FULL = 0.9
"""Share of the cores in use, or of the time in which all waited for a disk."""
_MUCH_SWAPPED = 2**24  # bytes a look
_MOST_PROCESSES = 4_000
_PARENT, _USED = (
    1,
    slice(11, 15),
)  # user and system time, of itself and of ended children


class HostWatch:
    """Yields a row for each five seconds in which this host was overloaded.

    Args:
        drivers: Process ids of the run, without their descendants.
    """

    def __init__(self, drivers: Iterable[int]) -> None:
        self._before = _Counters(time.monotonic(), *_host(), _used_by(drivers))

    def look(self, drivers: Iterable[int], *, last: bool = False) -> EventRow | None:
        """Look, if it is time for that (reads the disk: not on an event loop).

        Args:
            drivers: Process ids of the run, without their descendants.
            last: Whether the run has ended.
        """
        before, now = self._before, time.monotonic()
        seconds = now - before.at
        if seconds < (_LEAST if last else _EVERY):
            return None
        counters = _Counters(now, *_host())
        used = _more(before.busy, counters.busy) + _more(before.stolen, counters.stolen)
        full = used >= _FULL * seconds * (os.cpu_count() or 1)
        if full:  # only then: each process of the host is asked
            counters = counters._replace(own=_used_by(drivers))
        self._before = counters
        waited = _more(before.disk_waits, counters.disk_waits) >= _FULL * seconds
        swapped = _more(before.swapped, counters.swapped) >= _MUCH_SWAPPED
        return _row(before, counters) if full or waited or swapped else None


def _more(before: float | None, now: float | None) -> float:
    """Return by how much a counter grew; 0 where it is not known."""
    return 0.0 if before is None or now is None else max(now - before, 0.0)


def _row(before: _Counters, now: _Counters) -> EventRow:
    fields: dict[str, float | None] = {
        "seconds": round(now.at - before.at, 3),
        "cores": os.cpu_count() or 1,
    }
    for name in ("busy", "stolen", "own", "swapped", "disk_waits"):
        values = (getattr(before, name), getattr(now, name))
        fields[name] = None if None in values else round(_more(*values), 3)
    return (time.time(), "host-overloaded", "driver", json.dumps(fields))


class _Counters(NamedTuple):
    """What has been counted since the host began, at a moment.

    Attributes:
        at: The moment, by the monotonic clock.
        busy: CPU seconds of the host.
        stolen: CPU seconds that its hypervisor took.
        swapped: Bytes to and from swap.
        disk_waits: Seconds in which all that was to run waited for a disk.
        own: CPU seconds of the run's processes here; None: they were not asked.
    """

    at: float
    busy: float | None
    stolen: float | None
    swapped: float | None
    disk_waits: float | None
    own: float | None = None


def _host() -> tuple[float | None, float | None, float | None, float | None]:
    cpu = host_cpu()
    return (
        cpu.get("host_busy"),
        cpu.get("host_stolen"),
        host_swap().get("host_swapped"),
        _disk_waits(),
    )


def _disk_waits() -> float | None:
    """Return the seconds in which all processes waited for a disk, if Linux counts them."""
    try:
        lines = Path("/proc/pressure/io").read_text("ascii").splitlines()
        full = next(line for line in lines if line.startswith("full "))
        return int(full.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError, StopIteration):
        return None


def _used_by(drivers: Iterable[int]) -> float | None:
    """Return the CPU seconds of processes and their descendants; None: the system tells nothing.

    Those of programs that have ended are counted for their parents.
    """
    try:
        names = [each.name for each in Path("/proc").iterdir() if each.name.isdigit()]
    except OSError:
        return None
    if len(names) > _MOST_PROCESSES:
        return None
    known = {int(name): fields for name in names if (fields := stat_fields(name))}
    children: dict[int, list[int]] = {}
    for pid, fields in known.items():
        children.setdefault(int(fields[_PARENT]), []).append(pid)
    left, seen, ticks = [*drivers], set[int](), 0
    while left:
        pid = left.pop()
        if pid in seen or pid not in known:
            continue
        seen.add(pid)
        ticks += sum(map(int, known[pid][_USED]))
        left += children.get(pid, ())
    return ticks / os.sysconf("SC_CLK_TCK")
