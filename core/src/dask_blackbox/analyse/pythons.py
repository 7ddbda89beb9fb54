"""Which Python ran where: two minor versions do not understand each other's bytecode."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dask_blackbox.run import RunTables

__all__ = ["pythons_apart"]


def pythons_apart(run: RunTables, worker: str) -> tuple[str, str] | None:
    """Return the driver's Python and a worker's, if their minor versions differ.

    Args:
        run: The run.
        worker: An address.
    """
    ours = _told(each.get("python") for each in run.details("driver-attached"))
    theirs = _told(
        each.get("python")
        for each in run.details("worker-added")
        if each.get("subject") == worker
    )
    if not ours or not theirs or ours.split(".")[:2] == theirs.split(".")[:2]:
        return None
    return ours, theirs


def _told(versions: Iterable[Any]) -> str:
    found = [str(each) for each in versions if each]
    return found[-1].split(".final", 1)[0] if found else ""
