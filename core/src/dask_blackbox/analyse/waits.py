"""Does a task that is at work compute, or does it wait for something outside of Dask?

Two things can be observed, and both must say so: the call that it is in is one that waits,
and its worker's process has used next to no processor while it was in there.
"""

from __future__ import annotations

import re

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hangs import Hang, HangingTask
from dask_blackbox.analyse.state import last_sign_of_life

__all__ = ["idle_share"]

_FILES = (
    "/threading.py",
    "/selectors.py",
    "/socket.py",
    "/ssl.py",
    "/subprocess.py",
    "/queue.py",
    "/multiprocessing/connection.py",
    "/multiprocessing/popen_fork.py",
)
_CALLS = re.compile(r"\b(?:sleep|wait\w*|acquire|recv\w*|accept|select|poll)\s*\(")
_BUSY = 20.0
_FEWEST = 3


def idle_share(case: Case, hang: Hang, task: HangingTask) -> float | None:
    """Return the share of a core that the worker of a waiting task used meanwhile.

    None if the task is in no call that waits, if its worker computed, or if nobody knows.
    """
    if not task.stack or task.executing_for is None:
        return None
    innermost = task.stack[-1]
    if not innermost.file.endswith(_FILES) and not _CALLS.search(innermost.code):
        return None
    begun = hang.at - task.executing_for
    metrics = case.run.metrics.filter(pl.col("source") == task.worker)
    moments = metrics["at"].dt.epoch("us") / 1e6
    # A sample tells of the time before it.
    during = metrics.filter(
        (moments > begun + 1) & (moments < last_sign_of_life(case.run))
    )
    used = during["cpu"].drop_nulls()
    if len(used) < _FEWEST:
        return None
    share = float(used.median() or 0.0)  # type: ignore[arg-type]
    return share / 100 if share < _BUSY else None
