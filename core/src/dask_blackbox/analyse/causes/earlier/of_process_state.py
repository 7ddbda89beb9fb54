"""What code had changed in a worker's process, and what exceptions may follow from that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import Earlier
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.symptoms import is_wait
from dask_blackbox.events import ProcessChanged, StateChange
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import exact_size
from dask_blackbox.patterns import bounded

_LIMIT_OF_BYTES = ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_STACK")
_VARIABLE = "environment variable "


class _Effect(NamedTuple):
    """What a change of one kind can bring about.

    Attributes:
        name: Pattern of the changes' names.
        follows: Takes class and message of an exception; says whether it may follow.
        remedy: What to do about it.
    """

    name: str
    follows: Callable[[str, str], bool]
    remedy: str


def _matches(pattern: str) -> Callable[[str, str], bool]:
    compiled = bounded(pattern)
    return lambda name, message: compiled.search(f"{name}: {message}") is not None


_EFFECTS = (
    _Effect(
        "default timeout of sockets",
        is_wait,
        "Look for `socket.setdefaulttimeout`: it applies to the whole process. Pass a "
        "timeout to the call that needs one instead.",
    ),
    _Effect(
        r"RLIMIT_(?:AS|DATA)",
        _matches(r"MemoryError|[Cc]annot allocate|[Uu]nable to allocate|bad_alloc"),
        "Look for `resource.setrlimit` in code that runs on workers, and set the limit back "
        "after the part that needs it.",
    ),
    _Effect(
        "RLIMIT_NOFILE",
        _matches("[Tt]oo many open files"),
        "Look for `resource.setrlimit` in code that runs on workers.",
    ),
    _Effect(
        "RLIMIT_FSIZE",
        _matches("[Ff]ile too large"),
        "Look for `resource.setrlimit` in code that runs on workers.",
    ),
    _Effect(
        "RLIMIT_NPROC",
        _matches("can't start new thread|[Rr]esource temporarily unavailable"),
        "Look for `resource.setrlimit` in code that runs on workers.",
    ),
    _Effect(
        "recursion limit",
        _matches("RecursionError"),
        "Look for `sys.setrecursionlimit` in code that runs on workers.",
    ),
    _Effect(
        "warnings raised as errors",
        _matches(r"^(?:\w+\.)*\w*Warning: "),
        "Look for `warnings.simplefilter('error')` or `filterwarnings`: outside of "
        "`warnings.catch_warnings()`, it applies to the whole process.",
    ),
    _Effect(
        "locale|time zone",
        _matches(
            r"could not convert string to float|does not match format|invalid literal"
        ),
        "Look for `locale.setlocale`, `os.environ['TZ']` and `time.tzset` in code that runs "
        "on workers.",
    ),
)


def changes_of_state(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what had changed in the process of the task that failed."""
    failure = case.blame.failure
    if failure is None:
        return
    name, message, _ = failure.raised
    for change, remedy in _related(case, failure.key, name, message):
        what = f"{change.name} in the worker's process"
        before, now = (_readable(change, each) for each in (change.before, change.now))
        headline = f"The {what} had been changed from {before} to {now}"
        yield Earlier(
            at=failure.at,
            text=f"When '{failure.key}' failed, the {what} was {now}. When the worker "
            f"started, it was {before}.",
            message=headline,
            source="workers",
            headline=headline,
            grade="proved",
            advice=Advice("code", "medium"),
            account=f"{headline}, by code that had run in that process before: it applies to "
            "all tasks there.",
            fix=remedy,
        )


def _related(
    case: Case, key: str, name: str, message: str
) -> Iterator[tuple[StateChange, str]]:
    """Yield the changes from which an exception may follow, with what to do about them."""
    reported = (each for each in case.run.of(ProcessChanged) if each.subject == key)
    for change in (change for each in reported for change in each.changes):
        if change.name.startswith(_VARIABLE):
            variable = re.escape(change.name.removeprefix(_VARIABLE))
            if bounded(rf"\b{variable}\b").search(message):
                yield (
                    change,
                    f"Look for code on workers that changes {change.name[12:]}.",
                )
            continue
        for effect in _EFFECTS:
            if bounded(effect.name).fullmatch(change.name) and effect.follows(
                name, message
            ):
                yield change, effect.remedy


def _readable(change: StateChange, value: str) -> str:
    if change.name in _LIMIT_OF_BYTES and value.isdigit():
        return exact_size(int(value))
    return value
