"""Workers that were lost and of whose end no report has arrived yet."""

from __future__ import annotations

from dask_blackbox.events import Rows, event_rows

_EXPLAINED = ("worker-exit-report", "nanny-lost", "nanny-responded")


class UnreportedExits:
    """The addresses of workers that left unexpectedly, until their exit is explained.

    Attributes:
        unreported: Those without an exit report; of some of them, no nanny can send one.
    """

    def __init__(self) -> None:
        self._unexplained: set[str] = set()
        self.unreported: set[str] = set()

    def __bool__(self) -> bool:
        """Return whether a report may still arrive."""
        return bool(self._unexplained)

    def add_rows(self, rows: Rows) -> None:
        """Note the events of a batch."""
        for _, kind, subject, detail in event_rows(rows):
            if kind == "worker-removed" and '"expected": false' in detail:
                self._unexplained.add(subject)
                self.unreported.add(subject)
            elif kind in _EXPLAINED and '"by": "itself"' not in detail:
                self._unexplained.discard(subject)
                if kind == "worker-exit-report":
                    self.unreported.discard(subject)
