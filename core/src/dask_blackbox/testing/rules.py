"""A rule, put to the test: over runs made of facts, and over recordings.

def test_it_names_the_server() -> None:
    run = a_run(a_task_error(message="no licence"), state="failed", exception=…)

    found = fires(LICENCE_SERVER_DOWN, run, naming=["licence-1"])

    assert found.retry_advice == "transient"
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from dask_blackbox.analyse import Case, Rule, verdict_in
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables


def findings_of(
    rule: Rule,
    run: RunTables | str | os.PathLike[str],
    *,
    verdict: Finding | None = None,
    thresholds: Mapping[str, float] | None = None,
) -> tuple[Finding, ...]:
    """Return what a rule finds in a run; what it raises is raised.

    Args:
        rule: Whom to ask.
        run: The run, or the address of a recording.
        verdict: Why the run failed, as `case.verdict` of rules that are no verdicts has it.
        thresholds: Numbers set differently, by `<slug>.<name>`.

    Raises:
        AssertionError: it gave something that is no finding of its own.
    """
    case = Case(_opened(run), thresholds=thresholds, verdict=verdict)
    found = tuple(rule.ask(case))
    for finding in found:
        _must(isinstance(finding, Finding), f"{rule.slug} gave {finding!r}")
        _must(finding.rule == rule.slug, f"{rule.slug} gave one of {finding.rule}")
    return found


def fires(
    rule: Rule,
    run: RunTables | str | os.PathLike[str],
    *,
    naming: Iterable[str] = (),
    thresholds: Mapping[str, float] | None = None,
) -> Finding:
    """Return the one finding of a rule that must fire.

    Args:
        rule: Whom to ask.
        run: The run, or the address of a recording.
        naming: What its title, cause or remedy must name: keys, workers, numbers.
        thresholds: Numbers set differently, by `<slug>.<name>`.

    Raises:
        AssertionError: if it is silent, says several things, names them not, or has no
            evidence or remedy.
    """
    found = findings_of(rule, run, thresholds=thresholds)
    _must(len(found) == 1, f"{rule.slug} gave {len(found)} findings: {found}")
    (finding,) = found
    text = f"{finding.title} {finding.cause} {finding.remedy}"
    for word in naming:
        _must(word in text, f"{rule.slug} does not name {word!r}: {text}")
    _must(bool(finding.evidence), f"{rule.slug} has no evidence")
    _must(bool(finding.remedy), f"{rule.slug} does not say what to do")
    return finding


def stays_silent(
    rule: Rule,
    *runs: RunTables | str | os.PathLike[str],
    thresholds: Mapping[str, float] | None = None,
) -> None:
    """Assert that a rule finds nothing in any of these runs.

    Args:
        rule: Whom to ask.
        runs: Runs, or addresses of recordings.
        thresholds: Numbers set differently, by `<slug>.<name>`.

    Raises:
        AssertionError: if it does.
    """
    for run in runs:
        found = findings_of(rule, run, thresholds=thresholds)
        if found:
            raise AssertionError(f"{rule.slug} fires: {found[0].title}")


def verdict_with(run: RunTables | str | os.PathLike[str]) -> Finding | None:
    """Return the verdict on a run among all rules that are installed, the user's included."""
    return verdict_in(_opened(run))


def _must(condition: bool, text: str) -> None:  # noqa: FBT001 - reads like assert
    if not condition:
        raise AssertionError(text)


def _opened(run: RunTables | str | os.PathLike[str]) -> RunTables:
    if isinstance(run, RunTables):
        return run
    from dask_blackbox.reader import Run

    return Run.open(os.fspath(run))
