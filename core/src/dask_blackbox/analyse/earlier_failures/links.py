"""The rows: which failures before a verdict may have led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_position import shared_object_in
from dask_blackbox.analyse.earlier_failures.identities import (
    emptied_folders,
    lost_results,
    named_workers,
)
from dask_blackbox.analyse.earlier_failures.incident import (
    AT_ONCE,
    KINDS,
    RAISED,
    SURE,
    Earlier,
    Program,
    ended_with,
)
from dask_blackbox.analyse.earlier_failures.of_lines import logged_errors, printed_lines
from dask_blackbox.analyse.earlier_failures.of_processes import (
    cancellations,
    deaths_before,
    earlier_processes,
    failed_functions,
    failed_setups,
    lost_data,
    printed_exceptions,
    programs_that_failed,
    restarts_of_workers,
    reused_keys,
)
from dask_blackbox.analyse.earlier_failures.of_tasks import (
    earlier_attempts,
    failed_tasks,
    holding_attempts,
    is_unrelated,
    killed_tasks,
    left_out_results,
)
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.side_effects import files_of_task, one_file
from dask_blackbox.analyse.symptoms import (
    is_leftover,
    is_refusal,
    is_symptom,
    is_wait,
    lacks_something,
)
from dask_blackbox.events import DriverCancel
from dask_blackbox.finding import Finding


@dataclass(frozen=True)
class _End:
    """How a run ended: what probes ask about."""

    case: Case
    verdict: Finding

    def is_any_of(self, *tests: Callable[[str, str], bool]) -> bool:
        """Return whether one of several tests of class and message holds for what ended it."""
        return any(ended_with(self.case, test) for test in tests)

    @cached_property
    def is_raised(self) -> bool:
        """Whether an exception ended it, and the verdict is that."""
        return self.case.exception is not None and self.verdict.rule in RAISED

    @cached_property
    def is_symptom(self) -> bool:
        """Whether something was not there, late or incomplete."""
        return self.verdict.rule not in RAISED or self.is_any_of(is_symptom)

    @cached_property
    def may_be_of_tasks(self) -> bool:
        """Whether something was not there, or was left over from an attempt."""
        return self.is_symptom or self.is_any_of(is_leftover)

    @cached_property
    def may_be_of_programs(self) -> bool:
        """Whether a program or a service may have been the reason."""
        return (
            self.may_be_of_tasks
            or self.is_any_of(is_refusal)
            or _cancelled_after_a_wait(self.case)
        )

    @cached_property
    def began(self) -> float | None:
        """When it happened what the verdict is about."""
        hang, failure = self.case.standstill, self.case.blame.failure
        if self.verdict.rule == "stalled" and hang is not None:
            return hang.since + CLOCKS  # later, the job may report its own wait
        return _since(self.case, self.verdict) if failure is None else failure.at

    def follows(self, earlier: Earlier) -> bool:
        """Return whether it comes after something else."""
        began = self.began
        return (
            began is None or earlier.at < began or _had_ended(self.case, earlier, began)
        )


class Link(NamedTuple):
    """A row: that something before a verdict may have led to it.

    Attributes:
        cause: The kind of what came before.
        find: Yields what happened of that kind, each with its grade.
        probe: Whether it may lead to how the run ended.
    """

    cause: str
    find: Callable[[Case, Finding], Iterable[Earlier]]
    probe: Callable[[_End], bool] = lambda _: True


def incidents_before(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what had gone wrong before what a verdict is about, by the rows of `LINKS`."""
    end = _End(case, verdict)
    for link in LINKS:
        if link.probe(end):
            found = link.find(case, verdict)
            yield from (replace(e, kind=link.cause) for e in found if end.follows(e))


