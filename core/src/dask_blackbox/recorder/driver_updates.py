"""How a run gets on: what the recorder reports to a driver whose host shows it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from dask_blackbox.protocol.messages import LogLine, Progress
from dask_blackbox.recorder.progress import ProgressCounter

__all__ = ["DriverUpdates"]

_ROLES = ("scheduler", "nanny")
_MOST, _AT_ONCE = 200, 20
_LONGEST = 2_000


class DriverUpdates:
    """Gathers what happens between two reports.

    Args:
        counter: Counts the tasks and workers of the same rows.
    """

    def __init__(self, counter: ProgressCounter) -> None:
        self._counter = counter
        self._stall: dict[str, object] | None = None
        self._lines: list[LogLine] = []
        self._said = self._left_out = 0

    def add_rows(self, rows: Mapping[str, Any]) -> None:
        """Take the rows of a batch, redacted."""
        for at, kind, subject, detail in rows.get("event", ()):
            self._event(at, kind, subject, detail)
        for at, role, source, _, _, logger, level, message, key in rows.get("log", ()):
            wanted = role in _ROLES and (level or 0) >= logging.WARNING
            if wanted and str(logger).startswith("distributed"):
                keys = (key,) if key else ()
                self._line(at, int(level), f"{role} {source}", message, keys)

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
        if kind == "stall":
            self._stall = json.loads(detail)
        elif kind == "stall-over":
            self._stall = None
        elif kind == "worker-certificate":
            self._certificate(at, subject, json.loads(detail))

    def _certificate(self, at: float, subject: str, reported: dict[str, Any]) -> None:
        if reported.get("asked_to_close") or reported.get("exit_code") == 0:
            return
        keys = tuple(
            str(each["key"])
            for each in reported.get("executing", ())
            if each.get("key")
        )
        how = reported.get("signal") or f"exit code {reported.get('exit_code')}"
        text = f"The worker died: {how}."
        if keys:
            text += f" It was executing {', '.join(keys)}."
        if reported.get("stack"):
            text += f"\n{reported['stack']}"
        self._line(at, logging.ERROR, f"worker {subject}", text, keys)

    def _line(
        self, at: float, level: int, source: str, text: str, keys: tuple[str, ...]
    ) -> None:
        if self._said >= _MOST:
            self._left_out += 1
            return
        self._said += 1
        cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        self._lines.append(
            LogLine(at=at, level=level, source=source, text=cut, keys=keys)
        )
