"""A run in the formats of other tools: traces, profiles, tables, pictures."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

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

_HOMES = {
    "perfetto": "perfetto",
    "speedscope": "speedscope",
    "svg": "pictures",
    "png": "pictures",
}


def export(run: object, form: str, to: Path) -> list[Path]:
    """Write a run (a `Run`) and return the files.

    Args:
        form: One of `FORMATS`.
        to: The file, or of tables the folder.
    """
    home = import_module(f"{__name__}.{_HOMES.get(form, 'table_files')}")
    write: Callable[[object, str, Path], list[Path]] = home.write
    return write(run, form, to)
