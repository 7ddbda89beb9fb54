"""A run in the formats of other tools: traces, profiles, tables, pictures."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # heavy: imported when something is written
    import polars as pl

    from dask_blackbox.run_tables import RunTables

__all__ = ["FORMATS", "export"]

FORMATS = {
    "perfetto": ".pftrace",
    "speedscope": ".speedscope.json",
    "parquet": "",
    "csv": "",
    "jsonl": "",
    "svg": ".svg",
    "png": ".png",
}
"""What follows a file's name, by format; of tables there is a folder."""

_PROFILERS = ("perfetto", "speedscope")
_PICTURES = ("svg", "png")


def export(run: Any, form: str, to: Path) -> list[Path]:
    """Write a run (a `Run`) and return the files.

    Args:
        form: One of `FORMATS`.
        to: The file, or of tables the folder.
    """
    if form in _PROFILERS:
        write: Callable[[object, str, Path], list[Path]]
        write = import_module(f"{__name__}.{form}").write
        return write(run, form, to)
    return (_write_picture if form in _PICTURES else _write_tables)(run, form, to)


def _write_picture(run: Any, form: str, to: Path) -> list[Path]:
    from dask_blackbox.report.picture import picture_png, picture_svg

    card = run.card()
    if form == "svg":
        to.write_text(picture_svg(run, card), encoding="utf-8")
    else:
        to.write_bytes(picture_png(run, card))
    return [to]


_TABLES = ("tasks", "errors", "logs", "metrics", "events", "workers", "spans")


def _write_tables(run: RunTables, form: str, to: Path) -> list[Path]:
    """Write each table as a file of a folder; one without rows has its columns all the same."""
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
    import polars as pl

    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.col(name).cast(pl.List(pl.String)).list.join(";") for name in lists
    )
