"""Run → findings: every rule is asked, and the root of what they found is the verdict.

case      a run under investigation: deaths, failed tasks and blame, derived once
rules/    one question each, none of which knows another
causes/   which of what they found is the root, and the chain from there to the outcome
numbers, completeness, headline, state   what else the card says
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes import Resolution, resolve, unexplained
from dask_blackbox.analyse.causes.incidents import incident_of
from dask_blackbox.analyse.causes.kinds import STALLED, WAITS
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.analyse.offers import is_beyond_host, with_nannies
from dask_blackbox.analyse.pauses import with_pauses
from dask_blackbox.analyse.retry_history import with_retry_history
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules import RULES
from dask_blackbox.analyse.run_state import FAILED, state_of
from dask_blackbox.analyse.title import titled
from dask_blackbox.analyse.user_rules import (
    all_rules,
    ask_in_isolation,
    installed_rules,
)
from dask_blackbox.cpu_limit import CpuLimitExceeded, cpu_limit
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import clean, counted, listed
from dask_blackbox.guard import guard
from dask_blackbox.layout import STOPPED_BY_HOST
from dask_blackbox.run_tables import RunTables

__all__ = [
    "RULES",
    "Budget",
    "Case",
    "Diagnosis",
    "History",
    "Rule",
    "diagnosis_of",
    "findings_in",
    "state_of",
    "verdict_in",
    "verdict_of",
]

_BY_SEVERITY = ("failure", "warning", "notice")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much CPU time a diagnosis may take; rules that are not asked are named on the card.

    A rule that is being asked is interrupted in the main thread of a process only.

    Attributes:
        rule: Seconds of this process's CPU time for one rule.
        whole: Seconds for all of them.
    """

    rule: float = 20.0
    whole: float = 120.0


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """All that the rules found in a run.

    Attributes:
        findings: The verdict and all other findings, gravest first.
        resolution: How the verdict was chosen among the candidates.
    """

    findings: tuple[Finding, ...]
    resolution: Resolution


def findings_in(
    run: RunTables,
    *,
    muted: Collection[str] = (),
    thresholds: Mapping[str, float] | None = None,
    history: History | None = None,
    broken: Collection[str] = (),
    budget: Budget = Budget(),
) -> tuple[Finding, ...]:
    """Return everything that the rules find in a run, gravest first.

    A rule that fails is noted (`guard`), and the others go on.

    Args:
        muted: Slugs of rules that are disabled; our own verdicts cannot be muted.
        thresholds: Numbers that the user changed, by `<slug>.<name>`.
        history: The runs before it, for what is unusual about it.
        broken: What is already known to be wrong with rules, for the card.
        budget: How much CPU time they may take.
    """
    case = Case(run, thresholds=thresholds, history=history, broken=broken)
    return diagnosis_of(case, muted=muted, budget=budget).findings


def diagnosis_of(
    case: Case, *, muted: Collection[str] = (), budget: Budget = Budget()
) -> Diagnosis:
    """Evaluate all rules: first those of severity `failure`, then, with the verdict, the others.

    Within each of these, the order in which they are asked is of no account.

    Args:
        muted: Slugs of rules that are disabled; our own verdicts cannot be muted.
        budget: How much CPU time they may take.
    """
    ask = _Asking(budget, [*case.broken, *installed_rules().problems])
    asked = _rules_to_ask(muted)
    found, resolution = _resolved(case, asked, ask)
    case = case.after(resolution.verdict)
    found |= {r.slug: ask(r, case) for r in asked if _is_after(r, "run")}
    case = case.after(resolution.verdict, ask.problems())
    found |= {r.slug: ask(r, case) for r in asked if _is_after(r, "analysis")}
    others = [
        each
        for slug in sorted(found)
        for each in found[slug]
        if each.severity != "failure"
    ]
    others += _blocked_when_stopped(case, resolution)
    others = [_in_dialect(case, _with_pauses(case, each)) for each in others]
    verdict = [] if resolution.verdict is None else [resolution.verdict]
    findings = sorted(unexplained([*verdict, *map(titled, others)]), key=_gravity)
    return Diagnosis(findings=tuple(findings), resolution=resolution)


def _rules_to_ask(muted: Collection[str]) -> list[Rule]:
    users = installed_rules()
    return [
        rule
        for rule in all_rules()
        if rule.slug not in muted
        or (rule.severity == "failure" and rule.slug not in users.origins)
    ]


