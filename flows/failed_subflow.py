"""A subflow that fails: its parent's card repeats its verdict, and links to it."""

from __future__ import annotations

import ctypes

from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

ONE = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}


@task
def convert(part: int) -> int:
    """Convert a part; a library that part 2 makes crash ends the whole process."""
    if part == 2:  # noqa: PLR2004 - the part that is broken
        ctypes.string_at(0)
    return part


@observed_flow(task_runner=DaskTaskRunner(cluster_kwargs=ONE))
def load(parts: int = 4) -> int:
    """Convert all parts."""
    return sum(convert.map(range(parts)).result())


@observed_flow
def failed_subflow() -> int:
    """Load, and go on with what was loaded."""
    return load() + 1


if __name__ == "__main__":
    failed_subflow()
