"""The paths that the graphs of a run have read and written, collected while it is recorded."""

from __future__ import annotations

from dask_blackbox.events import DataNamed, Rows, event_rows, of_kind

_MOST = 1_000


class DataOfRun:
    """The paths that the graphs of a run have read and written, as far as they are recorded."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}

    def add_rows(self, rows: Rows) -> None:
        """Collect facts from the rows of a batch, without what is left out."""
        for at, kind, subject, detail in event_rows(rows):
            if kind == DataNamed.kind:
                self.add(of_kind(DataNamed, at, subject, detail))

    def add(self, named: DataNamed) -> None:
        """Collect what one graph names."""
        for known, new in ((self.reads, named.reads), (self.writes, named.writes)):
            room = max(0, _MOST - len(known))
            known.update(
                dict.fromkeys([each for each in new if each not in known][:room])
            )
