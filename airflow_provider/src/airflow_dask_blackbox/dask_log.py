"""Dask's own log lines in a fold of the task's log, so that the task's own can be found.

A small cluster says some fifty lines of level INFO when it starts and when it is closed.
They are all recorded; warnings and errors are shown at once, as ever.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dask_blackbox.guard import guard

from airflow_dask_blackbox.task_log import Log

__all__ = ["folded_dask_log"]

_DASK: Final = ("distributed", "dask", "dask_kubernetes", "dask_cloudprovider")
_MOST: Final = 500


class _Fold(logging.Filter):
    """Keeps lines of Dask's below WARNING from a handler, and keeps them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.left_out = 0
        self._last: object = None

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING or not _is_dasks(record.name):
            return True
        if record is not self._last:  # root may have several handlers
            self._last = record
            self._keep(record)
        return False

    def _keep(self, record: logging.LogRecord) -> None:
        if len(self.lines) >= _MOST:
            self.left_out += 1
            return
        at = time.strftime("%H:%M:%S", time.gmtime(record.created))
        self.lines.append(f"{at} {record.name}: {record.getMessage()}")

    def show(self, log: Log) -> None:
        """Print what was kept, in a fold."""
        if not self.lines:
            return
        log.info("::group::Dask's own log")
        for line in self.lines:
            log.info("%s", line)
        if self.left_out:
            log.info("%d more lines are left out", self.left_out)
        log.info("::endgroup::")


def _is_dasks(name: str) -> bool:
    return name.partition(".")[0] in _DASK


@contextmanager
def folded_dask_log(log: Log) -> Iterator[None]:
    """Print what Dask logs inside the block at its end, warnings and errors excepted."""
    fold = _Fold()
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(fold)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(fold)
        with guard("Dask's own log in the task's"):
            fold.show(log)
