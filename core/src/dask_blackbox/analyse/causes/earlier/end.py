"""How a run ended: what the rows on what came before it ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import (
    AT_ONCE,
    Earlier,
    Program,
    ended_with,
)
from dask_blackbox.analyse.causes.kinds import MISSED, RAISED
from dask_blackbox.analyse.driver_position import shared_object_in
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.side_effects import (
    ended_by_driver_at,
    files_of_task,
    one_file,
)
from dask_blackbox.analyse.symptoms import is_leftover, is_refusal, is_symptom, is_wait
from dask_blackbox.events import DriverCancel, WorkerClosing
from dask_blackbox.finding import Finding


@dataclass(frozen=True)
class End:
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
    def may_follow(self) -> bool:
        """Whether the verdict is about something that may follow from something else."""
        if self.verdict.rule == "cancelled":
            return ended_by_driver_at(self.case) is not None
        if self.verdict.rule == "data-lost":
            return not _was_closed(self.case, self.verdict.subject.worker)
        return True

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


def _was_closed(case: Case, worker: str | None) -> bool:
    """Return whether a worker had been closed on purpose, and did not die."""
    closed = any(each.subject == worker for each in case.run.of(WorkerClosing))
    return closed and not any(each.address == worker for each in case.deaths)


def has_a_reason_of_its_own(case: Case, verdict: Finding) -> bool:
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
    if verdict.rule not in MISSED or not own:
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
