"""What the driver and its programs printed, apart from Dask's own lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.frames import EXCEPTION_LINKS, user_frames
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    CALLBACK_FAILED,
    CONNECT_TIMED_OUT,
    PRELOAD_SET_UP,
)
from dask_blackbox.analyse.signatures.python import (
    ASYNCIO_TASK_FAILED,
    LOG_TIME,
    THREAD_FAILED,
)
from dask_blackbox.formatting import class_of, utc
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables, epoch

# Loggers of Dask and of what it brings. Their lines reach stderr in the format of
# `distributed.admin.log-format`, or as its loggers' own rows.
OF_DASK = r"(?:distributed|dask|dask_blackbox|tornado|bokeh|asyncio|py\.warnings)\b"
_PRINTED_BY_THEM = rf"\S+ \S+ - {OF_DASK}\S* - [A-Z]+ - "
_ERRORS_OF_THEM = rf"^\S+ \S+ - {OF_DASK}\S* - (?:WARNING|ERROR|CRITICAL) - "
# `SubprocessCluster` logs all that a scheduler that did not start had printed.
_STDERR_OF_PROGRAM = r"^\S+ \S+ - distributed\.deploy\.subprocess - ERROR - Traceback"
# Python's own process for shared memory, which outlives a process that was killed.
_AT_EXIT = "resource_tracker: "
# Our own log lines, in whatever format the job logs: they are not the job's.
_OF_OURS = r"^dask-blackbox\b|\bdask-blackbox continue[ds] without\b"
# Older recordings hold the lines on our own preload.
_OUR_PRELOAD = r"dask_blackbox_preload\b"
# What `logging.basicConfig` and command-line programs print before a message.
_LEVEL = bounded(
    r"^(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|Error)\b[:\s]+)(?:[\w.]+:(?=\S))?"
)
# What `logging` prints where a record cannot be formatted, or its stream is closed.
_OF_LOGGING = (
    r"^(?:--- Logging error ---|Call stack:|Unable to print the message and arguments|"
    r"Use the traceback above to help find the error)"
)
# By this, Dask ends a wait of its own.
_END_OF_A_WAIT = r"^distributed\.client\.AllExit$"
# The further lines of "Compute Failed".
_OF_A_FAILED_TASK = r"^(?:Key|State|Function|args|kwargs|Task|Exception|Traceback): "


def last_output(run: RunTables) -> str | None:
    """Return the last line of the driver that is not Dask's; None if there is none."""
    own = _own_lines(run)
    return own["message"].to_list()[-1] if len(own) else None


def without_log_prefix(line: str) -> str:
    """Return a printed line without the time, logger and level that `logging` puts first."""
    timed = LOG_TIME.match(line)
    return line[timed.end() :] if timed else _LEVEL.sub("", line)


def last_error_before(run: RunTables, at: float, *, within: float) -> str | None:
    """Return the last line on the driver's stderr, which local workers' programs share.

    Args:
        at: Epoch seconds; later lines do not count.
        within: Seconds before it; earlier lines do not count.
    """
    moment, since = (utc(each) for each in (at, at - within))
    own = _own_lines(run).filter(
        (pl.col("logger") == "stderr") & pl.col("at").is_between(since, moment)
    )
    return own["message"].to_list()[-1] if len(own) else None


@dataclass(frozen=True, kw_only=True)
class Preload:
    """A preload that Dask reported to set up, in a process that shares the driver's stderr.

    Attributes:
        module: Name of the module, or of its file.
        at: Epoch seconds of its last set-up.
        times: How often it was set up.
        last: The last line that its own logger printed since then; may be empty.
    """

    module: str
    at: float
    times: int
    last: str


def last_preload(run: RunTables, *, until: float) -> Preload | None:
    """Return the preload that was set up last before a moment (epoch seconds)."""
    at = epoch("at")
    begun = lines_of(run, PRELOAD_SET_UP, by=["driver"]).filter(
        (at < until) & ~pl.col("message").str.contains(_OUR_PRELOAD)
    )
    found = PRELOAD_SET_UP.search(begun["message"][-1]) if len(begun) else None
    if found is None:
        return None
    file, since = Path(found["what"]), begun["at"][-1].timestamp()
    prefix = f"distributed.preload.{file.stem} - "
    own = run.logs.filter(
        (pl.col("role") == "driver")
        & at.is_between(since, until)
        & pl.col("message").str.contains(prefix, literal=True)
    ).sort("at")
    last = str(own["message"][-1]).partition(prefix)[2] if len(own) else ""
    return Preload(
        module=file.name,
        at=since,
        times=int(begun["message"].str.ends_with(found["what"]).sum()),
        last=last.partition(" - ")[2],
    )


