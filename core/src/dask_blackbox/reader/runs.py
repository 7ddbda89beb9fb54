"""`runs`: the runs of a store as one lazy collection, and their tables together.

What is listed comes from names of blobs alone.  Sketches are read for `details`, and
recordings for their tables, when they are asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import polars as pl

from dask_blackbox.card_data import RunState
from dask_blackbox.errors import ConfigurationError, RunNotFoundError
from dask_blackbox.formatting import moment_of
from dask_blackbox.layout import RunAddress, SketchName
from dask_blackbox.price import Prices, cost_of, price_setting
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
from dask_blackbox.reader.notes import named_notes
from dask_blackbox.reader.run import Run
from dask_blackbox.reader.run_index import RunEntry, entries, marked_runs
from dask_blackbox.sketch import Sketch
from dask_blackbox.store import Store, open_store, store_settings
from dask_blackbox.tables import SCHEMAS
from dask_blackbox.tables.schemas import MOMENT, ColumnType

if TYPE_CHECKING:
    import dask.dataframe
    import pandas as pd

__all__ = ["Runs", "runs"]

Moment = float | str | date | datetime
"""Epoch seconds, a date or a time, or a text as commands take it: `24h`, `2026-11-21`."""

_STATES: tuple[RunState, ...] = ("running", "succeeded", "failed", "aborted", "lost")
_UNENDED = ("running", "lost")
_IN_A_PARTITION = 50
_READ_AHEAD = 4
_FOR_DETAILS = 600.0  # seconds; beyond, what could not be read is null

_COLUMNS: dict[str, ColumnType] = {
    "run": pl.String,
    "job": pl.String,
    "run_id": pl.String,
    "attempt": pl.Int64,
    "state": pl.String,
    "started": MOMENT,
    "duration": pl.Float64,
    "verdict": pl.String,
    "fingerprint": pl.String,
    "input_bytes": pl.Int64,
    "partitions": pl.Int64,
    "peak_memory": pl.Int64,
    "recorded": pl.Boolean,
}
_OF_SKETCHES = (
    "duration",
    "verdict",
    "fingerprint",
    "input_bytes",
    "partitions",
    "peak_memory",
)
_OF_THE_RUN: dict[str, ColumnType] = {
    name: _COLUMNS[name] for name in ("job", "run_id", "attempt")
}


def runs(
    store: str | None = None,
    *,
    job: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    state: RunState | Collection[RunState] | None = None,
    limit: int | None = None,
    settings: Mapping[str, object] | None = None,
) -> Runs:
    """Return the runs of a store, newest first; nothing is read before they are used.

    Args:
        store: Its URL.  None: the setting `blackbox.store.url`.
        job: Of this job only.
        since: Those that started then or later.
        until: Those that started before then.
        state: In this state, or in one of these.
        limit: The newest so many of them.
        settings: Of the store, before those that are configured.

    Raises:
        ConfigurationError: if an argument cannot work.
    """
    states = (state,) if isinstance(state, str) else tuple(state or _STATES)
    if unknown := sorted(set(states) - set(_STATES)):
        raise ConfigurationError(
            f"state {unknown[0]!r} is unknown; states are {', '.join(_STATES)}"
        )
    if limit is not None and limit < 1:
        raise ConfigurationError(f"limit={limit!r} must be 1 or more")
    return Runs(
        store_settings(store, settings=settings),
        job=job,
        since=_seconds(since, "since", 0.0),
        until=_seconds(until, "until", float("inf")),
        states=states,
        limit=limit,
    )


def _seconds(typed: Moment | None, name: str, default: float) -> float:
    if typed is None:
        return default
    if isinstance(typed, str):
        return moment_of(typed, name)
    if isinstance(typed, datetime):
        return typed.timestamp()
    if isinstance(typed, date):
        return moment_of(typed.isoformat(), name)
    return float(typed)


class Runs:
    """Some runs of a store, newest first; made by `runs`.

    Iterating yields one `RunEntry` for each attempt that the index lists.  A frame has a row
    for each of them, and for those of which only the sketch is left.
    """

    def __init__(
        self,
        settings: Mapping[str, object],
        *,
        job: str | None,
        since: float,
        until: float,
        states: tuple[RunState, ...],
        limit: int | None,
    ) -> None:
        self._settings = dict(settings)
        self._store: Store = open_store(None, settings=settings)
        self._job, self._since, self._until = job, since, until
        self._states, self._limit = states, limit

    def __repr__(self) -> str:
        job = "" if self._job is None else f" of {self._job}"
        return f"<Runs{job} in {self._store.url}>"

    def __iter__(self) -> Iterator[RunEntry]:
        """Yield the runs that the index lists; a listing page at a time.

        Raises:
            StoreError: if the store cannot be listed.
        """
        return islice(self._chosen(), self._limit)

    def _chosen(self) -> Iterator[RunEntry]:
        listed = marked_runs if set(_UNENDED).isdisjoint(self._states) else entries
        for entry in listed(self._store, job=self._job):
            if entry.started < self._since:
                return
            if entry.started < self._until and entry.state in self._states:
                yield entry

    def open(self) -> Iterator[Run]:
        """Yield the recordings that are still there, each opened.

        Raises:
            StoreError: if the store cannot be read.
            RecordingError: if one of them cannot be read.
        """
        for entry in self:
            with suppress(RunNotFoundError):  # deleted since the index was written
                yield Run.at(self._store, entry.address)

    def to_polars(self, *, details: bool = False) -> pl.DataFrame:
        """Return one row for each attempt, newest first.

        Columns: `run` (its name in commands), `job`, `run_id` (both as commands take them, where
        `/` and the like are replaced), `attempt`, `state`, `started`,
        `duration` (seconds), `verdict` (the rule that explains a failure), `fingerprint` (alike
        for alike failures), `input_bytes`, `partitions`, `peak_memory` (bytes, of the worker
        that had the most) and `recorded` (false where only the sketch is left).

        Args:
            details: Read the sketch of each run, too: its `title`, the measures of its card
                (`tasks`, `compute_seconds`, …), its `cost` and `idle_cost` where
                `blackbox.price` is set, its parameters (`parameter.NAME`, text), and the
                `tags` of notes on it (`dask blackbox note`), with spaces between them.

        Raises:
            StoreError: if the store cannot be listed.
            ConfigurationError: if a price is not a number.
        """
        rows = self._rows()
        found = pl.DataFrame(_columns(rows), schema_overrides=_COLUMNS)
        if not details:
            return found
        names = [row.sketch for row in rows if row.sketch is not None]
        sketches = read_sketches(self._store, names, timeout=_FOR_DETAILS)
        prices = price_setting()
        tags = self._tags({row.address.job for row in rows})
        more = [
            _details(sketches.get(row.sketch.name) if row.sketch else None, prices)
            | ({"tags": tags[row.address]} if row.address in tags else {})
            for row in rows
        ]
        columns = dict.fromkeys(name for each in more for name in each)
        return found.with_columns(
            pl.Series(name, [each.get(name) for each in more], strict=False)
            for name in columns
        )

    def _tags(self, jobs: Iterable[str]) -> dict[RunAddress, str]:
        """Return the tags of those runs that have some."""
        found = defaultdict[RunAddress, dict[str, None]](dict)
        for job in jobs:
            for note in named_notes(self._store, job):
                found[note.address].update(dict.fromkeys(note.tags))
        return {run: " ".join(sorted(tags)) for run, tags in found.items() if tags}

    def to_pandas(self, *, details: bool = False) -> pd.DataFrame:
        """Return what `to_polars` does as a frame of pandas.

        Raises:
            StoreError: if the store cannot be listed.
            ImportError: without pandas.
        """
        import pandas as pd

        found = self.to_polars(details=details)
        return pd.DataFrame({name: found[name].to_list() for name in found.columns})

    def scan(self, table: str = "tasks") -> pl.LazyFrame:
        """Return a table of all recordings together, read when it is collected.

        Its first columns are `job`, `run_id` and `attempt`.  Only the columns that a query uses
        are kept, and recordings are read one after the other, so that a query over many of them
        needs the memory of its result and of a few recordings.

        Raises:
            ConfigurationError: if there is no such table.
        """
        from polars.io.plugins import register_io_source

        columns = _OF_THE_RUN | _schema(table)

        def batches(
            with_columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            _batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            for frame in self._tables(table):
                if left is not None and left <= 0:
                    return
                chosen = frame if predicate is None else frame.filter(predicate)
                chosen = chosen if with_columns is None else chosen.select(with_columns)
                if left is not None:
                    chosen = chosen.head(left)
                    left -= len(chosen)
                yield chosen

        return register_io_source(batches, schema=columns)

    def tasks(self) -> dask.dataframe.DataFrame:
        """Return the tasks of all recordings as a Dask dataframe: see `to_dask`."""
        return self.to_dask("tasks")

    def to_dask(self, table: str = "tasks") -> dask.dataframe.DataFrame:
        """Return a table of all recordings as a Dask dataframe, for what outgrows one machine.

        A partition holds the rows of 50 recordings, which the workers read: they need
        dask-blackbox, and what reaches the store.  The settings of the store travel with the
        graph, credentials included where they are settings.

        Raises:
            ConfigurationError: if there is no such table.
            ImportError: without `dask.dataframe` (pandas and PyArrow).
        """
        import dask.dataframe

        schema = _OF_THE_RUN | _schema(table)
        frame: dask.dataframe.DataFrame = dask.dataframe.from_map(
            _Partition(self._settings, table),
            _parts(self._addresses, _IN_A_PARTITION) or [[]],
            meta=_as_pandas(pl.DataFrame(schema=schema)),
            label=f"dask-blackbox-{table}",
            enforce_metadata=False,
        )
        return frame

    def _tables(self, table: str) -> Iterator[pl.DataFrame]:
        """Yield a table of each recording, a few of them read ahead."""

        def read(address: RunAddress) -> pl.DataFrame:
            return _table_of(self._store, address, table)

        with ThreadPoolExecutor(_READ_AHEAD) as readers:
            for some in _parts(self._addresses, _READ_AHEAD):
                yield from readers.map(read, some)

    @cached_property
    def _addresses(self) -> list[RunAddress]:
        return [entry.address for entry in self]

    def _rows(self) -> list[_Row]:
        """Return what is known of each run, the newest first."""
        listed = list(self)
        # Beyond the oldest of so many, no other is wanted.
        whole = self._limit is None or len(listed) < self._limit
        since = self._since if whole else listed[-1].started
        sketches = {each.address: each for each in self._sketch_names(since)}
        rows = [
            _Row(
                each.address,
                each.started,
                each.state,
                sketches.pop(each.address, None),
                recorded=True,
            )
            for each in listed
        ]
        # Sketches remain when their recordings are deleted.
        rows += [
            _Row(each.address, each.started_ms / 1000, each.state, each, recorded=False)
            for each in sketches.values()
            if each.state in self._states
        ]
        rows.sort(key=lambda row: row.started, reverse=True)
        return rows[: self._limit]

    def _sketch_names(self, since: float) -> Iterator[SketchName]:
        jobs = self._store.folders("sketches/") if self._job is None else [self._job]
        for job in jobs:
            for each in sketched_runs(self._store, job):
                if each.started_ms < since * 1000:
                    break
                if each.started_ms < self._until * 1000:
                    yield each


class _Row(NamedTuple):
    """What is known of a run; `recorded`: its recording is there."""

    address: RunAddress
    started: float
    state: str
    sketch: SketchName | None
    recorded: bool


def _columns(rows: list[_Row]) -> dict[str, list[object] | pl.Series]:
    """Return the columns of a frame with a row for each run."""
    addresses = [row.address for row in rows]
    milliseconds = pl.Series(
        [round(row.started * 1000) for row in rows], dtype=pl.Int64
    )
    return {
        "run": [address.name for address in addresses],
        "job": [address.job for address in addresses],
        "run_id": [address.run for address in addresses],
        "attempt": [address.attempt for address in addresses],
        "state": [row.state for row in rows],
        "started": (milliseconds * 1000).cast(MOMENT),
        **{
            name: [getattr(row.sketch, name, None) for row in rows]
            for name in _OF_SKETCHES
        },
        "recorded": [row.recorded for row in rows],
    }


def _details(
    sketch: Sketch | None, prices: Prices | None
) -> dict[str, float | str | None]:
    """Return what a sketch says beyond its name, by column."""
    if sketch is None:
        return {}
    price = None if prices is None else prices.of(sketch.job)
    cost = None if price is None else cost_of(sketch.numbers, price)
    measures = {n: v for n, v in sketch.numbers.items() if n not in _COLUMNS}
    parameters = sketch.facts.get("parameters", {})
    return {
        "title": sketch.title,
        **measures,
        **({} if cost is None else {"cost": cost.amount, "idle_cost": cost.idle}),
        **{f"parameter.{name}": value for name, value in parameters.items()},
    }


_T = TypeVar("_T")


def _parts(items: list[_T], size: int) -> list[list[_T]]:
    return [items[n : n + size] for n in range(0, len(items), size)]


def _schema(table: str) -> dict[str, ColumnType]:
    if table not in SCHEMAS:
        raise ConfigurationError(
            f"table {table!r} is unknown; tables are {', '.join(SCHEMAS)}"
        )
    return SCHEMAS[table]


def _table_of(store: Store, address: RunAddress, table: str) -> pl.DataFrame:
    """Return a table of a recording with the names of its run; empty without a recording."""
    try:
        run = Run.at(store, address)
    except RunNotFoundError:  # deleted since the index was written
        return pl.DataFrame(schema=_OF_THE_RUN | SCHEMAS[table])
    frame: pl.DataFrame = getattr(run, table)
    return frame.select(
        *(
            pl.lit(value, dtype).alias(name)
            for (name, dtype), value in zip(_OF_THE_RUN.items(), address, strict=True)
        ),
        *SCHEMAS[table],
    )


def _as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    return frame.to_pandas()


class _Partition:
    """Reads a table of some recordings, in a worker.

    Its text names no settings: they may hold credentials.
    """

    def __init__(self, settings: Mapping[str, object], table: str) -> None:
        self._settings, self._table = dict(settings), table

    def __repr__(self) -> str:
        return f"<{self._table} of recordings>"

    def __call__(self, addresses: list[RunAddress]) -> pd.DataFrame:
        store = open_store(None, settings=self._settings)
        frames = [
            _table_of(store, RunAddress(*each), self._table) for each in addresses
        ]
        empty = pl.DataFrame(schema=_OF_THE_RUN | SCHEMAS[self._table])
        return _as_pandas(pl.concat([empty, *frames]))
