"""What the driver's host was short of: the workers that a run starts there need its cores, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.events import HostOverloaded
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import counted, size

_BEFORE = 30.0
"""Seconds before a moment in which the load of a host tells something of it."""
_LEAST, _OF_THEM = 2.0, 0.5
"""Seconds, and the share of those seconds, in which it has to have been short of something."""
_FULL, _MOST, _WORTH_A_WORD = 0.9, 0.5, 0.01
_MUCH_SWAPPED = 2**26  # bytes


class ShortHost(NamedTuple):
    """What a host was short of.

    Attributes:
        title: In a few words.
        text: A sentence.
        remedy: What helps, a sentence.
        by_run: Whether the run's own processes were what used it up.
        evidence: What shows it.
    """

    title: str
    text: str
    remedy: str
    by_run: bool
    evidence: Evidence


def short_host_of_driver(case: Case, at: float | None) -> ShortHost | None:
    """Return what the driver's host was short of before a moment; None: nothing, or unknown.

    Args:
        case: The run.
        at: Epoch seconds; None: the run continues.
    """
    until = last_sign_of_life(case.run) if at is None else at
    since = max(until - _BEFORE, case.run.manifest.started)
    rows = [
        each
        for each in case.run.of(HostOverloaded)
        if since < each.at < until + each.seconds
    ]
    seconds = sum(each.seconds for each in rows)
    if seconds < max(_LEAST, _OF_THEM * (until - since)):
        return None
    swapped = sum(each.swapped or 0.0 for each in rows)
    return _without_cores(rows) or (
        _without_memory(rows, swapped) if swapped >= _MUCH_SWAPPED else _of_disk(rows)
    )


def _without_cores(rows: Iterable[HostOverloaded]) -> ShortHost | None:
    known = [each for each in rows if each.busy is not None]
    used = _share(known, "busy") + _share(known, "stolen")
    if used < _FULL:
        return None
    measured = [each for each in known if each.own is not None]
    own, text = _share(measured, "own"), _text_of_cores(known, measured)
    by_run = own > _MOST
    return ShortHost(
        "the driver's host had no core left",
        text,
        "Start fewer workers on that host, or with fewer threads."
        if by_run
        else "Keep other programs off that host, or use another one.",
        by_run,
        Evidence(text=text, source="events", at=known[-1].at),
    )


def _text_of_cores(known: list[HostOverloaded], measured: list[HostOverloaded]) -> str:
    """Return a sentence on the cores of a host, and who used them.

    Args:
        measured: Those of the rows that have the share of the run.
    """
    stolen = _share(known, "stolen")
    used = min(_share(known, "busy") + stolen, 1.0)
    whose = f", {_share(measured, 'own'):.0%} by this run" if measured else ""
    took = f", {stolen:.0%} by its hypervisor (steal)" if stolen > _WORTH_A_WORD else ""
    return (
        f"The driver's host had no core left: {used:.0%} of its "
        f"{counted(known[-1].cores, 'core')} were in use{whose}{took}."
    )


def _share(rows: list[HostOverloaded], name: str) -> float:
    """Return which share of the cores CPU seconds are, 0 to 1; 0 where there are no rows."""
    available = sum(each.seconds * each.cores for each in rows)
    used = sum(getattr(each, name) or 0.0 for each in rows)
    return min(used / available, 1.0) if available else 0.0


def _without_memory(rows: list[HostOverloaded], swapped: float) -> ShortHost:
    text = f"The driver's host moved {size(swapped)} to and from swap meanwhile."
    return ShortHost(
        "the driver's host was swapping",
        text,
        "Give that host more memory, or start fewer workers on it: what is in swap takes long "
        "to come back.",
        by_run=False,
        evidence=Evidence(text=text, source="events", at=rows[-1].at),
    )


def _of_disk(rows: list[HostOverloaded]) -> ShortHost | None:
    waited = sum(each.disk_waits or 0.0 for each in rows)
    seconds = sum(each.seconds for each in rows)
    if waited < _FULL * seconds:
        return None
    text = (
        f"For {waited / seconds:.0%} of the time, all processes of the driver's host waited for "
        "its disk."
    )
    return ShortHost(
        "the driver's host waited for its disk",
        text,
        "Look at what else uses that disk, or use another one.",
        by_run=False,
        evidence=Evidence(text=text, source="events", at=rows[-1].at),
    )
