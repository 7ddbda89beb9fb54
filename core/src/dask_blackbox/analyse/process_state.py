"""Changes of a worker's process (limits, locale, defaults) that explain a task's exception."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.symptoms import is_wait
from dask_blackbox.events import ProcessChanged, StateChange
from dask_blackbox.finding import ChainStep, Evidence, Finding
from dask_blackbox.formatting import exact_size, short_with_paths

_RULES = frozenset(
    {"driver-exception", "task-exception", "task-memory-error", "too-many-open-files"}
)
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
    compiled = re.compile(pattern)
    return lambda name, message: compiled.search(f"{name}: {message}") is not None


_EFFECTS = (
    _Effect(
        "default timeout of sockets",
        is_wait,
        "Look for `socket.setdefaulttimeout`: it holds for the whole process. Pass a timeout "
        "to the call that needs one instead.",
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
        "`warnings.catch_warnings()`, it holds for the whole process.",
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


def with_changed_state(case: Case, verdict: Finding) -> Finding:
    """Return a verdict on a task's exception with what had changed in its process before."""
    failure = case.blame.failure
    if verdict.rule not in _RULES or verdict.follows is not None or failure is None:
        return verdict
    name, message, _ = failure.raised
    for change, remedy in _related(case, failure.key, name, message):
        what = f"{change.name} in the worker's process"
        before, now = (
            _readable(change, value) for value in (change.before, change.now)
        )
        text = f"The {what} had been changed from {before} to {now}"
        evidence = Evidence(
            text=f"When '{failure.key}' failed, the {what} was {now}. When the worker "
            f"started, it was {before}.",
            source="workers",
            at=failure.at,
        )
        return msgspec.structs.replace(
            verdict,
            title=f"{text}; then {short_with_paths(verdict.title, 120)}",
            confidence="low" if verdict.confidence == "low" else "medium",
            cause=f"{verdict.cause} {text}, by code that had run there before: it holds for "
            "all tasks of the process.",
            remedy=remedy,
            evidence=(evidence, *verdict.evidence),
            follows=ChainStep(at=failure.at, text=text, evidence=(evidence,)),
            retry_advice="code",
            retry_confidence="medium",
        )
    return verdict


def _related(
    case: Case, key: str, name: str, message: str
) -> Iterator[tuple[StateChange, str]]:
    """Yield the changes from which an exception may follow, with what to do about them."""
    reported = (each for each in case.run.of(ProcessChanged) if each.subject == key)
    for change in (change for each in reported for change in each.changes):
        if change.name.startswith(_VARIABLE):
            variable = re.escape(change.name.removeprefix(_VARIABLE))
            if re.search(rf"\b{variable}\b", message):
                yield (
                    change,
                    f"Look for code on workers that changes {change.name[12:]}.",
                )
            continue
        for effect in _EFFECTS:
            if re.fullmatch(effect.name, change.name) and effect.follows(name, message):
                yield change, effect.remedy


def _readable(change: StateChange, value: str) -> str:
    if change.name in _LIMIT_OF_BYTES and value.isdigit():
        return exact_size(int(value))
    return value
