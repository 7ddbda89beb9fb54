"""In what two runs differ, by their sketches; what always differs is none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from dask_blackbox.analyse.changes.code_changes import MARKED, Places, alike, shown
from dask_blackbox.analyse.changes.prefixes import (
    code_of_prefixes,
    ended_early,
    given_to_prefix,
    shape_of_graphs,
    values_of,
)
from dask_blackbox.analyse.sketching import normal_value
from dask_blackbox.formatting import counted, size
from dask_blackbox.sketch import Sketch

_ROLES = ("driver", "scheduler", "workers")
_LEAST_GROWTH = math.log(1.1)
_LEAST_GROWTH_OF_MEAN = math.log(1.5)
_LARGER = 2.0
_LOOSE = ("script",)
# Git is asked with a time limit: on a busy host, nothing is known of a repository.
_OF_GIT = ("git commit", "uncommitted changes")
# A client sets it while it is open, so it depends on the moment at which it is read.
_OF_A_CLIENT = ("scheduler", "dask.distributed")
_PLAIN = ("parameters", "code", "cluster-shape", "host")


class Difference(NamedTuple):
    """One thing that is not as it was.

    Attributes:
        kind: A word of `finding.Change`.
        what: Which one.
        before: As it was; None: it was not there.
        after: As it is; None: it is gone.
        by: How much, where it is a number: the logarithm of its growth.
        where: Of code, which functions, with file and line, as far as that is known.
        given: Of a value that a function was given, `module:function:name`; else empty.
        used_by: The prefixes whose functions were given it, or which read more.
        diff: Of code, a unified diff, where its source was recorded.
    """

    kind: str
    what: str
    before: str | None
    after: str | None
    by: float | None = None
    where: str = ""
    given: str = ""
    used_by: tuple[str, ...] = ()
    diff: str | None = None


def differences(before: Sketch, after: Sketch) -> list[Difference]:
    """Return in what a run differs from an earlier one.

    Only what both of them know of is compared.
    """
    plain = [each for kind in _PLAIN for each in _plain(kind, before, after)]
    places = Places(before, after)
    code = _prefix_differences(before, after, places)
    return [
        *_by_role("package", before, after),
        *_pythons(before, after),
        *_config(before, after),
        *(_placed(each, places) for each in (*plain, *code)),
        *(
            Difference("graph-shape", what, old, new, by)
            for what, old, new, by in shape_of_graphs(before, after)
        ),
        *_inputs(before, after),
    ]


def _prefix_differences(
    before: Sketch, after: Sketch, places: Places
) -> list[Difference]:
    """Return prefixes that run other code, and what was given to those that do not.

    A value of a closure or a default is code where the source that gives it is another,
    and a parameter where all code is what it was.
    """
    code: list[Difference] = []
    given: dict[str, list[str]] = {}
    for what, was, now in code_of_prefixes(before, after):
        name = what.partition(" ")[2]
        values = given_to_prefix(name, before, after)
        if values and places.known and not places.of(what):
            for each in values:
                given.setdefault(each, []).append(name)
        else:
            code.append(Difference("code", what, was, now))
    return code + [
        Difference(
            "parameters",
            _name_of(each),
            values_of(each, before),
            values_of(each, after),
            given=each,
            used_by=tuple(names),
        )
        for each, names in given.items()
    ]


def _name_of(given: str) -> str:
    """Return how a value is called: `least (given to job:tidy)`, `LEAST (global of job)`."""
    owner, _, name = given.rpartition(":")
    return f"{name} ({'given to' if ':' in owner else 'global of'} {owner})"


def _placed(change: Difference, places: Places) -> Difference:
    """Return a change of code with the functions that are not as they were."""
    if change.kind != "code" or None in (change.before, change.after):
        return change
    if not change.what.startswith(("prefix ", *MARKED)):
        return change
    what = change.what
    return change._replace(where=places.of(what), diff=places.diff(what))


def _both_know(kind: str, before: Sketch, after: Sketch) -> bool:
    return kind not in before.unknown and kind not in after.unknown


def _values(sketch: Sketch, kind: str) -> dict[str, str]:
    return sketch.facts.get(kind, {})


def _changed(
    old: dict[str, str], new: dict[str, str], *, loosely: bool = False
) -> Iterator[Difference]:
    """Yield the values that differ.

    Args:
        loosely: A value in which only a date, a token or a port differs is the same.
    """
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        loose = loosely or name in _LOOSE
        if was == now or (loose and _alike(was, now)):
            continue
        yield Difference("", name, was, now)


def _alike(was: str | None, now: str | None) -> bool:
    known = was is not None and now is not None
    return known and normal_value(was or "") == normal_value(now or "")


def _plain(kind: str, before: Sketch, after: Sketch) -> Iterator[Difference]:
    if not _both_know(kind, before, after):
        return
    old, new = _values(before, kind), _values(after, kind)
    if not _both_know(f"{kind}/others", before, after):
        of_command = ("-", "argument ")
        old, new = (
            {n: value for n, value in values.items() if n.startswith(of_command)}
            for values in (old, new)
        )
    if not all(any(map(_is_variable, values)) for values in (old, new)):
        # Runs of older versions, and of code that named none, recorded none.
        old, new = (
            {n: value for n, value in values.items() if not _is_variable(n)}
            for values in (old, new)
        )
    if kind == "code":
        yield from _code(old, new)
        return
    for each in _changed(old, new, loosely=kind == "parameters"):
        # Every machine has cores: where they are not reported, they were not measured.
        if kind != "host" or None not in (each.before, each.after):
            yield each._replace(kind=kind)


def other_dates(before: Sketch, after: Sketch) -> Iterator[Difference]:
    """Yield the parameters of which only a date, a time or an id is another one."""
    old, new = _values(before, "parameters"), _values(after, "parameters")
    for what in sorted(old.keys() & new.keys()):
        if old[what] != new[what] and _alike(old[what], new[what]):
            yield Difference("parameters", what, old[what], new[what])


def _is_variable(name: str) -> bool:
    return name.startswith("environment ")


def _code(old: dict[str, str], new: dict[str, str]) -> Iterator[Difference]:
    for each in _changed(old, new):
        what, was, now = each.what, each.before, each.after
        if what in _OF_GIT and None in (was, now):
            continue
        if not what.startswith(MARKED):
            yield each._replace(kind="code")
        elif was is not None and now is not None:
            if alike(was, now):
                yield Difference("code", what, shown(was), shown(now))
        elif not what.startswith("module "):
            # (Which modules a driver has loaded depends on how far it came.)
            was, now = (None if mark is None else shown(mark) for mark in (was, now))
            yield Difference("code", what, was, now)


def _by_role(kind: str, before: Sketch, after: Sketch) -> Iterator[Difference]:
    """Yield changes of packages, once if they are the same in all roles."""
    found: dict[tuple[str, str | None, str | None], list[str]] = {}
    known = 0
    for role in _ROLES:
        fact_kind = f"{kind}/{role}"
        if not _both_know(fact_kind, before, after):
            continue
        known += 1
        old, new = _values(before, fact_kind), _values(after, fact_kind)
        if not _both_know(f"{fact_kind}/others", before, after):
            common = old.keys() & new.keys()
            old = {name: old[name] for name in common}
            new = {name: new[name] for name in common}
        for each in _changed(old, new):
            found.setdefault((each.what, each.before, each.after), []).append(role)
    for (name, was, now), roles in found.items():
        elsewhere = [
            role
            for role in _ROLES
            if role not in roles and _known_elsewhere(name, role, before, after)
        ]
        where = f" ({', '.join(roles)})" if elsewhere else ""
        yield Difference(kind, f"{name}{where}", was, now)


def _known_elsewhere(name: str, role: str, before: Sketch, after: Sketch) -> bool:
    """Return whether a role is known not to have changed a package in the same way."""
    fact_kind = f"package/{role}"
    there = [name in _values(sketch, fact_kind) for sketch in (before, after)]
    # Of a role whose other packages are unknown, a package that is not there is unknown.
    reported = _both_know(fact_kind, before, after) and _both_know(
        f"{fact_kind}/others", before, after
    )
    return any(there) if reported else all(there)


def _pythons(before: Sketch, after: Sketch) -> Iterator[Difference]:
    old, new = _values(before, "python"), _values(after, "python")
    common = old.keys() & new.keys()
    changed = [role for role in _ROLES if role in common and old[role] != new[role]]
    steps = {(old[role], new[role]) for role in changed}
    if len(steps) == 1 and len(changed) == len(common):
        yield Difference("python", "Python", *steps.pop())
        return
    for role in changed:
        yield Difference("python", f"Python of the {role}", old[role], new[role])


def _config(before: Sketch, after: Sketch) -> Iterator[Difference]:
    compared = set()
    if _both_know("dask-config", before, after):
        old, new = _settings(before), _settings(after)
        for each in _changed(old, new, loosely=True):
            compared.add(each[1:4])
            yield each._replace(kind="dask-config")
    # A scheduler that has the driver's configuration has none of its own in the sketch,
    # and workers have only what is not the scheduler's.
    theirs = [
        _settings(each, "/scheduler") or _settings(each) for each in (before, after)
    ]
    if not _both_know("dask-config/scheduler", before, after) or not all(theirs):
        return
    for each in _changed(theirs[0], theirs[1], loosely=True):
        if each[1:4] not in compared:
            compared.add(each[1:4])
            yield _role_difference(each, "scheduler")
    if _both_know("dask-config/workers", before, after):
        own = (_settings(sketch, "/workers") for sketch in (before, after))
        old, new = (all_ | more for all_, more in zip(theirs, own, strict=True))
        for each in _changed(old, new, loosely=True):
            if each[1:4] not in compared:
                yield _role_difference(each, "workers")


def _settings(sketch: Sketch, whose: str = "") -> dict[str, str]:
    """Return Dask's configuration without what an open client sets for its own time."""
    values = _values(sketch, f"dask-config{whose}")
    return dict(pair for pair in values.items() if pair != _OF_A_CLIENT)


