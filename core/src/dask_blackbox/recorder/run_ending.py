"""How a run ended, combined from what its processes report.

The parent of a command knows the exit code, and the command's processes know the exception.
If a cluster is recorded from outside, only its tasks show how the work ended.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from dask_blackbox.decoding import checked
from dask_blackbox.errors import BlackboxError, MalformedRecordingError
from dask_blackbox.events import COLUMNS, Rows, event_rows
from dask_blackbox.identity import time_limit_of
from dask_blackbox.manifest import (
    DriverException,
    SourceAccount,
    Stopped,
    decode_exception,
    decode_stopped,
)
from dask_blackbox.protocol.messages import LEFT, End

_REPORTED = ("driver-exception", "test-failed", "host-stopped")
_OF_TIMEOUT = (124, 137, 143)
"""What `timeout` exits with: by itself, with `-s KILL` or `-k`, with `--preserve-status`."""
_STOP, _OUTCOME = (COLUMNS["task"].index(name) for name in ("stop", "outcome"))
_FAILED, _FINISHED = ("erred", "killed"), "finished"


class _Process(msgspec.Struct):
    """Which process of a command raised an exception, and those that it descends from."""

    pid: int | None = None
    parents: tuple[int, ...] = ()


class _Command(msgspec.Struct):
    """What `dask blackbox run` started."""

    argv: tuple[str, ...] = ()


_decode_command = checked(msgspec.json.Decoder(_Command).decode)
_decode_process = checked(msgspec.json.Decoder(_Process).decode)


class RunEndResolver:
    """Collects events, and decides at the end how the run ended."""

    def __init__(self, redact: Callable[[DriverException], DriverException]) -> None:
        self._redact = redact
        self._exception: DriverException | None = None
        self._raised_by: int | None = None
        self._of_child = False
        self._test: DriverException | None = None
        self._stopped: Stopped | None = None
        self._limit: float | None = None
        self._lost_at = math.inf
        self._failed, self._last_success = False, 0.0

    def add_rows(self, rows: Rows) -> None:
        """Collect facts from the rows of a batch."""
        # The scheduler's own order: by the clocks of workers, what came a millisecond
        # later may have been earlier.
        for row in rows.get("task", ()):
            if row[_OUTCOME] == _FINISHED:
                self._failed = False
                stop = row[_STOP]
                if isinstance(stop, int | float):
                    self._last_success = max(self._last_success, stop)
            elif row[_OUTCOME] in _FAILED:
                self._failed = True
        for at, kind, _, detail in event_rows(rows):
            if kind == "graph-failed" and at > self._last_success:
                self._failed = True
            elif kind == "command-started":
                with contextlib.suppress(MalformedRecordingError):
                    self._limit = time_limit_of(_decode_command(detail).argv)
            elif kind == "driver-lost":
                self._lost_at = at
            elif kind in _REPORTED and at <= self._lost_at:
                # What its processes raise later, because their output is no longer read, for
                # one, has not ended the run.
                with contextlib.suppress(MalformedRecordingError):
                    self._reported(at, kind, detail)

    def _reported(self, at: float, kind: str, detail: str) -> None:
        if kind == "host-stopped":
            self._stopped = msgspec.structs.replace(decode_stopped(detail), at=at)
            return
        exception = self._redact(decode_exception(detail))
        if kind == "driver-exception":
            process = _decode_process(detail)
            # What raises after a process that has started it is a consequence: a worker of
            # its cluster, for one, that no longer finds a scheduler.
            if self._raised_by is None or self._raised_by not in process.parents:
                self._exception, self._raised_by = exception, process.pid
                self._of_child = bool(process.parents)
        elif self._test is None:  # the first test that failed
            self._test = exception

    def resolve(self, end: End) -> End:
        """Return how the run ended, with what else is known of it."""
        if end.state == LEFT:
            failed = self._failed or (self._exception and not self._of_child)
            end = msgspec.structs.replace(
                end, state="failed" if failed else "succeeded"
            )
        known = self._stopped or self._by_its_command(end)
        # A host's answer may come while the run ends, when it has been reported that it
        # was stopped and not yet why.
        if end.stopped is None or (known is not None and end.stopped.reason == "other"):
            end = msgspec.structs.replace(end, stopped=known)
        if end.exception is None and end.state in ("failed", "aborted"):
            # Tests that failed say more than the exit code that their runner ends with.
            exception = self._test or self._exception
            if end.state == "aborted" and self._of_child:
                exception = None  # its parent had survived that, and ended of a signal
            end = msgspec.structs.replace(end, exception=exception)
        return end

    def _by_its_command(self, end: End) -> Stopped | None:
        """Return that `timeout`, which the command was given to, ended it, if it did."""
        limit, seconds = self._limit, end.lasted
        if limit is None or end.exit_code not in _OF_TIMEOUT:
            return None
        if seconds is not None and seconds < limit:
            return None  # a code of the job's own
        return Stopped(
            by="timeout", reason="run-timeout", limit=limit, setting="timeout"
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a recording ended.

    Attributes:
        end: What the driver said, or what its silence means.
        ended: Epoch seconds.
        sources: What was received from each source, and what was not.
        segments: The segments that are here, by name; called, they are read (`OSError`
            where that fails).
        uploaded: Names of those that the store has, with their checksums.
        behind: Seconds by which the store was behind at the worst.
        store_error: What the store last said, if it was no.
    """

    end: End
    ended: float
    sources: dict[str, SourceAccount]
    segments: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    uploaded: dict[str, str] = field(default_factory=dict)
    behind: float = 0.0
    store_error: BlackboxError | None = None
