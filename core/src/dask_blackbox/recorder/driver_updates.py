"""How a run gets on: what the recorder reports to a driver whose host shows it."""

from __future__ import annotations

import logging
import time

from dask_blackbox.events import (
    Rows,
    Stall,
    StallOver,
    WorkerExitReport,
    decoded,
    event_rows,
    log_rows,
)
from dask_blackbox.protocol.messages import LogLine, Progress
from dask_blackbox.recorder.progress import ProgressCounter

_ROLES = ("scheduler", "nanny")
_MOST, _AT_ONCE = 200, 20
_LONGEST = 2_000
_SHOWN = {each.kind for each in (Stall, StallOver, WorkerExitReport)}


class DriverUpdates:
    """Gathers what happens between two reports.

    Args:
        counter: Counts the tasks and workers of the same rows.
    """

    def __init__(self, counter: ProgressCounter) -> None:
        self._counter = counter
        self._stall: Stall | None = None
        self._lines: list[LogLine] = []
        self._reported = self._left_out = 0

    def add_rows(self, rows: Rows) -> None:
        """Take the rows of a batch, redacted."""
        for at, kind, subject, detail in event_rows(rows):
            self._event(at, kind, subject, detail)
        for at, role, source, _, _, logger, level, message, key in log_rows(rows):
            if role not in _ROLES or level is None or level < logging.WARNING:
                continue
            if logger.startswith("distributed"):
                keys = (key,) if key else ()
                # In one process with others, it is called what it is.
                who = role if source == role else f"{role} {source}"
                self._line(at, level, who, message, keys)

    def report(self) -> Progress:
        """Return what has happened, and forget the lines that are in it."""
        counted = self._counter.progress()
        lines, self._lines = tuple(self._lines[:_AT_ONCE]), self._lines[_AT_ONCE:]
        return Progress(
            at=time.time(),
            submitted=counted.submitted,
            finished=counted.done,
            failed=counted.failed,
            rate=counted.rate,
            workers=counted.workers,
            memory=counted.memory,
            memory_limit=counted.memory_limit,
            stall=self._stall,
            lines=lines,
            lines_left_out=self._left_out,
        )

    def _event(self, at: float, kind: str, subject: str, detail: str) -> None:
        if kind not in _SHOWN:
            return
        match decoded(at, kind, subject, detail):
            case Stall() as stall:
                self._stall = stall
            case StallOver():
                self._stall = None
            case WorkerExitReport() as report:
                self._worker_exit(report)

    def _worker_exit(self, report: WorkerExitReport) -> None:
        if report.asked_to_close or report.exit_code == 0:
            return
        if report.signal is None and report.exit_code is None:
            return  # it is still ending, as after a script that closed nothing
        keys = tuple(each.key for each in report.executing if each.key)
        how = report.signal or f"exit code {report.exit_code}"
        text = f"The worker died: {how}."
        if keys:
            text += f" It was executing {', '.join(keys)}."
        if report.stack:
            text += f"\n{report.stack}"
        source = f"worker {report.subject}"
        self._line(report.at, logging.ERROR, source, text, keys)

    def _line(
        self, at: float, level: int, source: str, text: str, keys: tuple[str, ...]
    ) -> None:
        if self._reported >= _MOST:
            self._left_out += 1
            return
        self._reported += 1
        cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        self._lines.append(
            LogLine(at=at, level=level, source=source, text=cut, keys=keys)
        )