def _role_difference(each: Difference, role: str) -> Difference:
    return each._replace(kind="dask-config", what=f"{each.what} ({role})")


def _inputs(before: Sketch, after: Sketch) -> Iterator[Difference]:
    old, new = before.inputs, after.inputs
    files = list(_files(before, after))
    yield from files
    for what, was, now, shown_as in (
        ("bytes", *((None, None) if files else (old.nbytes, new.nbytes)), size),
        ("partitions", old.partitions, new.partitions, _partitions),
    ):
        by = _growth(was, now)
        if was is None or now is None or by is None:
            continue
        # What a run that stopped early did not read is no change of the input.
        if ended_early(after, before) if by < 0 else ended_early(before, after):
            continue
        yield Difference("input-size", what, shown_as(was), shown_as(now), by)


def _files(before: Sketch, after: Sketch) -> Iterator[Difference]:
    """Yield how the files differ that tasks opened.

    Nothing shows how many a run that failed had still to open: then their size on average is
    compared, which depends on which ones it had opened.
    """
    old, new = before.inputs, after.inputs
    if not (old.files and old.read and new.files and new.read):
        return
    used_by = tuple(_reading_more(before, after))
    if before.good and (after.good or new.files >= old.files):
        by = _growth(old.read, new.read)
        if by is not None:
            yield Difference(
                "input-size", "bytes of files", size(old.read), size(new.read), by,
                used_by=used_by,
            )  # fmt: skip
        by = _growth(old.files, new.files)
        if by is not None:
            was, now = (counted(each, "file") for each in (old.files, new.files))
            yield Difference("input-size", "files", was, now, by)
        return
    means = old.read / old.files, new.read / new.files
    by = _growth(*means)
    if by is not None and abs(by) >= _LEAST_GROWTH_OF_MEAN:
        was, now = map(size, means)
        yield Difference("input-size", "bytes of a file", was, now, by, used_by=used_by)


def _reading_more(before: Sketch, after: Sketch) -> Iterator[str]:
    """Yield the prefixes whose tasks opened larger files than before."""
    old = {each.name: each for each in before.prefixes}
    for new in after.prefixes:
        was = old.get(new.name)
        if was is None or not (was.files and was.read and new.files and new.read):
            continue
        if new.read / new.files >= _LARGER * was.read / was.files:
            yield new.name


def _partitions(number: int) -> str:
    return counted(number, "partition")


def _growth(old: float | None, new: float | None) -> float | None:
    """Return the logarithm of a growth that is worth a word, or None."""
    if old is None or new is None or old == new:
        return None
    by = math.log((new + 1) / (old + 1))
    return by if abs(by) >= _LEAST_GROWTH else None
