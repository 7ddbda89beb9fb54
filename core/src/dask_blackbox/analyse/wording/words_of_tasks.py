"""Words for what tasks had failed of."""

from __future__ import annotations

from collections.abc import Sequence

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import how_died
from dask_blackbox.analyse.explanations import message_text
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.analyse.worker_memory import memory_need
from dask_blackbox.events import DriverSkipped
from dask_blackbox.formatting import (
    class_of,
    code_line,
    counted,
    quoted_key,
    short,
    uncapitalised,
)


def raised_in(prefix: str, name: str, message: str) -> str:
    """Return the headline of a task that failed."""
    return f"{name} in '{short(prefix, 40)}': {message_text(name, message)}"


def _raised(failure: TaskFailure, text: str, remedy: str = "") -> Words:
    name = class_of(failure.exception)
    headline = raised_in(failure.called, name, failure.message)
    return Words(text=text, headline=headline, remedy=remedy)


def remedy_of_deaths(case: Case, deaths: Sequence[WorkerExit]) -> str:
    """Return what helps against deaths: how much memory, or which rule says what to do."""
    slug = case.cause_of(deaths[-1]).slug
    if slug == "worker-memory-limit":
        return memory_need(case, tuple(deaths)).advice()
    if slug == "unknown":
        return ""
    return f"`dask blackbox rules {slug}` says what to do about such deaths."


def of_failed_tasks(case: Case, first: TaskFailure, number: int) -> Words:
    received = "the driver had received this exception and continued"
    if first.key in case.unreceived:
        received = "no call of the driver received this exception"
    return _raised(
        first,
        f"{counted(number, 'task')} of '{first.prefix}' had failed with "
        f"{class_of(first.exception)}: {short(first.message, 120)}; {received}",
    )


def of_handled_failure(failure: TaskFailure, who: str, message: str) -> Words:
    """Return the words for the failure of a task that the job handled.

    Args:
        who: Who said that, and how: `The driver had printed`.
        message: What it said.
    """
    name, text = failure.raised[:2]
    return Words(
        text=f"A task of '{failure.prefix}' had failed with {name}: {short(text, 120)}; "
        f"{uncapitalised(who)}: {short(message, 160)}",
        headline=raised_in(failure.called, name, text),
    )


def of_killed_task(
    case: Case, first: TaskFailure, deaths: Sequence[WorkerExit]
) -> Words:
    headline = killed_workers(case, first, deaths)
    return Words(
        text=f"{headline} ({case.cause_of(deaths[-1]).because}), with "
        f"{quoted_key(first.key)}; the driver had received {class_of(first.exception)} and "
        "continued",
        headline=headline,
        remedy=remedy_of_deaths(case, deaths),
    )


def killed_workers(case: Case, task: TaskFailure, deaths: Sequence[WorkerExit]) -> str:
    """Return how often, and how, workers died as they ran a task."""
    who = "A worker died" if len(deaths) == 1 else f"Workers died {len(deaths)} times"
    return f"{who}{how_died(case, deaths)} while running '{short(task.prefix, 40)}'"


def of_holding_attempt(
    key: str, prefix: str, name: str, message: str, held: str
) -> Words:
    """Return the words for an attempt that failed with a lock for which others waited.

    Args:
        held: What it held, in a sentence.
    """
    return Words(
        text=f"An attempt of {quoted_key(key)} raised {name}: {short(message, 120)}. {held}",
        headline=raised_in(prefix, name, message),
        remedy="Release what a task holds in a `finally:`, or by `with`, so that an exception "
        "releases it, too.",
    )


def of_attempt(prefix: str, name: str, message: str) -> Words:
    return Words(
        text=f"An earlier attempt of the task had raised {name}: {short(message, 120)}",
        headline=raised_in(prefix, name, message),
    )


def of_left_out(failure: TaskFailure, call: DriverSkipped) -> Words:
    line = code_line(call, " at ", name_only=True)
    return _raised(
        failure,
        f"{counted(call.skipped, 'task')} of {call.futures} had no result, since "
        f"'{short(failure.called, 40)}' had failed with {class_of(failure.exception)}: "
        f"{short(failure.message, 120)}; the driver left out their results{line} "
        '(`errors="skip"`)',
        '`client.gather(…, errors="skip")` leaves out the results of failed futures: compare '
        "the number of results with the number of futures, or remove "
        '`errors="skip"`.',
    )
