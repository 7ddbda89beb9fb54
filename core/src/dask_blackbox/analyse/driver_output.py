"""What the driver and its programs printed, apart from Dask's own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import polars as pl

from dask_blackbox.analyse.frames import EXCEPTION_LINKS, user_frames
from dask_blackbox.analyse.signatures.distributed import CALLBACK_FAILED
from dask_blackbox.analyse.signatures.python import ASYNCIO_TASK_FAILED, THREAD_FAILED
from dask_blackbox.formatting import class_of
from dask_blackbox.run_tables import RunTables

# Loggers of Dask and of what it brings. Their lines reach stderr in the format of
# `distributed.admin.log-format`, or as its loggers' own rows.
OF_DASK = r"(?:distributed|dask|dask_blackbox|tornado|bokeh|asyncio|py\.warnings)\b"
_PRINTED_BY_THEM = rf"\S+ \S+ - {OF_DASK}\S* - [A-Z]+ - "
_ERRORS_OF_THEM = rf"^\S+ \S+ - {OF_DASK}\S* - (?:WARNING|ERROR|CRITICAL) - "
# Python's own process for shared memory, which outlives a process that was killed.
_AT_EXIT = "resource_tracker: "
# Our own log lines, where no logging is configured: they are not the job's.
_OF_OURS = r"^dask-blackbox\b"
# The further lines of "Compute Failed".
_OF_A_FAILED_TASK = r"^(?:Key|State|Function|args|kwargs|Task|Exception|Traceback): "


def last_output(run: RunTables) -> str | None:
    """Return the last line of the driver that is not Dask's; None if there is none."""
    own = _own_lines(run)
    return own["message"].to_list()[-1] if len(own) else None


def last_error_before(run: RunTables, at: float, *, within: float) -> str | None:
    """Return the last line on the driver's stderr, which local workers' programs share.

    Args:
        at: Epoch seconds; later lines do not count.
        within: Seconds before it; earlier lines do not count.
    """
    moment, since = (datetime.fromtimestamp(each, UTC) for each in (at, at - within))
    own = _own_lines(run).filter(
        (pl.col("logger") == "stderr") & pl.col("at").is_between(since, moment)
    )
    return own["message"].to_list()[-1] if len(own) else None


def was_printed(run: RunTables, name: str, message: str) -> bool:
    """Return whether the driver printed or logged an exception, as Python ends a traceback.

    Args:
        name: The exception's class, without its module.
    """
    first = message.partition("\n")[0].strip()
    own = _own_lines(run)["message"].str.strip_chars()
    return own.str.ends_with(f"{name}: {first}").any()


def _is_error_of_dask(line: str) -> bool:
    """Return whether a line of the driver's output is an error or warning that Dask logged."""
    return re.match(_ERRORS_OF_THEM, line) is not None


def _own_lines(run: RunTables) -> pl.DataFrame:
    return own_lines(run).filter(pl.col("role") == "driver")


def own_lines(run: RunTables) -> pl.DataFrame:
    """Return the lines of the job's own code, in whichever process."""
    own = run.logs.filter(
        pl.col("role").is_in(["driver", "worker"])
        & ~pl.col("logger").fill_null("").str.contains(f"^{OF_DASK}")
    )
    own = own.with_row_index(_ROW)
    further = _tracebacks_of_dask(own)
    return own.filter(
        ~pl.col("message").str.contains(
            f"{_PRINTED_BY_THEM}|{_OF_A_FAILED_TASK}|{_AT_EXIT}|{_OF_OURS}"
        )
        & (pl.col("message").str.strip_chars() != "")
        & ~pl.col(_ROW).is_in(further)
    ).drop(_ROW)


