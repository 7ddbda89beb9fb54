"""Words for worker processes: who ended or stopped one, and how full its memory was."""

from __future__ import annotations

from dask_blackbox.analyse.facts.worker_exit import FULL, WorkerExit
from dask_blackbox.formatting import prefix_of, short, size


def whose_signal(by: str | None) -> str:
    """Return whose code sent a signal: the driver's if nobody else is known.

    Args:
        by: Key of the task that sent it, or address of the worker whose thread did.
    """
    if by is None:
        return "the run's own script"
    if "://" in by:
        return "another thread of a worker's process"
    return f"task '{short(prefix_of(by), 40)}'"


def who_sent(death: WorkerExit) -> str:
    """Return whose code sent the signal that ended a worker; empty: not the job's, or unknown."""
    return "" if death.sent_from is None else whose_signal(death.sent_by)


def sent_at(death: WorkerExit) -> str:
    """Return the line that sent the signal, or the process, where the line is unknown."""
    unknown = "its own process" if death.sent_by else "the driver's process"
    return death.sent_from or unknown


def who_stopped(death: WorkerExit) -> str:
    """Return whose code stopped a worker (SIGSTOP); empty: not the job's, or unknown."""
    return "" if death.stopped_from is None else whose_signal(death.stopped_by)


def how_full(death: WorkerExit) -> str:
    """Return how full a worker's memory was at its end, as a clause, if that may be why it ended."""
    grown = death.climbed_until_it_died
    if grown is not None:
        return (
            f"its memory had climbed by {size(grown)} in its last seconds, to "
            f"{size(death.peak_memory or 0)}"
        )
    if death.share_of_memory >= FULL:
        return f"its memory had been at {death.share_of_memory:.0%} of its limit"
    return ""
