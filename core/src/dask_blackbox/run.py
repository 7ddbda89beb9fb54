"""A recording read back: tables, possibly incomplete, and it says so.

Nothing is ever filled in from the reader's own machine.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import polars as pl

from dask_blackbox.events import Rows
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.tables import frames_of, spans_of, workers_of

__all__ = ["RunTables"]


class RunTables:
    """The facts of one run.

    Times are UTC moments, durations seconds, sizes bytes.

    Attributes:
        manifest: Who this is.
        ending: How it ended; None if nobody was left to say.
        url: Where the recording lies; None for one in memory.
        damaged: What could not be read, by blob name, with why.
        last_heartbeat: Epoch seconds at which the recorder was last known to live.
    """

    def __init__(
        self,
        manifest: Manifest,
        ending: Ending | None,
        frames: dict[str, pl.DataFrame],
        *,
        url: str | None = None,
        damaged: dict[str, str] | None = None,
        last_heartbeat: float | None = None,
    ) -> None:
        self.manifest = manifest
        self.ending = ending
        self.url = url
        self.damaged = damaged or {}
        self.last_heartbeat = last_heartbeat
        self._frames = frames

    @classmethod
    def of_rows(
        cls, manifest: Manifest, ending: Ending | None, rows: Rows
    ) -> RunTables:
        """Return a run made of rows, as the recorder and tests have them."""
        return cls(manifest, ending, frames_of(rows))

    @property
    def tasks(self) -> pl.DataFrame:
        """One row per execution of a task that ended."""
        return self._frames["tasks"]

    @property
    def errors(self) -> pl.DataFrame:
        """One row per exception of a task, retried attempts included."""
        return self._frames["errors"]

    @property
    def logs(self) -> pl.DataFrame:
        """Log lines of scheduler, workers, nannies and driver, by time."""
        return self._frames["logs"]

    @property
    def metrics(self) -> pl.DataFrame:
        """One row per worker (and scheduler) and sampling instant."""
        return self._frames["metrics"]

    @property
    def events(self) -> pl.DataFrame:
        """Everything else that happened, particulars as JSON in `detail`."""
        return self._frames["events"]

    @cached_property
    def workers(self) -> pl.DataFrame:
        """One row per worker process: when it came, when and how it left."""
        return workers_of(self.events)

    @cached_property
    def spans(self) -> pl.DataFrame:
        """One row per span of the user's; none without any."""
        return spans_of(self.events, self.tasks)

    def details(self, kind: str) -> list[dict[str, Any]]:
        """Return the particulars of all events of a kind, with `at` and `subject`."""
        chosen = self.events.filter(pl.col("kind") == kind)
        return [
            {**json.loads(row["detail"]), "at": row["at"], "subject": row["subject"]}
            for row in chosen.iter_rows(named=True)
        ]
