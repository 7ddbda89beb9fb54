"""The user's own rules: loaded from entry points, with their errors reported as findings.

An entry point of the group `dask_blackbox.rules` names a `Rule`, or several in a list or
tuple (docs/rules.md).  One that cannot be loaded, or whose word is taken, is named on the
card and left out; so is one that fails while it is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from typing import Any

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules import RULES
from dask_blackbox.cpu_limit import CpuLimitExceeded
from dask_blackbox.finding import Finding
from dask_blackbox.patterns import bounded

GROUP = "dask_blackbox.rules"
"""The group of entry points."""

logger = logging.getLogger("dask_blackbox")

_MOST = 50  # findings of one rule
_SLUG = bounded(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_OURS = {rule.slug for rule in RULES}


@dataclass(frozen=True, kw_only=True)
class UserRules:
    """What the installed packages add.

    Attributes:
        rules: Their rules, in the order of the entry points' names.
        origins: The package of each, by slug.
        problems: Why an entry point, or a rule of it, is left out.
    """

    rules: tuple[Rule, ...] = ()
    origins: dict[str, str]
    problems: tuple[str, ...] = ()


@cache
def installed_rules() -> UserRules:
    """Return the user's rules; once for a process, with a log line for each problem."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    found = loaded(points)
    for problem in found.problems:
        logger.error("dask-blackbox continues without a rule: %s", problem)
    return found


def loaded(points: Iterable[EntryPoint]) -> UserRules:
    """Return the rules that entry points name, as far as they can be asked."""
    rules: list[Rule] = []
    origins: dict[str, str] = {}
    problems: list[str] = []
    for point in points:
        package = point.dist.name if point.dist is not None else point.value
        try:
            named = list(_rules_in(point.load()))
        except Exception as error:  # noqa: BLE001 - somebody else's code
            problems.append(
                f"{point.name} of {package}: {type(error).__name__}: {error}"
            )
            continue
        for each in named:
            problem = _problem_with(each, origins)
            if problem is None:
                rules.append(each)
                origins[each.slug] = package
            else:
                problems.append(f"{point.name} of {package}: {problem}")
    return UserRules(rules=tuple(rules), origins=origins, problems=tuple(problems))


def _rules_in(named: object) -> Iterator[Any]:
    if isinstance(named, list | tuple):
        yield from named
    else:
        yield named


def _problem_with(rule: Any, taken: dict[str, str]) -> str | None:
    """Return why a rule cannot be asked; None if it can."""
    if not isinstance(rule, Rule):
        return f"{rule!r} is not a dask_blackbox.testing.Rule"
    if not _SLUG.fullmatch(rule.slug):
        return f"'{rule.slug}' is not a slug; write it like 'licence-server-down'"
    if rule.slug in _OURS:
        return f"'{rule.slug}' is a rule of dask-blackbox; choose another slug"
    if rule.slug in taken:
        return f"'{rule.slug}' is already a rule of {taken[rule.slug]}"
    return None


def all_rules() -> tuple[Rule, ...]:
    """Return all rules, built-in and the user's; their order does not matter."""
    return (*RULES, *installed_rules().rules)


def ask_in_isolation(
    rule: Rule, case: Case, *, of: str, note: Callable[[str], None]
) -> list[Finding]:
    """Return what a user's rule finds; one that fails is a line and a fact on the card.

    Args:
        of: The package that it comes from.
        note: Notes why it failed, for the card.
    """
    try:
        return [_checked(rule, each) for each in islice(rule.ask(case), _MOST)]
    except CpuLimitExceeded:
        raise
    except Exception as error:  # noqa: BLE001 - somebody else's code
        text = f"'{rule.slug}' of {of}: {type(error).__name__}: {error}"
        # A line, not a traceback: the card says the same, and the run is nobody's but theirs.
        logger.error("dask-blackbox continues without the rule %s", text)  # noqa: TRY400
        note(text)
        return []


def _checked(rule: Rule, each: object) -> Finding:
    if not isinstance(each, Finding) or each.rule != rule.slug:
        raise TypeError(
            f"it yielded {each!r:.120}, which is not one of its own findings: create it with "
            "its `found`"
        )
    if each.severity == "failure" != rule.severity:
        raise TypeError(
            f"a rule of severity '{rule.severity}' returned a verdict: make it a rule "
            "of severity 'failure'"
        )
    return each


def rule_called(slug: str) -> Rule | None:
    """Return a rule by its slug, ours or the user's."""
    return next((rule for rule in all_rules() if rule.slug == slug), None)
