"""Run → findings: the rules, asked one after the other, and the verdict among what they say.

case      a run under investigation: deaths, failed tasks and blame, derived once
rules/    one question each
numbers, completeness, headline, state   what else the card says
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.history import History
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules import RULES
from dask_blackbox.analyse.state import FAILED, state_of
from dask_blackbox.analyse.user_rules import (
    ask_in_isolation,
    asked_in_order,
    installed_rules,
)
from dask_blackbox.finding import Finding
from dask_blackbox.guard import guard
from dask_blackbox.run import RunTables

__all__ = ["RULES", "Case", "History", "Rule", "findings_in", "state_of", "verdict_of"]

_GRAVEST = ("failure", "warning", "notice")


def findings_in(
    run: RunTables,
    *,
    muted: Collection[str] = (),
    thresholds: Mapping[str, float] | None = None,
    history: History | None = None,
    broken: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Return everything that the rules find in a run, gravest first.

    A rule that fails is noted (`guard`), and the others go on.

    Args:
        run: The recording.
        muted: Slugs of rules that are not asked; verdicts of ours cannot be muted.
        thresholds: Numbers that the user set otherwise, by `<slug>.<name>`.
        history: The runs before it, for what is unusual about it.
        broken: What is already known to be wrong with rules: it stands on the card.
    """
    case = Case(run, thresholds=thresholds, history=history)
    users = installed_rules()
    case.broken.extend((*broken, *users.problems))
    for rule in asked_in_order():
        theirs = rule.slug in users.origins
        if rule.slug in muted and (theirs or rule.severity != "failure"):
            continue
        if theirs:
            _add(case, ask_in_isolation(rule, case, of=users.origins[rule.slug]))
            continue
        with guard(f"the rule {rule.slug}", tell=partial(_broken, case)):
            _add(case, rule.ask(case))
    return tuple(sorted(case.found, key=_gravity))


def _gravity(finding: Finding) -> tuple[int, float]:
    """Return what findings are sorted by: their severity, then what they cost."""
    share = 0.0 if finding.cost is None else finding.cost.share or 0.0
    return _GRAVEST.index(finding.severity), -share


def _add(case: Case, found: Iterable[Finding]) -> None:
    """Add findings; of several that would explain a failure, the first one does."""
    for finding in found:
        if finding.severity != "failure" or not case.explained:
            case.found.append(finding)


def _broken(case: Case, doing: str, error: Exception) -> None:
    case.broken.append(f"{doing}: {type(error).__name__}: {error}")


def verdict_of(findings: Sequence[Finding], run: RunTables) -> Finding | None:
    """Return the finding that explains a failed run; None for one that did not fail.

    Of several, the one whose rule is asked first: causes come before symptoms.
    """
    if state_of(run) not in FAILED:
        return None
    order = {rule.slug: number for number, rule in enumerate(asked_in_order())}
    causes = [each for each in findings if each.severity == "failure"]
    return min(causes, key=lambda each: order.get(each.rule, len(order)), default=None)
