"""Bugs of Dask that recordings show: which versions have them, and what they look like.

Each needs both: a version in its range, and its mark in the recording.  A bug without
such a mark is not listed, because no recording could prove it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dask_blackbox.events import DriverAttached, WorkerAdded
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

_NUMBERS = bounded(r"\d+")


@dataclass(frozen=True, kw_only=True)
class KnownBug:
    """A bug, and how to know it.

    Attributes:
        name: In a few words.
        package: `dask` or `distributed`.
        first: First version that is known to have it; empty: all before `fixed`.
        fixed: First version without it; empty: none is known.
        mark: Regular expression of a log line or an exception.
        means: What happens.
        instead: What to do where no version is without it.
        url: Where it is reported.
    """

    name: str
    package: str
    first: str = ""
    fixed: str = ""
    mark: str
    means: str
    instead: str
    url: str

    def concerns(self, installed: str) -> bool:
        """Return whether a version has it."""
        found = version(installed)
        if not found or (self.first and found < version(self.first)):
            return False
        return not self.fixed or found < version(self.fixed)


def version(text: str) -> tuple[int, ...]:
    """Return a version's numbers, as they compare."""
    return tuple(int(number) for number in _NUMBERS.findall(text.partition("+")[0])[:3])


KNOWN_BUGS: tuple[KnownBug, ...] = (
    KnownBug(
        name="the scheduler fails on a task that used a lost actor",
        package="distributed",
        first="2022.9.0",
        fixed="2025.5.0",
        mark=(
            r"transition_processing_erred\(\) missing 1 required "
            r"(?:positional|keyword-only) argument: 'worker'"
        ),
        means=(
            "An actor is lost with its worker, and the scheduler cannot mark the tasks "
            "that use it as failed: the computation hangs."
        ),
        instead="Change the versions of dask and distributed, both together.",
        url="https://github.com/Open-EO/openeo-processes-dask/issues/355",
    ),
    KnownBug(
        name="stealing loses a task",
        package="distributed",
        first="2024.7.1",
        mark=r"in move_task_confirm\b[\s\S]{0,4000}?KeyError: <TaskState",
        means=(
            "A confirmed steal fails, and no worker runs the task: the run can hang."
        ),
        instead="Set `distributed.scheduler.work-stealing: false`.",
        url="https://github.com/dask/distributed/issues/8787",
    ),
)


"""All that are known."""


def different_pythons(run: RunTables, worker: str) -> tuple[str, str] | None:
    """Return the driver's Python and a worker's, if their minor versions differ."""
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