def _tracebacks_of_dask(logs: pl.DataFrame) -> list[int]:
    """Return the rows of the driver's lines that continue what Dask logged with a traceback.

    Each line of stderr is a row of its own, and only the first has the logger's name.
    """
    printed = logs.filter((pl.col("role") == "driver") & (pl.col("logger") == "stderr"))
    if not printed["message"].str.contains(_ERRORS_OF_THEM).any():
        return []
    rows = printed.sort("pid", "seq").select(_ROW, "message").rows()
    further: list[int] = []
    of_dask = in_traceback = False
    for index, (row, message) in enumerate(rows):
        if re.match(_PRINTED_BY_THEM, message):
            of_dask, in_traceback = _is_error_of_dask(message), False
        elif of_dask and message == _TRACEBACK:
            frame = rows[index + 1][1] if index + 1 < len(rows) else ""
            # The driver's own traceback may follow: it begins in the job's own code.
            of_dask = in_traceback = not user_frames(frame)
        elif of_dask and message.strip() and message not in EXCEPTION_LINKS:
            of_dask = in_traceback
            in_traceback = message.startswith(" ")
        if of_dask and not re.match(_PRINTED_BY_THEM, message):
            further.append(row)
    return further


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
_ENDED = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_USAGE = re.compile(r"^[Uu]sage: (?P<program>.+?) (?:\[OPTIONS\]|\[-)")
_REFUSED = re.compile(r"^(?:\S+: error|Error): (?P<message>.+)$")
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


def logged_failures(run: RunTables) -> tuple[PrintedFailure, ...]:
    """Return what Dask's own processes logged with a traceback on the driver's stderr."""
    return tuple(each for each in run.once(_printed_failures) if each.logged)


def _printed_failures(run: RunTables) -> tuple[PrintedFailure, ...]:
    logs = run.logs.filter(
        (pl.col("role") == "driver") & (pl.col("logger") == "stderr")
    ).sort("seq")
    lines = [
        (at, str(message))
        for at, message in zip(
            (logs["at"].dt.epoch("us") / 1e6).to_list(),
            logs["message"].to_list(),
            strict=True,
        )
    ]
    return (*_with_tracebacks(lines), *_of_options(lines))


def _with_tracebacks(lines: list[tuple[float, str]]) -> Iterator[PrintedFailure]:
    before = logged = ""
    found: PrintedFailure | None = None
    for index, (_, line) in enumerate(lines):
        if line == _TRACEBACK:
            # What a traceback is chained to has been printed before it.
            if not (chained := before in EXCEPTION_LINKS):
                of_dask = _is_error_of_dask(before)
                of_dask = of_dask and not CALLBACK_FAILED.search(before)
                logged = before if of_dask else ""
            first = found if chained else None
            found = _traceback_at(lines[index : index + _LONGEST], before)
            if found is not None and first is not None:
                found = _chained(first, found, before)
            if found is not None:
                yield replace(found, logged=logged)
        if line.strip():
            before = line


def _chained(first: PrintedFailure, last: PrintedFailure, link: str) -> PrintedFailure:
    traceback = f"{first.traceback}\n\n{link}\n\n{last.traceback}"
    return replace(last, traceback=traceback, root=first.root or first.text)


def _traceback_at(lines: list[tuple[float, str]], before: str) -> PrintedFailure | None:
    thread, callback = THREAD_FAILED.search(before), CALLBACK_FAILED.search(before)
    task = ASYNCIO_TASK_FAILED.search(before)
    for index, (at, line) in enumerate(lines[1:], start=1):
        if line.startswith(" ") or not line:
            continue
        ended = _ENDED.match(line)
        if ended is None:
            return None
        return PrintedFailure(
            at,
            class_of(ended["name"]),
            (ended["message"] or "").strip(),
            "\n".join(text for _, text in lines[: index + 1]),
            thread=thread["thread"] if thread else None,
            task=task["task"] if task else None,
            callback=callback["callback"] if callback else None,
        )
    return None


def _of_options(lines: list[tuple[float, str]]) -> Iterator[PrintedFailure]:
    program, since = "", 0
    for index, (at, line) in enumerate(lines):
        if usage := _USAGE.match(line):
            program, since = usage["program"], index
        elif program and index - since <= _NEAR and (why := _REFUSED.match(line)):
            yield PrintedFailure(at, "", why["message"].strip(), program=program)
            program = ""
