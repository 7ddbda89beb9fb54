"""What nannies write into their logs about the ends of worker processes."""

from __future__ import annotations

import polars as pl

from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    NANNY_CLOSED,
    NANNY_CLOSING,
    NANNY_EXIT_STATUS,
    NANNY_KILLED_BY_SIGNAL,
    NANNY_KILLED_BY_UNKNOWN_SIGNAL,
    NANNY_RESTARTS_WORKER,
    NANNY_STARTED,
    SIGNAL_RECEIVED,
    WORKER_OVER_MEMORY_BUDGET,
)
from dask_blackbox.formatting import short
from dask_blackbox.run_tables import RunTables

_ABOUT_ENDS = (
    WORKER_OVER_MEMORY_BUDGET,
    NANNY_KILLED_BY_SIGNAL,
    NANNY_KILLED_BY_UNKNOWN_SIGNAL,
    NANNY_EXIT_STATUS,
    NANNY_CLOSING,
    NANNY_CLOSED,
    NANNY_STARTED,
    NANNY_RESTARTS_WORKER,
    SIGNAL_RECEIVED,
)
_RESTARTS = "Restarting worker"
_UNKNOWN_SIGNAL = 255
_TOGETHER = 0.25
"""Seconds within which a signal reaches all processes of a group."""


class NannyLog:
    """The lines in which nannies speak of ends."""

    def __init__(self, run: RunTables) -> None:
        self._budgets: dict[tuple[str, int], float] = {}
        self._exits: dict[int, tuple[float, int]] = {}
        self._closings: list[tuple[float, str, str]] = []
        self._signals: list[tuple[float, str, str]] = []
        self._restarts: list[tuple[float, str]] = []
        self._lines: list[tuple[float, str]] = []
        lines = run.logs.filter(
            (pl.col("role") == "nanny") & printed_by(*_ABOUT_ENDS)
        ).select(pl.col("at").dt.epoch("us") / 1e6, "source", "message")
        for at, source, message in lines.sort("at").iter_rows():
            self._lines.append((at, f"{source} {message}"))
            self._read(at, source, message)

    def _read(self, at: float, source: str, message: str) -> None:
        if found := WORKER_OVER_MEMORY_BUDGET.search(message):
            self._budgets.setdefault((found[1], int(found[2])), at)
        elif found := NANNY_KILLED_BY_SIGNAL.search(message):
            self._exits[int(found["pid"])] = at, -int(found["signal"])
        elif found := NANNY_KILLED_BY_UNKNOWN_SIGNAL.search(message):
            self._exits[int(found["pid"])] = at, _UNKNOWN_SIGNAL
        elif found := NANNY_EXIT_STATUS.search(message):
            self._exits[int(found[1])] = at, int(found[2])
        elif found := NANNY_CLOSING.search(message):
            self._closings.append((at, found[1], short(found[2], 80)))
        elif found := SIGNAL_RECEIVED.search(message):
            self._signals.append((at, source, f"signal-{found[1]}"))
        elif message.startswith(_RESTARTS):
            self._restarts.append((at, source))

    def over_budget(self, worker: str, pid: int | None) -> float | None:
        """Return when a nanny wrote that this process exceeded its memory budget."""
        if pid is None:
            known = [
                at for (address, _), at in self._budgets.items() if address == worker
            ]
            return max(known, default=None)
        return self._budgets.get((worker, pid))

    def exit_of(self, pid: int | None) -> tuple[float, int] | None:
        """Return when a nanny wrote that a process had ended, and its exit code.

        The code is negative for a signal.  Dask writes no line for the exit code 0.
        """
        return None if pid is None else self._exits.get(pid)

    def signal_to(
        self, nanny: str | None, ended: float, window: float
    ) -> tuple[float, str] | None:
        """Return the signal that ended a nanny when its worker ended, and when it came.

        A nanny that receives one later, or that restarted its worker first, has lived on:
        it did not end with its worker.

        Args:
            window: Seconds before that in which it may have come.
        """
        received = [
            (at, reason)
            for at, address, reason in (*self._signals, *self._closings)
            if address == nanny
            and reason.startswith("signal-")
            and -window <= at - ended <= _TOGETHER
        ]
        first = min(received, default=None)
        restarted = first is not None and any(
            address == nanny and ended <= at <= first[0]
            for at, address in self._restarts
        )
        return None if restarted else first

    def first_signal_to(self, nanny: str | None) -> float | None:
        """Return when a nanny received its first signal, if it did."""
        known = (*self._signals, *self._closings)
        return min(
            (
                at
                for at, address, reason in known
                if address == nanny and reason.startswith("signal-")
            ),
            default=None,
        )

    def closing_of(self, nanny: str | None, at: float, window: float) -> str | None:
        """Return the reason that a nanny gave for closing around a moment, but a signal."""
        return next(
            (
                reason
                for when, address, reason in self._closings
                if address == nanny
                and abs(when - at) <= window
                and not reason.startswith("signal-")
            ),
            None,
        )

    def active_after(self, nanny: str, moment: float) -> bool:
        """Say whether a nanny wrote anything, or was written of, after a moment."""
        return any(at > moment and nanny in line for at, line in self._lines)


def nanny_log_of(run: RunTables) -> NannyLog:
    """Return what the nannies of a run wrote of ends."""
    return run.once(NannyLog)
