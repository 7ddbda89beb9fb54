"""The settings that a remedy names as code: what to set, and to what.

A remedy writes a setting as it is to be set, between backticks: an argument of the cluster
(`threads_per_worker=1`), of `cluster.adapt(minimum=1)` or of `Client(…, timeout=60)`, an option
of `dask worker` (`--lifetime 45m`), a key of Dask's configuration
(`distributed.scheduler.work-stealing: false`), a variable (`OMP_NUM_THREADS=1`).  A host's dialect
says which of its own arguments takes each kind.  A name without a value changes nothing here.
"""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from dask_blackbox.patterns import bounded

__all__ = ["Kind", "SettingChange", "changes_in"]

Kind = Literal["cluster", "adapt", "client", "config"]
"""What takes a setting: the class of the cluster, its `adapt()`, the client, Dask's configuration."""


class SettingChange(NamedTuple):
    """Settings that help together.

    Attributes:
        kind: What takes them.
        values: What each is to be set to.
    """

    kind: Kind
    values: Mapping[str, object]

    def as_code(self) -> str:
        """Return them as a dictionary of Python's."""
        return _as_code(self.values)


def changes_in(
    remedy: str, *, memory_limit: str = "", nannies: bool = True
) -> tuple[SettingChange, ...]:
    """Return what a remedy says to set, each once; several are alternatives.

    Args:
        remedy: As it is on the card.
        memory_limit: What it asks for, for each worker, where its finding has that as a number.
        nannies: Whether workers have nannies: without, what these do is not set.
    """
    found = _named_in(remedy)
    if not nannies:
        found = [each for each in found if not _of_nannies(each)]
    if memory_limit:
        found.insert(0, SettingChange("cluster", {"memory_limit": memory_limit}))
        found = [each for each in found if _agrees(each, memory_limit)]
    return tuple(
        each
        for at, each in enumerate(found)
        if each.values and not any(_contains(o, each) for o in _others(found, at))
    )


def _named_in(remedy: str) -> list[SettingChange]:
    """Return each change that a remedy names, in its order; options of `dask worker` last."""
    spans = [each[1] for each in _CODE.finditer(remedy[:_LONGEST])]
    found = [change for span in spans for change in _changes_of(span)]
    named = {name for each in found if each.kind == "cluster" for name in each.values}
    # Beside the cluster's arguments, options say the same for `dask worker`.
    options = (_without(values, named) for values in map(_options_of, spans))
    return [*found, *(SettingChange("cluster", values) for values in options)]


_LONGEST: Final = 8_000
_CODE: Final = bounded(r"`([^`\n]{1,300})`")
_TEXT: Final = r"\"[^\"\n]{0,120}\"|'[^'\n]{0,120}'"
_PAIR: Final = bounded(rf"(?<![\w.])([a-z_]{{2,40}}) ?= ?({_TEXT}|[\w.]{{1,40}})")
_CALL: Final = bounded(r"(?<!\w)(adapt|Client)\(([^()\n]{0,200})\)")
_OPTION: Final = bounded(rf"--([a-z-]{{2,40}})(?:[ =]({_TEXT}|(?!-)[\w.:/]{{1,60}}))?")
_SETTING: Final = bounded(
    r"((?:distributed|dataframe|array|optimization)(?:\.[a-z0-9-]{1,40}){1,6}): ?([\w. ]{1,40})"
)
_VARIABLE: Final = bounded(r"([A-Z][A-Z0-9_]{2,40})=([\w./:-]{1,80})")
_SET: Final = bounded(r"dask\.config\.set\((\{[^{}\n]{1,200}\})\)")
_TAKEN: Final[Mapping[Kind, frozenset[str]]] = {
    "cluster": frozenset((
        "death_timeout", "lifetime", "lifetime_restart", "lifetime_stagger",
        "local_directory", "memory_limit", "n_workers", "processes", "resources",
        "threads_per_worker",
    )),
    "adapt": frozenset(("interval", "maximum", "minimum", "wait_count")),
    "client": frozenset(("direct_to_workers", "heartbeat_interval", "timeout")),
}  # fmt: skip
"""Names that are settings; of code of the user's own, others are the same word."""
_OF_WORKERS: Final = {"nthreads": "threads_per_worker", "nworkers": "n_workers"}
_CONSTANTS: Final[Mapping[str, object]] = {
    **dict.fromkeys(("True", "true"), True),
    **dict.fromkeys(("False", "false"), False),
    **dict.fromkeys(("None", "null")),
}
_FAILS_SOONER: Final = frozenset(("distributed.scheduler.no-workers-timeout",))
"""Settings by which a run that cannot succeed fails sooner: they are no remedy to paste."""
_BEFORE_START: Final = "distributed.nanny.pre-spawn-environ."
_OF_NANNIES: Final = ("env", "lifetime_restart", "distributed.nanny.")
"""What settings begin with that nannies carry out."""


