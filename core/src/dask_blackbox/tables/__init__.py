"""The tables of a recording, made of rows, of segments or of Parquet; polars frames all.

As Parquet they are files that DuckDB, polars, pandas and Athena read without us.
"""

from __future__ import annotations

import io
from typing import Protocol

import polars as pl

from dask_blackbox.segments import Allowance
from dask_blackbox.tables.batches import (
    SPAN_COLUMNS,
    frames_of,
    frames_of_batches,
    spans_of,
    workers_of,
)
from dask_blackbox.tables.empty import without_empty_queries
from dask_blackbox.tables.parquet_size import parquet_size
from dask_blackbox.tables.schemas import (
    DURATIONS,
    MOMENT,
    SCHEMAS,
    TABLES,
    sensible_moments,
)

__all__ = [
    "SCHEMAS",
    "SPAN_COLUMNS",
    "TABLES",
    "frames_of",
    "frames_of_batches",
    "read_table",
    "spans_of",
    "with_known_columns",
    "without_empty_queries",
    "workers_of",
    "write_tables",
]

# Level 6 saves another 8 % and takes three times as long.
_ZSTD_LEVEL = 3
_ROWS_IN_A_GROUP = 250_000


class HasTables(Protocol):
    """What `run.RunTables` has, which this package must not know."""

    @property
    def tasks(self) -> pl.DataFrame: ...
    @property
    def errors(self) -> pl.DataFrame: ...
    @property
    def logs(self) -> pl.DataFrame: ...
    @property
    def metrics(self) -> pl.DataFrame: ...
    @property
    def events(self) -> pl.DataFrame: ...
    @property
    def workers(self) -> pl.DataFrame: ...


def write_tables(run: HasTables) -> dict[str, bytes]:
    """Return each table of a run as Parquet, by name; the same bytes for the same rows."""
    return {name: _parquet(getattr(run, name)) for name in SCHEMAS}


def _parquet(frame: pl.DataFrame) -> bytes:
    # What is below a microsecond is noise, and noise takes space.
    lean = [pl.col(name).round(6) for name in DURATIONS if name in frame.columns]
    if "group" in frame.columns:
        # A lone task is a group of its own, and its hash would stand there twice.
        alone = pl.col("group") == pl.col("key")
        lean.append(pl.when(~alone).then("group").alias("group"))
    buffer = io.BytesIO()
    frame.with_columns(lean).write_parquet(
        buffer,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        row_group_size=_ROWS_IN_A_GROUP,
    )
    return buffer.getvalue()


def read_table(name: str, blob: bytes) -> pl.DataFrame:
    """Return a table that `write_tables` wrote, with the columns that this version knows.

    Raises:
        OverAllowanceError: if it would become larger than such a file should.
        ValueError: if these bytes are no such table.
    """
    try:
        size = parquet_size(blob)
    except ValueError as error:
        raise ValueError(f"{name}.parquet cannot be read: {error}") from error
    allowance = Allowance(len(blob))
    allowance.take_cells(size.rows, max(size.columns, len(SCHEMAS[name])))
    allowance.take_bytes(size.unpacked)
    try:
        frame = pl.read_parquet(io.BytesIO(blob))
        # A text that repeats is stored once, and becomes as many when it is exported.
        lengths = frame.select(pl.col(pl.String).str.len_bytes().cast(pl.Int64).sum())
        allowance.take_texts(sum(int(each.sum()) for each in lengths))
        frame = with_known_columns(name, frame)
        if "group" in frame.columns:
            frame = frame.with_columns(pl.col("group").fill_null(pl.col("key")))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{name}.parquet cannot be read: {error}") from error
    return frame.with_columns(
        sensible_moments(frame[column])
        for column, dtype in SCHEMAS[name].items()
        if dtype == MOMENT
    )


def with_known_columns(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of another version with the columns of this one.

    Those that it lacks are null; those that this version does not know are left out.
    """
    columns: list[object] = [
        pl.col(column).cast(dtype)
        if column in frame.columns
        else pl.lit(None, dtype).alias(column)
        for column, dtype in SCHEMAS[name].items()
    ]
    return frame.select(columns)
