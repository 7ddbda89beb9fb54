"""What happened in a failed run, as incidents on one clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.kinds import (
    DEATHS,
    KILLED_TASK,
    NO_WORKERS,
    OUTCOME,
    STALL,
)
from dask_blackbox.analyse.driver_output import last_output, without_log_prefix
from dask_blackbox.analyse.run_state import exit_code_of_driver, signal_of_driver
from dask_blackbox.analyse.side_effects import closings_of_driver
from dask_blackbox.finding import Confidence, Evidence, Finding, Subject
from dask_blackbox.formatting import class_of, counted, duration, short
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

Tie = Literal["is", "waited", "none"]
"""How an incident is tied to the outcome: the driver's exception is it; the driver waited
for it; nothing that was recorded ties them."""

Precedence = Literal["first", "rule", "last"]
"""Whose account it is: a user's rule that knows more than ours, ours, a user's that knows less."""


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Something that happened, and what of it matters to what follows.

    Attributes:
        kind: The slug of the rule that found it, or a fact of the catalogue.
        at: When it began, epoch seconds; None if nothing recorded has a time.
        text: It, in a few words.
        subject: What it is about.
        strength: How sure it is by its own evidence.
        tie: How it is tied to the outcome.
        precedence: Whose account it is.
        again: Whether it ended each worker of the run, and each of their successors, too.
        evidence: What shows it.
        finding: What the rule found, if a rule did.
    """

    kind: str
    at: float | None
    text: str
    subject: Subject = field(default_factory=Subject)
    strength: Confidence = "high"
    tie: Tie = "waited"
    precedence: Precedence = "rule"
    again: bool = False
    evidence: tuple[Evidence, ...] = ()
    finding: Finding | None = None


def incident_of(
    case: Case, finding: Finding, *, precedence: Precedence = "rule"
) -> Incident:
    """Return what a rule found as an incident."""
    own = tuple(each for each in finding.evidence if each.source != "driver")
    by = case.outcome.by if finding.rule == "stopped-by-host" else None
    ended = None if by is None else by.at
    if is_interrupt(case, finding):
        ended = case.outcome.decided_at
    seen = [each.at for each in own if each.at is not None]
    return Incident(
        kind=finding.rule,
        at=min(seen, default=ended),
        text=finding.title,
        subject=finding.subject,
        strength=finding.confidence,
        tie=_tie(case, finding),
        precedence=precedence,
        again=_is_of_every_process(case, finding),
        evidence=(own or finding.evidence)[:1],
        finding=finding,
    )


def is_interrupt(case: Case, finding: Finding) -> bool:
    """Return whether a rule found nothing but that the driver was interrupted."""
    return finding.rule == "cancelled" and case.outcome.kind == "interrupted"


def _is_of_every_process(case: Case, finding: Finding) -> bool:
    """Return whether every worker of the run died of this, and its replacements too."""
    if finding.rule not in DEATHS:
        return False
    names = case.run.workers["name"].unique().to_list()
    died = Counter(d.name for d in case.deaths if case.cause_of(d).slug == finding.rule)
    return bool(names) and all(died[name] > 1 for name in names)


def _tie(case: Case, finding: Finding) -> Tie:
    if finding.rule in ("stopped-by-host", "part-failed"):
        return "is"
    failure = case.blame.failure
    if failure is not None and finding.subject.key == failure.key:
        return "is" if case.blame.proven else "none"
    return "waited" if case.only_waits else "is"


def facts_of(case: Case) -> tuple[Incident, ...]:
    """Return the incidents between causes and the outcome that happened."""
    found = (*_killed_task(case), *_no_workers(case), *_stall(case))
    return (*found, _outcome_incident(case))


def _killed_task(case: Case) -> Iterator[Incident]:
    failure = case.blame.failure
    if failure is None or not failure.killed:
        return
    called = short(failure.prefix or case.prefix_of(failure.key), 40)
    yield Incident(
        kind=KILLED_TASK,
        at=failure.at,
        text=f"Dask gave up on '{called}'",
        subject=Subject(key=failure.key, prefix=failure.prefix),
        evidence=(failure.evidence(300),),
    )


def _no_workers(case: Case) -> Iterator[Incident]:
    left = case.run.workers["left"]
    hang = case.standstill
    if not len(left) or left.has_nulls() or (hang is not None and hang.workers):
        return
    if hang is None and not case.deaths:
        return
    at = float(left.dt.epoch("us").max() or 0) / 1e6  # type: ignore[arg-type]
    ends = (case.outcome.decided_at, *(each.at for each in closings_of_driver(case)))
    # Workers that leave once the driver closes its cluster are no cause of its end.
    if all(end is None or at <= end for end in ends):
        yield Incident(kind=NO_WORKERS, at=at, text="no worker was left")


def _stall(case: Case) -> Iterator[Incident]:
    hang = case.standstill
    if hang is None or not hang.wanted:
        return
    waiting = f"{counted(hang.wanted, 'task')} waiting."
    yield Incident(
        kind=STALL,
        at=hang.since,
        text=f"no task finished for {duration(hang.lasted)}",
        evidence=(Evidence(text=waiting, source="events", at=hang.since),),
    )


def _outcome_incident(case: Case) -> Incident:
    """Return what ended the driver's work."""
    ending = case.run.ending
    return Incident(
        kind=OUTCOME,
        at=case.outcome.decided_at,
        text=_outcome_text(case),
        evidence=case.exception_evidence() if ending is not None else (),
    )


_ENDED = {"aborted": "the run was aborted", "lost": "the recording ends"}


def end_of_run(case: Case) -> str:
    """Return how the run ended, apart from the driver's exception."""
    code = exit_code_of_driver(case.run)
    if code:
        if code < 0:
            return _ENDED.get(case.state, "the run failed")
        output = last_output(case.run)
        if output and _repeats(output, case.exception):
            output = ""
        exited = f"the driver exited with code {code}"
        return (
            f"{exited}: “{short(without_log_prefix(output), 120)}”"
            if output
            else exited
        )
    return _ENDED.get(case.state, "the run failed")


def _repeats(output: str, exception: DriverException | None) -> bool:
    """Return whether the last line of output is one of the exception's own message."""
    return exception is not None and output.strip() in (
        line.strip()
        for line in f"{exception.exception}: {exception.message}".splitlines()
    )


_TIME_WAS_UP = bounded("Time(?:d)?[Oo]ut")


def _outcome_text(case: Case) -> str:
    exception, by = case.exception, signal_of_driver(case.run)
    stopped = case.outcome.by
    if stopped is not None and exception is None:
        return "the driver was stopped"
    if case.raised("KeyboardInterrupt"):
        return "the driver was interrupted"
    then = case.outcome.then
    exits = then is None or then.exception.endswith("SystemExit")
    exits = exits and case.outcome.reason is not None
    if exception is not None and not exits:
        return _raised_text(case, exception)
    if by is not None:
        return f"the driver was ended by {by}"
    if case.state == "aborted":
        return "the driver disappeared"
    return end_of_run(case)


def _raised_text(case: Case, exception: DriverException) -> str:
    # What a task raised comes out of the driver's wait; the wait itself did not end.
    of_task = any(
        (each.exception, each.message) == (exception.exception, exception.message)
        for each in case.failures
    )
    last = case.outcome.passed_on or case.outcome.then or exception
    name = class_of(last.exception)
    failure = case.blame.failure
    did = "raised"
    if of_task and failure is not None and failure.killed:
        did = "received"  # it may only have waited for that task
    elif case.only_waited and not of_task and _TIME_WAS_UP.search(name):
        did = "gave up waiting:"
    return f"the driver {did} {name}"
