"""Recordings opened from a store, by URL or by what people type.

What needs tables is loaded when it is asked for: a recorder only lists runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dask_blackbox.reader.listing import RunEntry, list_runs, marked_runs

if TYPE_CHECKING:
    from dask_blackbox.reader.run import Run
    from dask_blackbox.reader.run_lookup import find_run

__all__ = ["Run", "RunEntry", "find_run", "list_runs", "marked_runs"]

_HOMES = {"Run": "run", "find_run": "run_lookup"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
