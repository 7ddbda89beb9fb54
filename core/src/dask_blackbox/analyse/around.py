"""What was before and around an exception of a task, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import way_of
from dask_blackbox.analyse.raised import lost_by_the_client
from dask_blackbox.analyse.setups import setup_failed_before
from dask_blackbox.analyse.words import class_of, counted, listed, short

__all__ = [
    "dead_at",
    "died_before",
    "errors_before",
    "how_it_came",
    "how_it_was_lost",
    "raised_before",
    "where_it_was",
]


def where_it_was(case: Case, failure: TaskFailure) -> Iterator[str]:
    """Yield the way to what raised, and who asked for it, without a line of the user's."""
    if failure.frame is not None or not failure.traceback:
        return
    way = " → ".join(f"`{name}`" for name in way_of(failure.traceback))
    if way:
        yield f"It was in {way}"
    exception = case.exception
    if exception and exception.file and failure is case.blame.failure:
        yield f"The driver had asked for it at {exception.file}:{exception.line}"


def how_it_came(failure: TaskFailure) -> Iterator[str]:
    """Yield what was before the exception that the driver got."""
    name, _, how = failure.raised
    if how == "quoted":
        yield (
            f"The {name} itself cannot be pickled, so the driver got an `Exception` with "
            "its text"
        )
    if how == "cut":
        yield (
            "Dask cut its long message (`distributed.admin.max-error-length`), so the "
            f"driver got no {name} to catch"
            if class_of(failure.exception) != name
            else "Dask cut its long message (`distributed.admin.max-error-length`)"
        )
    if failure.members:
        told = [
            f"{class_of(n)}: {short(m, 100)}".rstrip(": ") for n, m in failure.members
        ]
        yield f"In that group: {listed(told)}"
    if failure.root is not None and failure.root[1] != failure.message:
        root, message = failure.root
        yield f"It began with {class_of(root)}: {short(message, 200)}"


def how_it_was_lost(case: Case, failure: TaskFailure) -> Iterator[str]:
    """Yield why the driver got something that speaks of nothing."""
    exception = case.exception
    if failure is case.blame.failure and exception and lost_by_the_client(exception):
        yield (
            f"{failure.raised.name} is no `Exception`, and Dask's client passes on only "
            f"those: the driver got {class_of(exception.exception)} from the client itself"
        )


def raised_before(case: Case, failure: TaskFailure) -> list[str]:
    """Return what earlier attempts of a task had raised, if that was something else."""
    return [
        f"{class_of(name)} ({short(message, 120)})" if message else class_of(name)
        for name, message in errors_before(case, failure)
    ]


def errors_before(case: Case, failure: TaskFailure) -> list[tuple[str, str]]:
    """Return class and message of earlier attempts' errors, of each other class the first.

    What a later attempt meets may be what the first one left behind: half a file, an input
    that was changed in place.
    """
    rows = case.run.errors.filter(
        (pl.col("key") == failure.key) & (pl.col("outcome") == "retried")
    )
    found: dict[str, tuple[str, str]] = {}
    for name, message in rows.sort("at").select("exception", "message").iter_rows():
        if name and class_of(name) != failure.raised.name:
            found.setdefault(class_of(name), (name, message or ""))
    return list(found.values())


def dead_at(case: Case, failure: TaskFailure) -> Counter[str]:
    """Return what workers had died of while they were executing a task that raised later."""
    return Counter(
        case.cause_of(death).slug
        for death in case.deaths
        if failure.key in death.executing and death.at <= failure.at
    )


def died_before(case: Case, failure: TaskFailure) -> Iterator[str]:
    """Yield what had gone wrong before it raised: deaths at the same task, its worker's setup."""
    dead = dead_at(case, failure)
    if dead:
        yield (
            f"Before, {counted(sum(dead.values()), 'worker')} had died while it was "
            f"executing ({', '.join(dead)}), and it was tried again: what it met then may "
            "be what that attempt left"
        )
    if unset := setup_failed_before(case, failure):
        yield unset[0]
