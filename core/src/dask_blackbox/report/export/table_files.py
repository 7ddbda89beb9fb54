"""The tables of a recording as Parquet, CSV or lines of JSON: a file for each."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from dask_blackbox.run_tables import RunTables

_TABLES = ("tasks", "errors", "logs", "metrics", "events", "workers", "spans")


def write(run: RunTables, form: str, to: Path) -> list[Path]:
    """Write every table into a folder; one without rows has its columns all the same."""
    to.mkdir(parents=True, exist_ok=True)
    written = []
    for name in _TABLES:
        table: pl.DataFrame = getattr(run, name)
        file = to / f"{name}.{form}"
        if form == "parquet":
            table.write_parquet(file)
        elif form == "csv":
            _flat(table).write_csv(file)
        else:
            table.write_ndjson(file)
        written.append(file)
    return written


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table without lists, which CSV has not: their items with `;` between."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.col(name).cast(pl.List(pl.String)).list.join(";") for name in lists
    )
