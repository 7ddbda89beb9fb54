"""How a scheduler identifies a run: one row of the table in `schedulers`, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import quote

from dask_blackbox.identity.values import Identity, filled, fresh_run_id, joined, link
from dask_blackbox.patterns import bounded

Variables = Mapping[str, str]
Derive = Callable[[Variables, Sequence[str]], Mapping[str, str | None]]

_PLACE = bounded(r"\{(\w+)(?:\|(\w+))?\}")

_MOMENT = bounded(r"-\d{4}-\d{2}-\d{2}(?:-\d{2}-\d{2}-\d{2}(?:-\d{1,6})?)?(?=-|$)")
_UNIQUE = bounded(
    r"-(?:\d{8,20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,40})(?=-|$)"
)
_GENERATED = bounded(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")


def stable(name: str, *, generated: bool = True) -> str:
    """Return a name without what makes it unique, so that it is the same from night to night.

    That is a day or a moment (as the SDK of SageMaker adds it), a number of eight digits or
    more (a day, a scheduled time of Argo's), a hash or a UUID.

    Args:
        name: The name.
        generated: It ends in the five letters that Kubernetes makes for `generateName`; a name
            that a person chose may look the same: `load-mssql`.
    """
    plain = _UNIQUE.sub("", _MOMENT.sub("", name))
    return _GENERATED.sub("", plain) if generated else plain


class Scheduler(NamedTuple):
    """How one scheduler tells a process which job, run and attempt it is.

    A template holds variables in braces: `{CI_JOB_ID}`.  It applies if all of them are set and
    not empty.  `{CI_PROJECT_PATH|last}` applies one of `FILTERS`.  Names in lower case come
    from `derive`.

    Attributes:
        kind: What the scheduler is called in recordings.
        source: The page of its documentation that lists the variables.
        known_by: Variables that are set where it is; `NAME=value`: with this value.
        job: Templates of the parts of the job's name; those that apply are joined by dots.
        run: Templates of the run's id, the best first; none applies: an id is made.
        attempt: The variable with the number of the attempt; empty: the scheduler does not say.
        first: What that variable is at the first attempt.
        leg: Templates of what tells legs of one job apart (of a matrix), the best first.
            Legs are compared with themselves, so a leg is part of the job's name.
        link: Templates of the address of the run's page, the best first.
        facts: Templates of what else identifies the run there, by name.
        script: The name of the script is part of the job's name: the scheduler's job may run
            several.
        derive: Returns what is not simply a variable, in names in lower case.
    """

    kind: str
    source: str
    known_by: tuple[str, ...]
    job: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    attempt: str = ""
    first: int = 1
    leg: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    facts: Mapping[str, str] = {}
    script: bool = True
    derive: Derive | None = None


def _last(text: str) -> str:
    return re.split(r"[.:/]", text)[-1]


FILTERS: Mapping[str, Callable[[str], str]] = {
    "last": _last,
    "name": lambda text: PurePath(text).name,
    "origin": lambda text: text.rstrip("/"),
    "quoted": lambda text: quote(text, safe=""),
    "stable": stable,
    "uuid": lambda text: text.strip("{}"),
}
"""What a template can do to a variable: the part after the last dot, colon or slash; the last
part of a path; without a slash at its end; quoted for an address; without what makes it
unique; without braces."""


class Seen(NamedTuple):
    """What a scheduler said of a run.

    Attributes:
        kind: Of the scheduler.
        job: Parts of the job's name; empty: it does not name the job.
        leg: Which leg of the job; None: it has none, or the scheduler does not say.
        run: Id of the run; None: it does not say.
        attempt: Which try, from 1.
        facts: The rest.
        script: The script's name is part of the job's.
    """

    kind: str
    job: tuple[str, ...]
    leg: str | None
    run: str | None
    attempt: int
    facts: dict[str, str]
    script: bool


def seen(row: Scheduler, environ: Variables, argv: Sequence[str]) -> Seen | None:
    """Return what a scheduler says of this process; None: it is not there."""
    values = environ
    if row.derive is not None:
        # What is not derived is not taken from a variable of the same name either.
        theirs = {name: text for name, text in environ.items() if not name.islower()}
        derived = row.derive(environ, argv)
        values = theirs | {name: text for name, text in derived.items() if text}
    if not all(_holds(each, values) for each in row.known_by):
        return None
    parts = (_applied(each, values) for each in row.job)
    facts = {name: _applied(each, values) for name, each in row.facts.items()}
    facts["url"] = link(_best(row.link, values))
    return Seen(
        kind=row.kind,
        job=tuple(part for part in parts if part),
        leg=_best(row.leg, values),
        run=_best(row.run, values),
        attempt=max(number(values.get(row.attempt), row.first) - row.first + 1, 1),
        facts={name: fact for name, fact in facts.items() if fact},
        script=row.script,
    )


def identity_of(found: Seen, script: str | None, around: Sequence[Seen]) -> Identity:
    """Return the identity that a scheduler gives to a run.

    Args:
        found: What the scheduler said.
        script: Name of what runs there.
        around: What other schedulers said, around it.
    """
    ours = script if found.script or not found.job else None
    facts = filled(kind=found.kind, leg=found.leg, **found.facts)
    if not found.job:
        facts["job_from"] = "script"
    outside: list[object] = [
        filled(kind=each.kind, run=each.run, **each.facts) for each in around
    ]
    if outside:
        facts["within"] = outside
    return Identity(
        job=joined(*found.job, ours, found.leg) or f"{found.kind}-job",
        run_id=found.run or fresh_run_id(),
        attempt=found.attempt,
        host=facts,
    )


def number(text: str | None, default: int) -> int:
    """Return `text` as a number, `default` where it is none."""
    try:
        return int(text or default)
    except ValueError:
        return default


def _holds(condition: str, values: Variables) -> bool:
    name, wants, value = condition.partition("=")
    return values.get(name) == value if wants else bool(values.get(name))


def _best(templates: Sequence[str], values: Variables) -> str | None:
    return next((text for each in templates if (text := _applied(each, values))), None)


def _applied(template: str, values: Variables) -> str | None:
    """Return a template with its variables filled in; None: one of them is not set."""
    if any(not values.get(place[1]) for place in _PLACE.finditer(template)):
        return None

    def value(place: re.Match[str]) -> str:
        text = values[place[1]]
        return FILTERS[place[2]](text) if place[2] else text

    return _PLACE.sub(value, template)
