"""What had failed before the verdict: one value for all kinds; and what ended the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import lacked_a_program, root_of_chain
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice, advice_on_text
from dask_blackbox.analyse.wording import words_of_tasks
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.events import ProgramFailed
from dask_blackbox.finding import ChainStep, Confidence, Subject
from dask_blackbox.formatting import class_of, code_line

SURE = ("probable", "proved")
"""Grades of what may have led to any exception."""

AT_ONCE = 5.0  # seconds between what one process prints and its exit

SHOWN = 3
MOST = 1_000
"""The first lines of a job that are looked at: a flood of them takes no longer."""

MOST_TEXTS = 200
"""Different texts of failed tasks that are looked for in lines."""


Grade = Literal["evidence", "possible", "probable", "proved", "certain", "given"]
"""How sure it is that something led to the verdict.

`evidence`: it may have nothing to do with it.  `possible`: it may have led there, where what
ended the run reports something missing, refused or left over.  `probable`: results were wrong
after it, so that any exception of the job's may follow.  `proved`: the driver's code, or an
identity (a key, an address, a path), shows that it did.  `certain`: the act itself is recorded,
and the verdict stays as sure as it was.  `given`: the verdict's own rule gives
it as the reason, or the verdict asks for what is gone.
"""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Something that had failed.

    Attributes:
        at: Epoch seconds.
        name: Name of the exception's class; empty: not known.
        words: What is said of it.
        message: What was raised or printed.
        source: Of the evidence; empty: it is none.
        see: The command that shows it.
        grade: How sure it is that it led to the verdict.
        advice: Whether a retry helps after it.
        line: Where the job's own code raised it (`etl.py:12`); empty: not known.
        root: The task that failed, where what ended the run is what its failure led to:
            then the verdict is about that task.
        subject: What the verdict is about then, if that is no task.
        then: What it led to before the verdict.
        rule: The verdict's rule then; empty: that of a failed task, or as it was.
        sure: How sure it is what it was, where the grade is `given`.
        prefix: Of the tasks that failed so.
        number: How many they were.
        of_task: A task, or a worker, printed it.
        kind: The row by which it may have led there.
    """

    at: float
    name: str = ""
    words: Words
    message: str
    source: str
    grade: Grade = "possible"
    advice: Advice = UNKNOWN
    line: str = ""
    see: str | None = None
    root: TaskFailure | None = None
    subject: Subject | None = None
    then: tuple[ChainStep, ...] = ()
    rule: str = ""
    sure: Confidence = "high"
    prefix: str = ""
    number: int = 1
    of_task: bool = False
    kind: str = ""


def of_task(failure: TaskFailure, **more: Any) -> Earlier:
    """Return the failure of a task.

    Args:
        failure: What it raised.
        more: Other fields; with `root`, the verdict is about that task.
    """
    named: dict[str, Any] = {
        "name": class_of(failure.exception),
        "message": failure.message,
    }
    return Earlier(
        at=failure.at,
        advice=advice_on_text(failure.exception, failure.message, failure.bases),
        line=code_line(failure.frame),
        **(named | more),
    )


@dataclass(frozen=True, kw_only=True)
class Program(Earlier):
    """A program that had failed."""

    program: ProgramFailed


def what_ended(case: Case) -> tuple[str, str] | None:
    """Return class and message of what ended the run; None for an exit code."""
    failure, exception = case.blame.failure, case.exception
    if failure is not None:
        return failure.raised[:2]
    return None if exception is None else (exception.exception, exception.message)


def _lacked_a_program(case: Case) -> bool:
    """Return whether what ended the run is that a program could not be started."""
    ended = case.blame.failure or case.exception
    return ended is not None and lacked_a_program(ended.traceback)


def ended_with(case: Case, test: Callable[[str, str], bool]) -> bool:
    """Return whether a test of class and message holds for what ended the run."""
    ended, exception = what_ended(case), case.exception
    if _lacked_a_program(case):
        return False  # which no task makes
    if ended is None or test(*ended):
        return True  # of an exit code, nothing is known
    if case.blame.failure is not None or exception is None:
        return False
    # What is printed and exits, or is raised on purpose, was raised for another.
    root = root_of_chain(exception.traceback) if len(exception.chain) > 1 else None
    return root is not None and test(*root)


def handled_last(case: Case) -> TaskFailure | None:
    """Return the failed task whose error the driver had received last when it exited."""
    survived = case.outcome.survived
    if case.exception is not None or not survived:
        return None
    last = (survived[-1].exception, survived[-1].message)
    return next((f for f in case.failures if (f.exception, f.message) == last), None)


def joined_at(case: Case, worker: str | None) -> float:
    """Return when a worker joined, epoch seconds; 0 where that is not recorded."""
    if worker is None:
        return 0.0
    rows = case.run.workers.filter(pl.col("address") == worker)
    joined = (rows["joined"].dt.epoch("us") / 1e6).max()
    return float(joined) if isinstance(joined, int | float) else 0.0


def handled_failure(failure: TaskFailure, who: str, message: str) -> Earlier:
    """Return the failure of a task that the job handled, and what it said of it."""
    return of_task(
        failure,
        name=failure.raised.name,
        message=failure.raised.message,
        words=words_of_tasks.of_handled_failure(failure, who, message),
        source="tasks",
        root=failure,
        prefix=failure.prefix,
    )
