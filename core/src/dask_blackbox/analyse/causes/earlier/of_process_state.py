"""What code had changed in a worker's process, and what exceptions may follow from that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.symptoms import is_wait
from dask_blackbox.analyse.wording import words_of_state
from dask_blackbox.events import ProcessChanged, StateChange
from dask_blackbox.finding import Finding
from dask_blackbox.patterns import bounded

_VARIABLE = "environment variable "


class _Effect(NamedTuple):
    """What a change of one kind can bring about.

    Attributes:
        name: Pattern of the changes' names.
        follows: Takes class and message of an exception; says whether it may follow.
    """

    name: str
    follows: Callable[[str, str], bool]


def _matches(pattern: str) -> Callable[[str, str], bool]:
    compiled = bounded(pattern)
    return lambda name, message: compiled.search(f"{name}: {message}") is not None


_EFFECTS = (
    _Effect("default timeout of sockets", is_wait),
    _Effect(
        r"RLIMIT_(?:AS|DATA)",
        _matches(r"MemoryError|[Cc]annot allocate|[Uu]nable to allocate|bad_alloc"),
    ),
    _Effect("RLIMIT_NOFILE", _matches("[Tt]oo many open files")),
    _Effect("RLIMIT_FSIZE", _matches("[Ff]ile too large")),
    _Effect(
        "RLIMIT_NPROC",
        _matches("can't start new thread|[Rr]esource temporarily unavailable"),
    ),
    _Effect("recursion limit", _matches("RecursionError")),
    _Effect("warnings raised as errors", _matches(r"^(?:\w+\.)*\w*Warning: ")),
    _Effect(
        "locale|time zone",
        _matches(
            r"could not convert string to float|does not match format|invalid literal"
        ),
    ),
)


def changes_of_state(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what had changed in the process of the task that failed."""
    failure = case.blame.failure
    if failure is None:
        return
    name, message, _ = failure.raised
    for change in _related(case, failure.key, name, message):
        words = words_of_state.of_change(failure.key, change)
        yield Earlier(
            at=failure.at,
            words=words,
            message=words.headline,
            source="workers",
            grade="proved",
            advice=Advice("code", "medium"),
        )


def _related(case: Case, key: str, name: str, message: str) -> Iterator[StateChange]:
    """Yield the changes from which an exception may follow."""
    reported = (each for each in case.run.of(ProcessChanged) if each.subject == key)
    for change in (change for each in reported for change in each.changes):
        if change.name.startswith(_VARIABLE):
            variable = re.escape(change.name.removeprefix(_VARIABLE))
            if bounded(rf"\b{variable}\b").search(message):
                yield change
            continue
        for effect in _EFFECTS:
            if bounded(effect.name).fullmatch(change.name) and effect.follows(
                name, message
            ):
                yield change
