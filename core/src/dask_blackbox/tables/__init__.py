"""The tables of a recording, made of rows, of segments or of Parquet; polars frames all."""

from __future__ import annotations

from dask_blackbox.tables.batches import (
    SPAN_COLUMNS,
    frames_of,
    frames_of_batches,
    spans_of,
    workers_of,
)
from dask_blackbox.tables.parquet import read_table, with_known_columns, write_tables
from dask_blackbox.tables.schemas import SCHEMAS, TABLES

__all__ = [
    "SCHEMAS",
    "SPAN_COLUMNS",
    "TABLES",
    "frames_of",
    "frames_of_batches",
    "read_table",
    "spans_of",
    "with_known_columns",
    "workers_of",
    "write_tables",
]
