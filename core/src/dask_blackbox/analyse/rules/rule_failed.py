"""Could some rule not be asked?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, short
from dask_blackbox.finding import Evidence, Finding

__all__ = ["RULE_FAILED"]


def _ask(case: Case) -> Iterator[Finding]:
    if not case.broken:
        return
    yield RULE_FAILED.found(
        f"{counted(len(case.broken), 'rule')} could not be asked",
        cause=f"{' '.join(f'{short(each, 240)}.' for each in case.broken[:5])}",
        remedy=(
            "Mend the rule, or uninstall its package; `dask_blackbox.testing` runs a rule "
            "over a recording. Everything else here was found without it."
        ),
        confidence="high",
        evidence=tuple(
            Evidence(text=short(each, 400), source="driver") for each in case.broken[:5]
        ),
    )


RULE_FAILED = Rule(
    slug="rule-failed",
    title="A rule could not be asked",
    question="Did a rule fail, so that what it would have found is not known?",
    severity="notice",
    retry_advice="unknown",
    ask=_ask,
    page=Page(
        detects=(
            "A rule raised while it was asked, gave something that is no finding of its own, "
            "or could not be loaded: mostly one of your own (docs/rules.md)."
        ),
        evidence="The error of each. The other rules were asked all the same.",
        remedy="Mend the rule or uninstall its package.",
        before="def ask(case):\n    yield MINE.found(case.exception.message, …)   # there may be none",
        after="def ask(case):\n    if case.exception is not None:\n        yield MINE.found(case.exception.message, …)",
    ),
)
