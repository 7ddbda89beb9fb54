"""`RunTables`: the tables and events of one run, possibly incomplete.

Nothing is ever filled in from the reader's own machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Self, TypeVar, cast

import polars as pl

from dask_blackbox.events import Event, Rows, of_kind
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.tables import (
    frames_of,
    spans_of,
    without_empty_queries,
    workers_of,
)

E = TypeVar("E", bound=Event)
_Fact = TypeVar("_Fact")


FINISHED = pl.col("outcome") == "finished"
"""The executions that gave a result, as a condition of a filter of `tasks`."""


_NO_EVENTS = pl.DataFrame(
    schema={"at": pl.Float64, "subject": pl.String, "detail": pl.String}
)


def epoch(column: str) -> pl.Expr:
    """Return a column of moments in epoch seconds."""
    return pl.col(column).dt.epoch("us") / 1e6


class RunTables:
    """The facts of one run.

    Times are UTC moments, durations seconds, sizes bytes.

    Attributes:
        manifest: Who this is.
        ending: How it ended; None if that was not recorded.
        url: The URL of the recording; None for one in memory.
        damaged: What could not be read, by blob name, with why.
        last_heartbeat: Epoch seconds at which the recorder was last known to live.
        clock_ahead: Seconds by which the clock of who reads is ahead of the store's; 0 where
            it was not measured, since it makes no difference.
        continues: Whether `ending` is only assumed, to explain what a run in progress waits for.
        ending_whole: Whether `ending` is all that was known of the end; else only its
            state is left of it, which is no ground for a verdict.
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
        self.ending_whole, self.clock_ahead = True, 0.0
        self.continues = False
        self._frames = frames
        self._tables: dict[str, pl.DataFrame] = {}
        self._events: dict[type[Event], tuple[Event, ...]] = {}
        self._facts: dict[Callable[..., object], object] = {}

    @classmethod
    def of_rows(
        cls, manifest: Manifest, ending: Ending | None, rows: Rows
    ) -> RunTables:
        """Return a run made of rows, as the recorder and tests have them."""
        return cls(manifest, ending, frames_of(rows))

    def with_ending(self, ending: Ending) -> RunTables:
        """Return this run as if it had ended otherwise."""
        return RunTables(
            self.manifest,
            ending,
            self._frames,
            url=self.url,
            damaged=self.damaged,
            last_heartbeat=self.last_heartbeat,
        )

    def with_tables(self, tables: Mapping[str, pl.DataFrame]) -> RunTables:
        """Return this run with other tables of these names."""
        run = RunTables(
            self.manifest,
            self.ending,
            {**self._frames, **tables},
            url=self.url,
            damaged=self.damaged,
            last_heartbeat=self.last_heartbeat,
        )
        run.ending_whole, run.clock_ahead = self.ending_whole, self.clock_ahead
        return run

    @property
    def tasks(self) -> pl.DataFrame:
        """One row per execution of a task that ended."""
        return self._table("tasks")

    @property
    def errors(self) -> pl.DataFrame:
        """One row per exception of a task, retried attempts included."""
        return self._table("errors")

    @property
    def logs(self) -> pl.DataFrame:
        """Log lines of scheduler, workers, nannies and driver, by time."""
        return self._table("logs")

    @property
    def metrics(self) -> pl.DataFrame:
        """One row per worker (and scheduler) and sampling instant."""
        return self._table("metrics")

    @property
    def events(self) -> pl.DataFrame:
        """Everything else that happened, particulars as JSON in `detail`."""
        return self._table("events")

    def _table(self, name: str) -> pl.DataFrame:
        known = self._tables.get(name)
        if known is None:
            known = self._tables[name] = without_empty_queries(self._frames[name])
        return known

    @cached_property
    def workers(self) -> pl.DataFrame:
        """One row per worker process: when it came, when and how it left."""
        return workers_of(self.events)

    @cached_property
    def spans(self) -> pl.DataFrame:
        """One row per span of the user's; none without any."""
        return spans_of(self.events, self.tasks)

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """Return the events of a kind in order of time: `run.of(WorkerRemoved)`."""
        known = self._events.get(kind)
        if known is None:
            rows = self.rows_of_kind(kind.kind).iter_rows()
            known = tuple(
                of_kind(kind, at, subject or "", detail or "")
                for at, subject, detail in rows
            )
            self._events[kind] = known
        return cast("tuple[E, ...]", known)

    def rows_of_kind(self, kind: str) -> pl.DataFrame:
        """Return the events of a kind in order of time, as they are stored.

        Returns:
            `at` (epoch seconds), `subject` and `detail`.
        """
        return self._rows_by_kind.get(kind, _NO_EVENTS)

    @cached_property
    def _rows_by_kind(self) -> dict[object, pl.DataFrame]:
        # All kinds at once: some sixty are asked for, however few rows there are.
        rows = self.events.sort("at", maintain_order=True).select(
            "kind", epoch("at"), "subject", "detail"
        )
        parts = rows.partition_by("kind", include_key=False, as_dict=True)
        return {kind: part for (kind,), part in parts.items()}

    def once(self, derive: Callable[[Self], _Fact]) -> _Fact:
        """Return what a function derives from this run: however many ask, it runs once."""
        if derive not in self._facts:
            self._facts[derive] = derive(self)
        return cast("_Fact", self._facts[derive])
