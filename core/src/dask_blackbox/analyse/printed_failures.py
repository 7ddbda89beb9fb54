"""What threads and programs of the driver printed of their own ends.

Python prints the exception that ends a thread, or a process, and whoever waits for it gets
none; a program that does not accept its options only prints that.  Programs that the driver
starts share its standard error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.driver_output import is_error_of_dask
from dask_blackbox.analyse.signatures.distributed import CALLBACK_FAILED
from dask_blackbox.analyse.signatures.python import THREAD_FAILED
from dask_blackbox.formatting import class_of
from dask_blackbox.run_tables import RunTables

_TRACEBACK = "Traceback (most recent call last):"
_ENDED = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_USAGE = re.compile(r"^[Uu]sage: (?P<program>.+?) (?:\[OPTIONS\]|\[-)")
_REFUSED = re.compile(r"^(?:\S+: error|Error): (?P<message>.+)$")
_NEAR = 6  # lines between the usage and the error
_LONGEST = 200  # lines of one traceback


@dataclass(frozen=True)
class PrintedFailure:
    """The end of a thread, or of a program, as it was printed.

    Attributes:
        at: Epoch seconds.
        exception: Name of the exception's class, without its module; empty: options were
            not accepted.
        message: Its text.
        traceback: As printed; empty for a program that did not accept its options.
        thread: Name of the thread of the driver that ended.
        callback: Name of the function that Dask had called as a future was done.
        program: What did not accept its options (`python -m dask scheduler`).
    """

    at: float
    exception: str
    message: str
    traceback: str = ""
    thread: str | None = None
    callback: str | None = None
    program: str | None = None

    @property
    def place(self) -> str:
        """Where it was raised, for a sentence; empty for a program."""
        if self.callback is not None:
            return f"the callback '{self.callback.rpartition('.')[2]}'"
        return "" if self.thread is None else f"thread '{self.thread}'"

    @property
    def text(self) -> str:
        """The exception as Python writes it, or the message alone."""
        named = f"{self.exception}: {self.message}" if self.exception else self.message
        return named.rstrip(": ")


def printed_failures(run: RunTables) -> tuple[PrintedFailure, ...]:
    """Return what ended with a traceback, or of its options, in the driver's output.

    Of what Dask logged with a traceback, only what callbacks of futures raised.

    Args:
        run: The recording.
    """
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
    before = ""
    for index, (_, line) in enumerate(lines):
        of_dask = is_error_of_dask(before) and not CALLBACK_FAILED.search(before)
        if line == _TRACEBACK and not of_dask:
            found = _traceback_at(lines[index : index + _LONGEST], before)
            if found is not None:
                yield found
        if line.strip():
            before = line


def _traceback_at(lines: list[tuple[float, str]], before: str) -> PrintedFailure | None:
    thread, callback = THREAD_FAILED.search(before), CALLBACK_FAILED.search(before)
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
