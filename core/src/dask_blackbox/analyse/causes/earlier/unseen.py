"""What made the thing that an exception is about, where nothing in the recording says why."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import (
    Earlier,
    ended_with,
    what_ended,
)
from dask_blackbox.analyse.explanations import (
    explained_exception,
    explained_failure,
    hint_on,
)
from dask_blackbox.analyse.side_effects import files_of_task, one_file
from dask_blackbox.analyse.symptoms import is_refusal, is_symptom, reported_symptom
from dask_blackbox.analyse.wording import words_of_verdict
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of, short
from dask_blackbox.run_tables import FINISHED


def unseen_reasons(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the part of the run in which the reason may be, of what it itself was to deliver.

    The exception says what was not there.  Where that came from other tasks, why it was not
    there may be found in them, though none of them raised: of such verdicts in the sets of
    scripts from outside, two in three named the root (history of the benchmark).
    """
    if verdict.confidence != "high" or case.outcome.source == "test":
        return
    of_symptom = ended_with(case, is_symptom) or ended_with(case, is_refusal)
    if of_symptom and not _says_why(case):
        for maker in _what_made_it(case):
            symptom = reported_symptom(*(what_ended(case) or ("", "")))
            text = words_of_verdict.unseen_reason(symptom, maker)
            yield Earlier(at=0.0, words=Words(text=text), message=text, source="")


def _what_made_it(case: Case) -> Iterator[str | None]:
    """Yield what the tasks are called that made what an exception is about; None: any."""
    failure, tasks = case.blame.failure, case.run.tasks
    if failure is None:
        if not tasks.filter(FINISHED).is_empty() and _has_lead(case):
            yield None
        return
    own = tasks.filter(pl.col("key") == failure.key)["last_input"].drop_nulls()
    # What has no prefix, the driver gave it, at the line that the traceback shows.
    if not own.is_empty() and (maker := short(case.prefix_of(str(own[0])), 40)):
        yield maker


def _has_lead(case: Case) -> bool:
    """Return whether a task has shown that something was wrong with what it delivered."""
    run = case.run
    warned = run.logs.filter(
        pl.col("key").is_not_null() & (pl.col("level") >= logging.WARNING)
    )
    none = run.tasks.filter(FINISHED & (pl.col("typename") == "NoneType"))["prefix"]
    others = run.tasks.filter(FINISHED & (pl.col("typename") != "NoneType"))["prefix"]
    return bool(
        case.deaths
        or not run.errors.is_empty()
        or not warned.is_empty()
        or {*none} & {*others}
    )


def _says_why(case: Case) -> bool:
    """Return whether an exception reports what is wrong, not only what is missing.

    A module, a setting or a service is not made by tasks, and neither is the file that a task
    is given to read.
    """
    failure, exception = case.blame.failure, case.exception
    name, message = what_ended(case) or ("", "")
    explained = None if exception is None else explained_exception(exception)
    if failure is not None:
        explained = explained_failure(case.run, failure)
        if case.none_result_behind(failure) is not None:
            return True
        if one_file(files_of_task(case.run, failure.key)) is not None:
            return True
    if class_of(name) in ("ImportError", "ModuleNotFoundError") or hint_on(message):
        return True
    return (
        explained is not None
        and explained.fix is not None
        and not explained.is_about_data
        and explained.missing_file is None
    )