def was_printed(run: RunTables, name: str, message: str) -> bool:
    """Return whether the driver printed or logged an exception, as Python ends a traceback.

    Args:
        name: The exception's class, without its module.
    """
    first = message.partition("\n")[0].strip()
    own = _own_lines(run)["message"].str.strip_chars()
    return own.str.ends_with(f"{name}: {first}").any()


def _own_lines(run: RunTables) -> pl.DataFrame:
    return own_lines(run).filter(pl.col("role") == "driver")


def own_lines(run: RunTables) -> pl.DataFrame:
    """Return the lines of the job's own code, in whichever process."""
    lines = run.logs.with_row_index(_ROW).filter(
        pl.col("role").is_in(["driver", "worker"])
    )
    if lines.is_empty():
        return lines.drop(_ROW)
    of_dask = [line.row for line in run.once(_lines_of_stderr) if line.logged]
    return lines.filter(
        ~pl.col("logger").fill_null("").str.contains(f"^{OF_DASK}")
        & ~pl.col("message").str.contains(
            f"{_PRINTED_BY_THEM}|{_OF_A_FAILED_TASK}|{_AT_EXIT}|{_OF_OURS}|{_END_OF_A_WAIT}|{_OF_LOGGING}"
        )
        & (pl.col("message").str.strip_chars() != "")
        & ~pl.col(_ROW).is_in(of_dask)
    ).drop(_ROW)


class _Line(NamedTuple):
    """One line of the stderr that the driver shares with its programs.

    Attributes:
        row: Its row in the table of log lines.
        at: Epoch seconds.
        logged: The error of Dask's whose traceback it belongs to; empty: it is the job's.
    """

    row: int
    at: float
    text: str
    logged: str


def _lines_of_stderr(run: RunTables) -> tuple[_Line, ...]:
    """Return what the driver's stderr shows, process by process, and whose each line is."""
    rows = (
        run.logs.with_row_index(_ROW)
        .filter((pl.col("role") == "driver") & (pl.col("logger") == "stderr"))
        .sort("pid", "seq")
        .select(_ROW, epoch("at"), pl.col("message").fill_null(""))
        .rows()
    )
    headings = _headings([text for *_, text in rows])
    return tuple(
        _Line(row, at, _TRACEBACK if text.endswith(_TRACEBACK) else text, logged)
        for (row, at, text), logged in zip(rows, headings, strict=True)
    )


def _headings(lines: list[str]) -> Iterator[str]:
    """Yield for each line the error that Dask logged with it as part of a traceback.

    Each line of stderr is a row of its own, and only the first has the logger's name.
    What a callback of a future raised is the job's own, though Dask logs it.
    """
    heading = before = ""
    in_traceback = False
    for index, line in enumerate(lines):
        if bounded(_PRINTED_BY_THEM).match(line):
            is_error = bounded(_ERRORS_OF_THEM).match(line)
            of_dask = is_error and not CALLBACK_FAILED.search(line)
            heading, in_traceback = line if of_dask else "", False
            if bounded(_STDERR_OF_PROGRAM).match(line):
                heading, in_traceback = "", True
            yield ""
        else:
            if line == _TRACEBACK:
                # The driver's own traceback may follow.
                chained = before in EXCEPTION_LINKS
                if not chained and _is_of_the_job(lines[index : index + _LONGEST]):
                    heading = ""
                in_traceback = True
            elif line.strip() and line not in EXCEPTION_LINKS:
                heading = heading if in_traceback else ""
                in_traceback = _is_inside(line)
            yield heading
        before = line if line.strip() else before


def _is_inside(line: str) -> bool:
    """Return whether a line is inside a traceback.

    Markers below a line of code begin in the first column if that line was not indented where
    the exception was pickled.
    """
    return line.startswith(" ") or _MARKERS.fullmatch(line) is not None


def _is_of_the_job(lines: list[str]) -> bool:
    """Return whether the traceback that lines begin with begins in the job's own code.

    Of chained ones, the last goes out from where the exception was received.
    """
    outermost, ended = "", False
    for line, following in pairwise([*filter(str.strip, lines), ""]):
        if line == _TRACEBACK:
            outermost, ended = following, False
        elif ended and line not in EXCEPTION_LINKS:
            break
        else:
            ended = ended or not _is_inside(line)
    return bool(user_frames(outermost))


NOISE = (
    "CommClosedError",
    "StreamClosedError",
    "Connection closed",
    "Failed to communicate with scheduler",
    "Compute Failed",
    "Worker stream died",
)
"""What such lines hold; what they say is a consequence, not a cause."""


