"""Recordings opened from a store, by URL or by what people type."""

from __future__ import annotations

from dask_blackbox.reader.listing import RunEntry, list_runs, marked_runs
from dask_blackbox.reader.opening import Run
from dask_blackbox.reader.run_lookup import find_run

__all__ = ["Run", "RunEntry", "find_run", "list_runs", "marked_runs"]
