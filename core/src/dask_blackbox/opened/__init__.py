"""Recordings opened from a store, by URL or by what people type."""

from __future__ import annotations

from dask_blackbox.opened.finding_runs import find_run
from dask_blackbox.opened.listing import RunEntry, list_runs, marked_runs
from dask_blackbox.opened.opening import Run

__all__ = ["Run", "RunEntry", "find_run", "list_runs", "marked_runs"]