def _resolved(
    case: Case, asked: Iterable[Rule], ask: _Asking
) -> tuple[dict[str, list[Finding]], Resolution]:
    """Return what the rules of severity `failure` found, and which of it is the verdict."""
    users = installed_rules().origins
    on_failure = [rule for rule in asked if rule.severity == "failure"]
    found = {rule.slug: ask(rule, case) for rule in on_failure}
    resolution = resolve(
        case,
        (
            incident_of(
                case,
                finding,
                precedence=rule.turn if rule.slug in users else "rule",
            )
            for rule in on_failure
            for finding in _candidates(found[rule.slug])
        ),
    )
    verdict = resolution.verdict
    if verdict is not None:
        with guard("what retries of the same failure did before"):
            verdict = with_retry_history(case, verdict)
        verdict = titled(_in_dialect(case, _with_pauses(case, verdict)))
    rejected = (
        replace(each, finding=titled(each.finding)) for each in resolution.rejected
    )
    return found, Resolution(verdict=verdict, rejected=tuple(rejected))


def _in_dialect(case: Case, finding: Finding) -> Finding:
    """Return a finding whose remedy also has its settings as lines of the host's code."""
    memory = finding.worker_memory
    lines = case.dialect.lines_for(
        finding.remedy,
        case.run.manifest.host,
        worker_memory=None if memory and is_beyond_host(case, memory) else memory,
        nannies=with_nannies(case),
    )
    if not lines:
        return finding
    return msgspec.structs.replace(finding, remedy=f"{finding.remedy} {clean(lines)}")


def _blocked_when_stopped(case: Case, resolution: Resolution) -> list[Finding]:
    """Return what a run waited for when its host stopped it, if it did.

    It is not why the run ended, but why it was not done by then.
    """
    if resolution.verdict is None or resolution.verdict.rule != STOPPED_BY_HOST:
        return []
    rejected = [each.finding for each in resolution.rejected]
    found = [each for each in rejected if each.rule in WAITS]
    if not found and case.standstill is not None and case.standstill.long:
        found = [each for each in rejected if each.rule == STALLED]
    return [msgspec.structs.replace(each, severity="warning") for each in found]


def _is_after(rule: Rule, about: str) -> bool:
    return rule.severity != "failure" and rule.about == about


def _candidates(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield what a rule gives as the reason of a failure: its first answer is its best."""
    yield from [each for each in found if each.severity == "failure"][:1]


def _with_pauses(case: Case, finding: Finding) -> Finding:
    found = [finding]
    with guard("pauses of processes"):
        found.append(with_pauses(case, finding))
    return found[-1]


def _gravity(finding: Finding) -> tuple[int, float]:
    """Return what findings are sorted by: their severity, then what they cost."""
    share = 0.0 if finding.cost is None else finding.cost.share or 0.0
    return _BY_SEVERITY.index(finding.severity), -share


class _Asking:
    """Asks the rules about a run, as long as there is CPU time left.

    Args:
        broken: What is already known to be wrong with rules.
    """

    def __init__(self, budget: Budget, broken: Iterable[str] = ()) -> None:
        self._budget = budget
        self._until = time.process_time() + budget.whole
        self._broken = [*broken]
        self._left_out: list[str] = []

    def __call__(self, rule: Rule, case: Case) -> list[Finding]:
        """Return what a rule finds; nothing if it would take too long.

        What reports on the analysis itself is always asked.
        """
        left = self._until - time.process_time()
        if rule.about == "analysis":
            return self._ask(rule, case)
        if left <= 0:
            self._left_out.append(rule.slug)
            return []
        try:
            with cpu_limit(min(left, self._budget.rule)):
                return self._ask(rule, case)
        except CpuLimitExceeded:
            self._left_out.append(rule.slug)
            return []

    def problems(self) -> Iterator[str]:
        """Yield why rules could not be asked, and which were left out."""
        yield from self._broken
        if self._left_out:
            yield (
                f"{counted(len(self._left_out), 'rule')} left out, because the diagnosis took "
                f"too much CPU time: {listed(self._left_out, most=8)}"
            )

    def _ask(self, rule: Rule, case: Case) -> list[Finding]:
        """Return what a rule finds; one that fails is noted."""
        note, origins = self._broken.append, installed_rules().origins
        if rule.slug in origins:
            return ask_in_isolation(rule, case, of=origins[rule.slug], note=note)
        found: list[Finding] = []
        with guard(
            f"the rule {rule.slug}",
            on_error=lambda doing, error: note(
                f"{doing}: {type(error).__name__}: {error}"
            ),
        ):
            found.extend(rule.ask(case))
        return found


def verdict_in(run: RunTables) -> Finding | None:
    """Return why a run failed, without asking for warnings and notices; None if it did not."""
    if state_of(run) not in FAILED:
        return None
    case = Case(run)
    return _resolved(case, _rules_to_ask(()), _Asking(Budget()))[1].verdict


def verdict_of(findings: Sequence[Finding], run: RunTables) -> Finding | None:
    """Return the finding that explains a failed run; None for one that did not fail."""
    if state_of(run) not in FAILED:
        return None
    return next((each for each in findings if each.severity == "failure"), None)
