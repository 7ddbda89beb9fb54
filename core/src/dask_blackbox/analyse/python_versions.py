"""Which Python ran where: two minor versions do not understand each other's bytecode."""

from __future__ import annotations

from collections.abc import Iterable

from dask_blackbox.events import DriverAttached, WorkerAdded
from dask_blackbox.run import RunTables

__all__ = ["pythons_apart"]


def pythons_apart(run: RunTables, worker: str) -> tuple[str, str] | None:
    """Return the driver's Python and a worker's, if their minor versions differ.

    Args:
        run: The run.
        worker: An address.
    """
    ours = _reported(each.python for each in run.of(DriverAttached))
    theirs = _reported(
        each.python for each in run.of(WorkerAdded) if each.subject == worker
    )
    if not ours or not theirs or ours.split(".")[:2] == theirs.split(".")[:2]:
        return None
    return ours, theirs


def _reported(versions: Iterable[str | None]) -> str:
    found = [each for each in versions if each]
    return found[-1].split(".final", 1)[0] if found else ""
