"""Dask's own log lines in a fold of the task's log, so that the task's own can be found.

A small cluster says some fifty lines of level INFO when it starts and when it is closed.
They are all recorded; warnings and errors are shown at once, as ever.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dask_blackbox.guard import guard

from airflow_dask_blackbox.task_log import Log

__all__ = ["DaskLines", "folded_dask_log"]

_DASK: Final = ("distributed", "dask", "dask_kubernetes", "dask_cloudprovider")
_MOST: Final = 500

_PRINTED: Final = re.compile(
    rf"[\d-]+ [\d:,.]+ - (?:{'|'.join(_DASK)})(?:\.\w+)* - (?:DEBUG|INFO) - "
)
"""The beginning of such a line in Dask's own format, as a process without other logging prints it."""


class DaskLines:
    """Lines that Dask has logged below WARNING, as far as they fit into a fold."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._left_out = 0

    def add(self, line: str) -> None:
        """Keep a line."""
        if len(self._lines) < _MOST:
            self._lines.append(line)
        else:
            self._left_out += 1

    def add_if_dasks(self, printed: str) -> bool:
        """Keep a line that a process has printed, if it is such a line; return whether."""
        if _PRINTED.match(printed) is None:
            return False
        self.add(printed)
        return True

    def show(self, log: Log) -> None:
        """Print what was kept, in a fold."""
        if not self._lines:
            return
        log.info("::group::Dask's own log")
        for line in self._lines:
            log.info("%s", line)
        if self._left_out:
            log.info("%d more lines are left out", self._left_out)
        log.info("::endgroup::")


class _Fold(logging.Filter):
    """Keeps lines of Dask's below WARNING from a handler."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: DaskLines | None = DaskLines()
        self._last: object = None

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING or not _is_dasks(record.name):
            return True
        # Root may have several handlers.
        if record is not self._last and self.lines is not None:
            self._last = record
            at = time.strftime("%H:%M:%S", time.gmtime(record.created))
            self.lines.add(f"{at} {record.name}: {record.getMessage()}")
        return False

    def show(self, log: Log) -> None:
        """Print what was kept, in a fold; what comes afterwards is dropped."""
        lines, self.lines = self.lines, None
        if lines is not None:
            lines.show(log)


def _is_dasks(name: str) -> bool:
    return name.partition(".")[0] in _DASK


def _open_clusters() -> set[object]:
    """Return the clusters of this process that are not closed yet."""
    deploy = sys.modules.get("distributed.deploy.spec")
    clusters = () if deploy is None else list(deploy.SpecCluster._instances)  # noqa: SLF001
    return {each for each in clusters if each.status.name != "closed"}


@contextmanager
def folded_dask_log(log: Log) -> Iterator[None]:
    """Print what Dask logs inside the block at its end, warnings and errors excepted.

    A cluster that was interrupted while it started, or that nobody closes, is closed by Dask
    when the process exits: what it logs then would stand below Airflow's traceback, and is
    not printed.
    """
    fold = _Fold()
    handlers = list(logging.getLogger().handlers)
    for handler in handlers:
        handler.addFilter(fold)
    before, left = _open_clusters(), set[object]()
    try:
        yield
    finally:
        with guard("Dask's own log in the task's"):
            fold.show(log)
            left = _open_clusters() - before
        if not left:
            for handler in handlers:
                handler.removeFilter(fold)
