"""Dask's own log lines in a fold of the task's log, so that the task's own can be found.

A small cluster says some fifty lines of level INFO when it starts and when it is closed.
Warnings and errors are shown at once, but only the first ones of a kind: two hundred failed
tasks, or a worker that is restarted again and again, would bury the verdict.
All lines are recorded.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded

from airflow_dask_blackbox.task_log import Log

__all__ = ["DaskLines", "Repeats", "folded_dask_log"]

_FIRST: Final = 2
"""How many similar warnings are shown at once."""
_LONGEST: Final = 1_000
"""Characters of a line; a scheduler that loses a worker lists all of its results."""

_DASK: Final = ("distributed", "dask", "dask_kubernetes", "dask_cloudprovider")
_MOST: Final = 500
_SHOWN: Final = "_dask_blackbox_shown"

_PRINTED: Final = bounded(
    rf"[\d-]+ [\d:,.]+ - (?P<name>(?:{'|'.join(_DASK)})(?:\.\w+)*) - "
    r"(?P<level>[A-Z]+) - (?P<text>.*)"
)
"""A line in Dask's own format, as a process without other logging prints it."""

_VARYING: Final = bounded(r"'[^']*'|\"[^\"]*\"|[0-9a-f]*[0-9][0-9a-f]*")
_RAISED: Final = bounded(r"^Exception: [\"']*(\w+)", re.MULTILINE)
_LONGEST_KIND: Final = 80


class Repeats:
    """Counts similar lines of this process."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()

    def count(self, name: str, text: str) -> int:
        """Return how many lines of a logger have been similar so far, this one included.

        Similar lines differ in numbers and quoted values only.  Failed tasks are similar
        if they raised the same class of exception.
        """
        raised = _RAISED.search(text)
        first = raised[1] if raised else text.partition("\n")[0]
        kind = (name, _VARYING.sub("#", first)[:_LONGEST_KIND])
        self._seen[kind] += 1
        return self._seen[kind]


class DaskLines:
    """Lines that Dask has logged and that are not shown at once, as far as they fit."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._left_out = 0
        self._repeats = Repeats()
        self._repeated = 0

    def repeats(self, name: str, text: str) -> bool:
        """Count a warning; return whether enough similar ones have been shown."""
        found = self._repeats.count(name, text) > _FIRST
        self._repeated += found
        return found

    def add(self, line: str) -> None:
        """Keep a line."""
        if len(self._lines) < _MOST:
            self._lines.append(line)
        else:
            self._left_out += 1

    def add_if_dasks(self, printed: str) -> bool:
        """Keep a line that a process has printed, if it is such a line; return whether."""
        line = _PRINTED.match(printed)
        if line is None:
            return False
        if line["level"] not in {"DEBUG", "INFO"} and not self.repeats(
            line["name"], line["text"]
        ):
            return False
        self.add(printed)
        return True

    def show(self, log: Log) -> None:
        """Print what was kept, in a fold."""
        if not self._lines:
            return
        repeated = (
            f", with {self._repeated} repeated warnings" if self._repeated else ""
        )
        log.info("::group::Dask's own log%s", repeated)
        for line in self._lines:
            log.info("%s", line)
        if self._left_out:
            log.info("%d more lines are left out", self._left_out)
        log.info("::endgroup::")


class _Fold(logging.Filter):
    """Keeps lines of Dask's from a handler: those below WARNING, and repeated warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: DaskLines | None = DaskLines()

    def filter(self, record: logging.LogRecord) -> bool:
        if not _is_dasks(record.name):
            return True
        # Root may have several handlers.
        shown = record.__dict__.get(_SHOWN)
        if shown is None:
            shown = record.__dict__[_SHOWN] = self._is_shown(record)
        return bool(shown)

    def _is_shown(self, record: logging.LogRecord) -> bool:
        warns = record.levelno >= logging.WARNING
        if self.lines is None:
            return warns
        text = record.getMessage()
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]} … cut {len(text) - _LONGEST} characters"
            record.msg, record.args = text, ()
        if warns and not self.lines.repeats(record.name, text):
            return True
        at = time.strftime("%H:%M:%S", time.gmtime(record.created))
        level = f" {record.levelname}" if warns else ""
        self.lines.add(f"{at}{level} {record.name}: {text}")
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
    """Print what Dask logs inside the block at its end, except the first warnings of a kind.

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
