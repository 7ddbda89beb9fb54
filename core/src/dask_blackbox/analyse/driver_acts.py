"""What the driver's own code did before a failure: programs that failed, files it removed."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import CLIENT_CANCELS
from dask_blackbox.events import (
    DriverAttached,
    DriverSignalled,
    FileRemoved,
    ProgramFailed,
)
from dask_blackbox.finding import ChainStep, Evidence, Finding
from dask_blackbox.formatting import short, short_with_paths

_RAISED = frozenset({"driver-exception", "task-exception"})
_EXIT_STATUS = r"\b(?:exit (?:status|code)|exited with(?: code)?|status|code) {}\b"


def failed_programs(case: Case) -> Iterator[ProgramFailed]:
    """Yield the programs of the driver that exited with an error, but those that it ended.

    Args:
        case: The run.
    """
    ended = {each.target for each in case.run.of(DriverSignalled)}
    for each in case.run.of(ProgramFailed):
        if each.program not in ended:
            yield each


def how_it_ended(program: ProgramFailed) -> str:
    """Return how a program ended, and its last line of errors, after its name.

    Args:
        program: What the driver's own code had started.
    """
    code = program.code or 0
    how = f"exited with code {code}"
    if code < 0:
        how = f"was ended by {_name_of_signal(-code)}"
    error = f": {short(program.error, 160)}" if program.error else ""
    return f"{how}{error}"


def _name_of_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def names_exit_of(program: ProgramFailed, texts: str) -> bool:
    """Say whether texts tell of a program's exit code, as `CalledProcessError` does.

    Args:
        program: The program.
        texts: Of a verdict and its exception.
    """
    return re.search(_EXIT_STATUS.format(program.code), texts) is not None


def cancelled_by_driver(case: Case) -> bool:
    """Say whether the last client that cancelled tasks was the driver's own.

    Args:
        case: The run.
    """
    logs = case.run.logs.filter(
        (pl.col("role") == "scheduler") & printed_by(CLIENT_CANCELS)
    )
    messages = logs.sort("at")["message"].tail(1).to_list()
    asked = [CLIENT_CANCELS.match(each) for each in messages]
    own = {each.client for each in case.run.of(DriverAttached)} - {None}
    return any(each is not None and each["client"] in own for each in asked)


def with_removed_file(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on a missing file with the line of the driver that had removed it.

    Args:
        case: The run.
        verdict: Its verdict.
    """
    failure = case.blame.failure
    at = case.outcome.decided_at if failure is None else failure.at
    if verdict.rule not in _RAISED or at is None:
        return verdict
    message = "" if case.exception is None else case.exception.message
    text = f"{verdict.title} {message}" if failure is None else failure.message
    before = [each for each in _removed(case, text) if each.at <= at]
    if not before:
        return verdict
    found = max(before, key=lambda each: each.at)
    place = f"{found.file}:{found.line}" if found.file else "the driver's own code"
    name = f"{Path(found.file).name}:{found.line}" if found.file else place
    what = short_with_paths(found.path, 80)
    step = ChainStep(
        at=found.at,
        text=f"{name} {found.act} {what}",
        evidence=(
            Evidence(text=f"{place} {found.act} {what}.", source="driver", at=found.at),
        ),
    )
    return msgspec.structs.replace(
        verdict,
        title=f"{step.text}; then {short_with_paths(verdict.title, 120)}",
        cause=(
            f"The driver's own code had {found.act} {what} {at - found.at:.1f} s before, at "
            f"{place} in {found.function}. {verdict.cause}"
        ),
        remedy=(
            f"Look at {place}: remove or rename files only once all tasks that read them are "
            "done."
        ),
        evidence=(*step.evidence, *verdict.evidence),
        follows=step,
        retry_advice="code",
        retry_confidence="medium",
    )


def _removed(case: Case, text: str) -> Iterator[FileRemoved]:
    """Yield what the driver removed that a text names, or that a named file was in."""
    for each in case.run.of(FileRemoved):
        path = re.escape(each.path)
        if each.path and re.search(rf"(?<![\w/]){path}(?![\w.-])", text):
            yield each
