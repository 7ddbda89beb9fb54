"""The verdict on one failed task: what it is about, how sure it is, and what shows it."""

from __future__ import annotations

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.formatting import short
from dask_blackbox.analyse.lone_worker import lone_worker
from dask_blackbox.analyse.rule import Rule
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["verdict_on_failure"]


def verdict_on_failure(
    case: Case,
    rule: Rule,
    failure: TaskFailure,
    what: str,
    *,
    cause: str,
    remedy: str,
) -> Finding:
    """Return a finding of a rule about the task whose failure ended the run.

    Args:
        case: The run.
        rule: Which rule says so.
        failure: Of the task.
        what: What is wrong with workers (`have no module 'x'`), for the title.
        cause: Why, with the names.
        remedy: What to do.
    """
    said = Evidence(
        text=f"{failure.key}: {short(str(failure), 300)}",
        source="errors",
        at=failure.at,
    )
    lone = lone_worker(case, failure)
    if lone is not None:
        what = what.replace("have ", "has ", 1) if what.startswith("have ") else what
    return rule.found(
        f"{'Workers' if lone is None else 'One worker'} {what}",
        cause=cause if lone is None else f"{cause} {lone.reported}.",
        remedy=remedy if lone is None else f"{remedy} {lone.remedy}",
        confidence="high" if case.blame.proven else "medium",
        subject=Subject(key=failure.key, prefix=failure.prefix, worker=failure.worker),
        evidence=(said, *case.exception_evidence()),
    )
