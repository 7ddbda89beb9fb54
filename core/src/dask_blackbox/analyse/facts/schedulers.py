"""The schedulers of a run, one after another or at once, and when each of them ended."""

from __future__ import annotations

from dask_blackbox.analyse.signals import BY_SIGNAL
from dask_blackbox.events import (
    DriverEnded,
    SchedulerClosing,
    SchedulerInfo,
    SchedulerLost,
)
from dask_blackbox.run_tables import RunTables

_ASKED = "terminate"  # the reason of a scheduler that was asked to end


class Schedulers:
    """The schedulers of a run."""

    def __init__(self, run: RunTables) -> None:
        self._known = sorted((each.at, each.subject) for each in run.of(SchedulerInfo))
        # A run that ended, or whose driver did, closes all of them.
        ends = [each.at for each in run.of(DriverEnded)]
        if run.ending is not None and run.ending.state == "succeeded":
            ends.append(run.ending.ended)
        self._all_close = min(ends, default=None)
        closing = [(each.scheduler, each.at) for each in run.of(SchedulerClosing)]
        self._closing = self._first(closing)
        self._asked = self._first(
            [
                (each.scheduler, each.at)
                for each in run.of(SchedulerClosing)
                if each.reason == _ASKED
            ]
        )
        self._stopped = self._first(
            [
                (each.scheduler, each.at)
                for each in run.of(SchedulerClosing)
                if each.reason.startswith(BY_SIGNAL)
            ]
        )
        self._lost = self._first(
            [(each.address, each.at) for each in run.of(SchedulerLost)]
        )

    def _first(self, moments: list[tuple[str | None, float]]) -> dict[str, float]:
        """Return the first moment of each scheduler."""
        found: dict[str, float] = {}
        for whose, at in moments:
            found.setdefault(self.of_worker(whose, at), at)
        return found

    def of_worker(self, scheduler: str | None, joined: float | None) -> str:
        """Return the address of a worker's scheduler.

        Args:
            scheduler: As the worker's arrival names it.
            joined: When the worker joined; of recordings that do not name it, the newest
                scheduler of that moment is meant.
        """
        if scheduler:
            return scheduler
        known = [who for at, who in self._known if joined is None or at <= joined]
        return known[-1] if known else ""

    def closing_of(self, scheduler: str) -> float | None:
        """Return when a scheduler began to close, epoch seconds; None: it did not."""
        moments = (self._closing.get(scheduler), self._all_close)
        return min((at for at in moments if at is not None), default=None)

    def was_asked_to_close(self, scheduler: str, at: float, within: float) -> bool:
        """Return whether a client or a cluster object asked a scheduler to end, soon after a moment.

        Args:
            within: Seconds.
        """
        asked = self._asked.get(scheduler)
        return asked is not None and at <= asked <= at + within

    def stopped_at(self, scheduler: str) -> float | None:
        """Return when a signal ended a scheduler, epoch seconds; None: none did."""
        return self._stopped.get(scheduler)

    def end_of(self, scheduler: str) -> float | None:
        """Return from when on none of a scheduler's workers existed, as far as is known."""
        moments = (self._closing.get(scheduler), self._lost.get(scheduler))
        return min((at for at in moments if at is not None), default=None)


def schedulers_of(run: RunTables) -> Schedulers:
    """Return the schedulers of a run."""
    return run.once(Schedulers)
