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
    made_by = _what_made_it(case) if of_symptom else ""
    if made_by:
        text = f"The exception reports {_symptom(case)}, not why: {made_by}."
        yield Earlier(at=0.0, text=text, message=text, source="")


def _symptom(case: Case) -> str:
    """Return what the exception that ended the run reports."""
    ended = what_ended(case)
    return "what failed" if ended is None else reported_symptom(*ended)


def _what_made_it(case: Case) -> str:
    """Return which part of the run made what an exception is about; may be empty."""
    failure, tasks = case.blame.failure, case.run.tasks
    if _says_why(case):
        return ""
    if failure is None:
        if tasks.filter(FINISHED).is_empty() or not _has_lead(case):
            return ""
        return "the reason may be in the results or files of earlier tasks"
    own = tasks.filter(pl.col("key") == failure.key)["last_input"].drop_nulls()
    if own.is_empty():
        return ""
    maker = short(case.prefix_of(str(own[0])), 40)
    if not maker:
        return ""  # what the driver gave it, at the line that the traceback shows
    return f"the reason may be in '{maker}', which produced its input"


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
