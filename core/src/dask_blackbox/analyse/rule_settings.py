"""The settings of rules: which are muted, and which thresholds are changed.

`blackbox.rules.mute` is a list of slugs, `blackbox.rules.thresholds` numbers by
`<slug>.<name>`.  What is not known is an error at once, not a rule that never fires.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.user_rules import all_rules, installed_rules
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.guard import guard


@dataclass(frozen=True, kw_only=True)
class Asking:
    """The settings with which rules are asked.

    Attributes:
        muted: Slugs of rules that are not.
        thresholds: Numbers that the user changed, by `<slug>.<name>`.
    """

    muted: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)


def asking() -> Asking:
    """Return the settings of rules.

    Raises:
        ConfigurationError: if they name a rule or a number that there is not, or mute a
            verdict of ours.
    """
    from dask_blackbox.settings import setting  # imports dask

    muted, numbers = setting("rules.mute") or (), setting("rules.thresholds") or {}
    if not muted and not numbers:
        return Asking()
    rules = {rule.slug: rule for rule in all_rules()}
    return Asking(
        muted=tuple(_muted(slug, rules) for slug in _listed(muted)),
        thresholds=dict(_thresholds(numbers, rules)),
    )


def asking_or_default() -> Asking:
    """Return the settings of rules; the defaults if they cannot be read."""
    found = [Asking()]
    with guard("the settings of the rules"):
        found.append(asking())
    return found[-1]


def _listed(muted: object) -> list[str]:
    if isinstance(muted, str):
        return [each.strip() for each in muted.split(",") if each.strip()]
    if not isinstance(muted, list | tuple | set):
        raise ConfigurationError(
            f"blackbox.rules.mute is {muted!r}; give a list of slugs, like ['spilling']"
        )
    return [str(each) for each in muted]


def _muted(slug: str, rules: dict[str, Rule]) -> str:
    rule = rules.get(slug)
    if rule is None:
        raise ConfigurationError(
            f"blackbox.rules.mute: there is no rule '{slug}'{_like(slug, rules)}; "
            "`dask blackbox rules` lists them"
        )
    if rule.severity == "failure" and slug not in installed_rules().origins:
        raise ConfigurationError(
            f"blackbox.rules.mute: '{slug}' is a verdict; verdicts cannot be muted, "
            "as a failed run has exactly one"
        )
    return slug


def _thresholds(numbers: object, rules: dict[str, Rule]) -> list[tuple[str, float]]:
    if not isinstance(numbers, Mapping):
        raise ConfigurationError(
            f"blackbox.rules.thresholds is {numbers!r}; give numbers by name, like "
            "{'memory-near-limit.share': 0.9}"
        )
    known = {
        _alike(f"{rule.slug}.{name}"): f"{rule.slug}.{name}"
        for rule in rules.values()
        for name in rule.thresholds
    }
    checked = []
    for name, value in _flat(numbers):
        if _alike(name) not in known:
            raise ConfigurationError(
                f"blackbox.rules.thresholds: there is no '{name}'{_like(name, known.values())}; "
                f"`dask blackbox rules {name.split('.')[0]}` lists the thresholds of a rule"
            )
        checked.append((known[_alike(name)], _number(name, value)))
    return checked


def _flat(numbers: Mapping[object, object]) -> list[tuple[str, object]]:
    """Return `{'a-b.c': 1}` and `{'a-b': {'c': 1}}` alike, as Dask's settings do."""
    pairs: list[tuple[str, object]] = []
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}.{inner}", each) for inner, each in value.items()]
        else:
            pairs.append((str(name), value))
    return pairs


def _alike(name: str) -> str:
    """Return a name as Dask's settings compare names: hyphen and underscore are one."""
    return name.replace("_", "-")


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"blackbox.rules.thresholds: {name} is {value!r}; give a number"
        ) from error


def _like(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