def _changes_of(code: str) -> Iterator[SettingChange]:
    """Yield what one piece of code sets, options apart."""
    if settings := _settings_of(code):
        yield SettingChange("config", settings)
        return
    if variables := _variables_of(code):
        # The C library has read its own before a nanny sets those of its worker.
        of_c = any(name.startswith("MALLOC_") for name in variables)
        before = {f"{_BEFORE_START}{name}": value for name, value in variables.items()}
        yield (
            SettingChange("config", before)
            if of_c
            else SettingChange("cluster", {"env": variables})
        )
        return
    if call := _CALL.search(code):
        kind: Kind = "adapt" if call[1] == "adapt" else "client"
        yield SettingChange(kind, _arguments_of(call[2], kind))
        return
    yield SettingChange("cluster", _arguments_of(code, "cluster"))


def _settings_of(code: str) -> dict[str, object]:
    """Return the keys of Dask's configuration, if that is all of some code."""
    if call := _SET.search(code):
        try:
            given = literal_eval(call[1])
        except (SyntaxError, ValueError):
            return {}
        return dict(given) if isinstance(given, Mapping) else {}
    found = [_SETTING.fullmatch(part) for part in code.split(", ")]
    return {
        each[1]: _value(each[2])
        for each in found
        if each and all(found) and each[1] not in _FAILS_SOONER
    }


def _variables_of(code: str) -> dict[str, str]:
    """Return the variables of the environment, if they are all of some code."""
    found = [_VARIABLE.fullmatch(part) for part in code.split(" ")]
    return {each[1]: each[2] for each in found if each and all(found)}


def _arguments_of(code: str, kind: Kind) -> dict[str, object]:
    pairs = ((each[1], each[2]) for each in _PAIR.finditer(code))
    return {
        name: _value(text)
        for name, text in pairs
        if name in _TAKEN[kind] and not _is_a_name(text)
    }


def _options_of(code: str) -> dict[str, object]:
    """Return the options of `dask worker` in some code, as the cluster's arguments."""
    found: dict[str, object] = {}
    for each in _OPTION.finditer(code):
        option, text = each[1], each[2]
        name = _OF_WORKERS.get(option, option.replace("-", "_"))
        if name == "lifetime_restart":
            found[name] = True
        elif name == "resources" and text is not None:
            found |= _resources(text)
        elif name in _TAKEN["cluster"] and text is not None:
            found[name] = _value(text)
    if "lifetime" not in found:  # by itself, it has no effect
        found.pop("lifetime_restart", None)
    return found


def _resources(text: str) -> dict[str, object]:
    pairs = [each.partition("=") for each in text.strip("\"'").split()]
    amounts = {name: _value(amount) for name, _, amount in pairs}
    if not all(isinstance(each, int | float) for each in amounts.values()):
        return {}
    return {"resources": amounts}


def _is_a_name(text: str) -> bool:
    """Return whether a value is a variable of whoever reads it."""
    return text.isidentifier() and text not in _CONSTANTS


def _value(text: str) -> object:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip("\"' ")


def _of_nannies(change: SettingChange) -> bool:
    """Return whether a nanny would carry out a change, or a part of it."""
    return any(name.startswith(_OF_NANNIES) for name in change.values)


def _agrees(change: SettingChange, memory_limit: str) -> bool:
    """Return whether a change has no other memory limit than the finding asks for."""
    return change.values.get("memory_limit", memory_limit) == memory_limit


def _without(values: Mapping[str, object], names: set[str]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in names}


def _others(
    changes: list[SettingChange], at: int
) -> Iterator[tuple[SettingChange, bool]]:
    """Yield the other changes, each with whether it stands before."""
    for index, each in enumerate(changes):
        if index != at:
            yield each, index < at


def _contains(other: tuple[SettingChange, bool], change: SettingChange) -> bool:
    """Return whether another change sets all of this one: more of it, or the same before it."""
    whole, before = other
    if whole.kind != change.kind or {**whole.values, **change.values} != whole.values:
        return False
    return before or len(whole.values) > len(change.values)


def _as_code(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = (
            f"{json.dumps(name)}: {_as_code(each)}" for name, each in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    )
