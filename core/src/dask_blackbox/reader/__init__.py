"""Recordings opened from a store, by URL or by what people type.

What needs tables is loaded when it is asked for: a recorder only lists runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dask_blackbox.reader.run_index import RunEntry, list_runs, marked_runs
from dask_blackbox.reader.run_lookup import find_run

if TYPE_CHECKING:
    from dask_blackbox.reader.run import Run

__all__ = ["Run", "RunEntry", "find_run", "list_runs", "marked_runs"]


def __getattr__(name: str) -> object:
    if name != "Run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dask_blackbox.reader.run import Run

    return Run
