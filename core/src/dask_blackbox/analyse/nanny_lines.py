"""What nannies wrote into their logs: a second witness where no certificate came."""

from __future__ import annotations

import re

import polars as pl

from dask_blackbox.analyse.words import short
from dask_blackbox.run import RunTables

__all__ = ["NannyLines"]

_BUDGET = re.compile(r"Worker (\S+) \(pid=(\d+)\) exceeded .*memory budget")
_KILLED = re.compile(
    r"Worker process (\d+) was killed by (?:signal (\d+)|unknown signal)"
)
_EXITED = re.compile(r"Worker process (\d+) exited with status (\d+)")
_CLOSING = re.compile(r"Closing Nanny(?: gracefully)? at '?(\S+?)'?\. Reason: (\S+)")
_SIGNALLED = re.compile(r"Received signal \w+ \((\d+)\)")
_TELLING = (
    "memory budget|Worker process|Closing Nanny|Nanny at|Start Nanny|Restarting|"
    "Received signal"
)
_UNKNOWN_SIGNAL = 255


class NannyLines:
    """The nannies' log lines that tell of ends."""

    def __init__(self, run: RunTables) -> None:
        self._budgets: dict[tuple[str, int], float] = {}
        self._exits: dict[int, int] = {}
        self._closings: list[tuple[float, str, str]] = []
        self._signals: list[tuple[float, str, str]] = []
        self._said: list[tuple[float, str]] = []
        lines = run.logs.filter(
            (pl.col("role") == "nanny") & pl.col("message").str.contains(_TELLING)
        ).select(pl.col("at").dt.epoch("us") / 1e6, "source", "message")
        for at, source, message in lines.sort("at").iter_rows():
            self._said.append((at, f"{source} {message}"))
            self._read(at, source, message)

    def _read(self, at: float, source: str, message: str) -> None:
        if found := _BUDGET.search(message):
            self._budgets.setdefault((found[1], int(found[2])), at)
        elif found := _KILLED.search(message):
            code = -int(found[2]) if found[2] else _UNKNOWN_SIGNAL
            self._exits[int(found[1])] = code
        elif found := _EXITED.search(message):
            self._exits[int(found[1])] = int(found[2])
        elif found := _CLOSING.search(message):
            self._closings.append((at, found[1], short(found[2], 80)))
        elif found := _SIGNALLED.search(message):
            self._signals.append((at, source, f"signal-{found[1]}"))

    def over_budget(self, worker: str, pid: int | None) -> float | None:
        """Return when a nanny said that this process exceeded its memory budget."""
        if pid is None:
            known = [
                at for (address, _), at in self._budgets.items() if address == worker
            ]
            return max(known, default=None)
        return self._budgets.get((worker, pid))

    def exit_of(self, pid: int | None) -> int | None:
        """Return the exit code that a nanny wrote down, negative for a signal.

        Dask writes no line for the exit code 0.
        """
        return None if pid is None else self._exits.get(pid)

    def closing_of(self, nanny: str | None, at: float, window: float) -> str | None:
        """Return the reason that a nanny gave for closing around a moment.

        Some close after a signal without naming it (`dask spec`): the signal is the reason.
        """
        reasons = [
            reason
            for when, address, reason in (*self._signals, *self._closings)
            if address == nanny and abs(when - at) <= window
        ]
        return next(iter(reasons), None)

    def heard_after(self, nanny: str, moment: float) -> bool:
        """Say whether a nanny wrote anything, or was written of, after a moment."""
        return any(at > moment and nanny in said for at, said in self._said)
