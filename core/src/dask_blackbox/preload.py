"""The documented name of the scheduler preload: `--preload dask_blackbox.preload`."""

from __future__ import annotations

from dask_blackbox.autorecord.scheduler import dask_setup, dask_teardown

__all__ = ["dask_setup", "dask_teardown"]