def _lines(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what the job printed; what has a reason of its own has it only as evidence."""
    own_reason = _has_a_reason_of_its_own(case, verdict)
    # What the job did about a failure, or another task met of it, has its own name.
    about_task = verdict.rule in RAISED and case.blame.failure is None
    for line in printed_lines(case, verdict):
        aside = (own_reason and not (line.root or line.of_task)) or is_unrelated(
            case, line
        )
        yield replace(
            line,
            grade="evidence" if aside else line.grade,
            root=line.root if about_task else None,
        )


def _missed_tasks(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the failed tasks whose results were missed."""
    return (each for each in failed_tasks(case, verdict) if each.grade in SURE)


def _printed(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield printed exceptions, but those of functions that have a row of their own."""
    known = {(each.name, each.message) for each in failed_functions(case, verdict)}
    return (
        each
        for each in printed_exceptions(case, verdict)
        if (each.name, each.message) not in known
    )


def _has_a_reason_of_its_own(case: Case, verdict: Finding) -> bool:
    """Return whether nothing that the job printed before is likely to be why something failed.

    What waits in a call of the system waits for a program or a service, and a task that failed
    on its only file failed for what is in it, whatever the driver had printed.
    """
    if verdict.rule == "stalled":
        longest = None if case.hang is None else case.hang.longest
        beyond = () if longest is None else longest.beyond
        return bool(beyond) and shared_object_in(beyond) is None
    failure = case.blame.failure
    if failure is None or ended_with(case, is_wait):
        return False
    return one_file(files_of_task(case.run, failure.key)) is not None


def _since(case: Case, verdict: Finding) -> float | None:
    """Return when it happened what a verdict without a failed task is about."""
    decided = case.outcome.decided_at
    own = [
        each.at
        for each in verdict.evidence
        if each.at is not None and each.source != "driver"
    ]
    if verdict.rule not in KINDS or not own:
        return decided
    return min(own) if decided is None else min(*own, decided)


def _had_ended(case: Case, earlier: Earlier, failed: float) -> bool:
    """Return whether a program had ended before the driver received the failure of a task.

    A program for which nobody waits is looked at when a call to Dask raises: when it really
    ended is not known then.
    """
    decided = case.outcome.decided_at
    if not isinstance(earlier, Program) or decided is None:
        return False
    if case.blame.failure is None:
        return False
    started = earlier.program.started
    return started is not None and started < failed and earlier.at <= decided


def _cancelled_after_a_wait(case: Case) -> bool:
    """Return whether the driver cancelled what it had waited for in vain: its results are lacking."""
    survived = case.outcome.survived
    waits = [each.at for each in survived if is_wait(each.exception, each.message)]
    calls = case.run.of(DriverCancel)
    return any(0 <= call.at - at <= AT_ONCE for call in calls for at in waits)


LINKS: tuple[Link, ...] = (
    # What is possible before any end.
    Link("printed-line", _lines),
    Link("earlier-attempt", earlier_attempts),
    Link("failed-setup", failed_setups),
    Link(
        "attempt-with-lock", holding_attempts, lambda end: end.verdict.rule == "stalled"
    ),
    Link("reused-key", reused_keys),
    Link("killed-task", killed_tasks),
    # Before the same failures as no more than evidence.
    Link("lost-result", lost_results, lambda end: end.verdict.rule in RAISED),
    Link("named-worker", named_workers, lambda end: end.verdict.rule in RAISED),
    Link("emptied-folder", emptied_folders, lambda end: end.verdict.rule in RAISED),
    Link("left-out-results", left_out_results, lambda end: end.is_raised),
    Link("failed-task", failed_tasks, lambda end: end.may_be_of_tasks),
    Link("missed-task", _missed_tasks, lambda end: not end.may_be_of_tasks),
    Link("earlier-process", earlier_processes, lambda end: end.may_be_of_tasks),
    Link("worker-death", deaths_before, lambda end: end.may_be_of_tasks),
    Link(
        "restart",
        restarts_of_workers,
        lambda end: end.is_symptom or end.is_any_of(lacks_something),
    ),
    Link("cancellation", cancellations, lambda end: end.is_raised),
    Link("lost-data", lost_data, lambda end: end.is_raised),
    Link("failed-function", failed_functions, lambda end: end.may_be_of_programs),
    Link("printed-exception", _printed, lambda end: end.may_be_of_programs),
    Link("logged-error", logged_errors, lambda end: end.may_be_of_programs),
    Link("failed-program", programs_that_failed, lambda end: end.may_be_of_programs),
)
"""What may have led to a verdict.

Of two reports of one moment, such as a line that a logger and its handler wrote, the one of
the earlier row is named; the order decides nothing else.
"""