_ROW = "row"
_TRACEBACK = "Traceback (most recent call last):"
_MARKERS = bounded(r"[~^]+")
_ENDED = bounded(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_USAGE = bounded(r"^[Uu]sage: (?P<program>.+?) (?:\[OPTIONS\]|\[-)")
_REFUSED = bounded(r"^(?:\S+: error|Error): (?P<message>.+)$")
_NEAR = 6  # lines between the usage and the error
_LONGEST = 200  # lines of one traceback


@dataclass(frozen=True)
class PrintedFailure:
    """The failure of a thread or of a program, as it was printed.

    Attributes:
        at: Epoch seconds.
        exception: Name of the exception's class, without its module; empty: options were
            not accepted.
        message: Its text.
        traceback: As printed; empty for a program that did not accept its options.
        thread: Name of the thread of the driver that ended.
        task: Name of the asyncio task that ended: Python prints that only once nothing
            refers to the task any more, which may be much later.
        callback: Name of the function that Dask had called as a future was done.
        program: What did not accept its options (`python -m dask scheduler`).
        root: The exception that it was chained to, as Python writes it; empty: to none.
        logged: The line of Dask's own with which Dask logged it; empty: Dask did not.
    """

    at: float
    exception: str
    message: str
    traceback: str = ""
    thread: str | None = None
    task: str | None = None
    callback: str | None = None
    program: str | None = None
    root: str = ""
    logged: str = ""

    @property
    def place(self) -> str:
        """Where it was raised, for a sentence; empty for a program."""
        if self.callback is not None:
            return f"the callback '{self.callback.rpartition('.')[2]}'"
        if self.task is not None:
            return f"the asyncio task '{self.task}'"
        return "" if self.thread is None else f"thread '{self.thread}'"

    @property
    def text(self) -> str:
        """The exception as Python writes it, or the message alone."""
        named = f"{self.exception}: {self.message}" if self.exception else self.message
        return named.rstrip(": ")


def printed_failures(run: RunTables) -> tuple[PrintedFailure, ...]:
    """Return what failed in the driver's output: with a traceback, or because of its options.

    Of what Dask logged with a traceback, only what callbacks of futures raised."""
    every = run.once(_printed_failures)
    return tuple(each for each in every if not each.logged)


def number_of_printed_failures(run: RunTables) -> int:
    """Return how many exceptions the driver printed; of a chain, the last one counts."""
    printed = run.once(printed_failures)
    times = Counter(each.traceback for each in printed if each.traceback)
    texts = sorted(times)  # one that another continues comes just before it
    return sum(
        times[text]
        for text, following in pairwise([*texts, ""])
        if not following.startswith(f"{text}\n")
    )


def logged_failures(run: RunTables) -> tuple[PrintedFailure, ...]:
    """Return what Dask's own processes logged with a traceback on the driver's stderr."""
    return tuple(each for each in run.once(_printed_failures) if each.logged)


def _printed_failures(run: RunTables) -> tuple[PrintedFailure, ...]:
    lines = run.once(_lines_of_stderr)
    found = (*_with_tracebacks(lines), *_of_options(lines))
    return tuple(sorted(found, key=lambda each: each.at))


def _with_tracebacks(lines: Sequence[_Line]) -> Iterator[PrintedFailure]:
    before = ""
    found: PrintedFailure | None = None
    for index, line in enumerate(lines):
        if line.text == _TRACEBACK:
            # What a traceback is chained to has been printed before it.
            first = found if before in EXCEPTION_LINKS else None
            found = _traceback_at(lines[index : index + _LONGEST], before)
            if found is not None and first is not None:
                found = _chained(first, found, before)
            if found is not None:
                yield found
        if line.text.strip():
            before = line.text


def _chained(first: PrintedFailure, last: PrintedFailure, link: str) -> PrintedFailure:
    traceback = f"{first.traceback}\n\n{link}\n\n{last.traceback}"
    # Which address it was is only in what Dask makes of a refused connection.
    root = last.text if CONNECT_TIMED_OUT.search(last.message) else None
    return replace(last, traceback=traceback, root=root or first.root or first.text)


def _traceback_at(lines: Sequence[_Line], before: str) -> PrintedFailure | None:
    thread, callback = THREAD_FAILED.search(before), CALLBACK_FAILED.search(before)
    task = ASYNCIO_TASK_FAILED.search(before)
    for index, line in enumerate(lines[1:], start=1):
        if _is_inside(line.text) or not line.text:
            continue
        ended = _ENDED.match(line.text)
        if ended is None:
            return None
        return PrintedFailure(
            line.at,
            class_of(ended["name"]),
            (ended["message"] or "").strip(),
            "\n".join(each.text for each in lines[: index + 1]),
            thread=thread["thread"] if thread else None,
            task=task["task"] if task else None,
            callback=callback["callback"] if callback else None,
            logged=lines[0].logged,
        )
    return None


def _of_options(lines: Sequence[_Line]) -> Iterator[PrintedFailure]:
    program, since = "", 0
    for index, (_, at, line, _) in enumerate(lines):
        if usage := _USAGE.match(line):
            program, since = usage["program"], index
        elif program and index - since <= _NEAR and (why := _REFUSED.match(line)):
            yield PrintedFailure(at, "", why["message"].strip(), program=program)
            program = ""
