"""The one table of what can lead to what: a link is a row here, or it does not exist.

A kind is the slug of a rule, a fact, or something that came before a verdict and that the row
itself finds.  No row ranks anything: a row says that one thing can follow from another, on
what, within what time, and by which probe.  Of two incidents that a row links, the effect is
not the root, unless Dask recovers from the cause alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.end import End, has_a_reason_of_its_own
from dask_blackbox.analyse.causes.earlier.identities import (
    emptied_folders,
    lost_results,
    named_workers,
)
from dask_blackbox.analyse.causes.earlier.incident import SURE, Earlier
from dask_blackbox.analyse.causes.earlier.of_files import missing_files, removals
from dask_blackbox.analyse.causes.earlier.of_lines import logged_errors, printed_lines
from dask_blackbox.analyse.causes.earlier.of_placement import (
    deaths_of_asked_workers,
    departures_of_asked_workers,
    failed_starts_of_asked_workers,
)
from dask_blackbox.analyse.causes.earlier.of_process_state import changes_of_state
from dask_blackbox.analyse.causes.earlier.of_processes import (
    cancellations,
    deaths_before,
    earlier_processes,
    ended_threads,
    failed_functions,
    failed_setups,
    lost_data,
    merged_calls,
    printed_exceptions,
    programs_that_failed,
    restarts_of_workers,
    reused_keys,
)
from dask_blackbox.analyse.causes.earlier.of_tasks import (
    earlier_attempts,
    failed_tasks,
    holding_attempts,
    is_unrelated,
    killed_tasks,
    left_out_results,
)
from dask_blackbox.analyse.causes.earlier.unseen import unseen_reasons
from dask_blackbox.analyse.causes.kinds import (
    DEATHS,
    FACTS,
    GENERAL,
    HANGS,
    KILLED_TASK,
    NO_WORKERS,
    NOT_RAISED,
    OF_A_PROCESS,
    OUTCOME,
    RAISED,
    REMOVED,
    STALL,
    STALLED,
    STARTS,
    SYMPTOMS,
    UNPLACED,
)
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.symptoms import lacks_something
from dask_blackbox.finding import Finding

Find = Callable[[Case, Finding], Iterable[Earlier]]
"""Yields what had happened before a verdict."""


class _AllBut(Container[str]):
    """Every kind of finding, those of the user's rules included, but a few."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = frozenset(kinds)

    def __contains__(self, kind: object) -> bool:
        return kind not in self._kinds and kind not in FACTS


@dataclass(frozen=True, kw_only=True)
class Link:
    """A row: one way in which one thing leads to another.

    Attributes:
        causes: Kinds of the first incident.
        effects: Kinds of the second.
        because: Why the second is not the root, completing “it is not the cause: …”.
        on: What both must be about.
        within: Seconds after the cause within which the effect begins; where it is infinite,
            their times decide nothing.
        before: Seconds before the cause in which the effect may be noticed: clocks differ,
            and a process may learn late of what ended it.
        same: Both describe one incident, and the first says more of it.
        survived: Dask recovers from the cause alone.  So the effect is the verdict, and the
            cause a step before it.
        once: It recovers from one such cause, and not if it ends one process after another:
            then the cause is the verdict.
        find: Yields what of that kind had happened before a verdict, each with its grade;
            None: a rule finds it, or it is a fact.
        probe: Whether that may lead to how the run ended.
        state: It is how something was found as it failed, and no failure: it is looked for
            only where no failure led there, and their times decide nothing.
    """

    causes: Container[str]
    effects: Container[str]
    because: str = ""
    on: Literal["anything", "task", "worker"] = "anything"
    within: float = float("inf")
    before: float = CLOCKS
    same: bool = False
    survived: bool = False
    once: bool = False
    find: Find | None = None
    probe: Callable[[End], bool] = lambda _: True
    state: bool = False

    def before_verdict(self, end: End) -> Iterator[Earlier]:
        """Yield what of the row's kind had happened before what a verdict is about."""
        if self.find is None or end.verdict.rule not in self.effects:
            return
        if self.state or end.may_follow:
            found = self.find(end.case, end.verdict) if self.probe(end) else ()
            yield from (e for e in found if self.state or end.follows(e))


def _lines(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what the job printed; what has a reason of its own has it only as evidence."""
    own_reason = has_a_reason_of_its_own(case, verdict)
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


def _before(
    cause: str,
    find: Find,
    probe: Callable[[End], bool] = lambda _: True,
    *,
    effects: Container[str] = SYMPTOMS,
    state: bool = False,
) -> Link:
    """Return a row on what had happened before a verdict."""

    def of_kind(case: Case, verdict: Finding) -> Iterator[Earlier]:
        return (replace(each, kind=cause) for each in find(case, verdict))

    return Link(causes={cause}, effects=effects, find=of_kind, probe=probe, state=state)


LINKS: tuple[Link, ...] = (
    # One incident, reported in general and in particular.
    Link(
        causes=_AllBut("unknown"),
        effects={"unknown"},
        because="another rule knows the cause",
        same=True,
    ),
    Link(
        causes=_AllBut("unknown", "driver-killed"),
        effects={"driver-killed"},
        because="the verdict explains what the driver waited for when it was stopped",
    ),
    Link(
        causes=_AllBut(*(GENERAL - {"stalled"})),
        effects={"driver-exception"},
        because="the driver received the failure as this exception",
        same=True,
    ),
    Link(
        causes=_AllBut(
            *NOT_RAISED, *GENERAL, "cancelled", "part-failed", "task-exception"
        ),
        effects={"task-exception"},
        on="task",
        because="it is the same exception; a more specific rule explains it",
        same=True,
    ),
    Link(
        causes={"result-too-large"},
        effects={"task-memory-error"},
        on="task",
        because="the scheduler raised it; the task was never started",
        same=True,
    ),
    Link(
        causes={"module-not-shipped"},
        effects={"environment-mismatch"},
        because="the missing module is a file on the driver's machine, not a package",
        same=True,
    ),
    Link(
        causes={"tls-misconfigured"},
        effects={"worker-start-failed"},
        because="the workers failed to start because of the TLS failure",
        same=True,
    ),
    Link(
        causes={"p2p-out-of-disk", "too-many-open-files"},
        effects={"p2p-failed"},
        because="the verdict is the reason why the shuffle failed",
        same=True,
    ),
    # Nothing moves, and why.
    Link(
        causes=_AllBut(*GENERAL, "task-exception", "cancelled"),
        effects={"stalled"},
        because="it reports that no task progressed, but not why",
        same=True,
    ),
    Link(
        causes={"disk-full"},
        effects={"workers-paused"},
        because="the workers stayed paused because they could not spill to a full disk",
    ),
    Link(
        causes={"cluster-lost-worker"},
        effects={"no-valid-worker", "workers-never-arrived"},
        because="no worker was left because the cluster object had closed them",
    ),
    Link(
        causes={"worker-lifetime"},
        effects={"no-valid-worker"},
        because="no worker was left because all of them had reached their lifetime",
    ),
    Link(
        causes={"workers-pending"},
        effects={"workers-never-arrived"},
        because="the jobs of the missing workers had not started",
        same=True,
    ),
    Link(
        causes=STARTS | {"pod-not-started", "worker-memory-limit"},
        effects={"workers-never-arrived"},
        because="the missing workers failed to start, could not connect, or exited",
    ),
    Link(
        causes={"workers-paused"},
        effects={"workers-never-arrived"},
        because="the driver waited for running workers, and these were paused",
    ),
    Link(
        causes=HANGS | {"stalled"},
        effects={"cancelled"},
        because="the run was stopped while it waited for this",
    ),
    Link(
        causes={"part-failed"},
        effects=_AllBut("part-failed", "stopped-by-host"),
        because="a part of the run failed for this reason and has its own recording",
        same=True,
    ),
    Link(
        causes={"stopped-by-host"},
        effects={"cancelled"},
        because="it is how the host stopped the run",
    ),
    Link(
        causes={"stopped-by-host"},
        effects={"scheduler-lost"},
        within=60.0,
        before=15.0,
        because=(
            "a host that ends a run closes its cluster, possibly before the run is "
            "notified"
        ),
    ),
    # What the client learns when something else has happened.
    Link(
        causes={"scheduler-lost"},
        effects=DEATHS,
        within=120.0,
        because="workers exit when their scheduler is gone",
    ),
    Link(
        causes={"scheduler-lost", "cannot-connect", "data-lost", "actor-lost"},
        effects={"cancelled"},
        because="Dask cancels the futures that depend on what was lost",
    ),
    Link(
        causes={"graph-not-deserializable"},
        effects={"data-lost"},
        on="task",
        because="the scheduler had refused the graph that was to make this data",
    ),
    # What lies between a cause and the outcome.
    Link(
        causes=DEATHS,
        effects={"data-lost", "actor-lost"},
        on="worker",
        because="Dask recovers from such a death, but not from the loss of the data or "
        "actor on that worker",
        survived=True,
    ),
    Link(
        causes=DEATHS,
        effects={"p2p-failed"},
        within=120.0,
        because="Dask recovers from such a death, but the shuffle did not",
        survived=True,
    ),
    Link(
        causes=DEATHS,
        effects={"cluster-lost-worker"},
        because="a nanny restarts such a worker; the cluster object closed it instead",
        survived=True,
        once=True,
    ),
    Link(
        causes=DEATHS | {"unknown"},
        effects={KILLED_TASK},
        because="Dask gives up on a task whose workers died",
    ),
    Link(
        causes=DEATHS | {"cluster-lost-worker", "no-valid-worker", "unknown"},
        effects={NO_WORKERS},
        because="the workers left and were not replaced",
    ),
    Link(
        # A stall is itself; and without its scheduler, a run has no tasks that could wait.
        causes=_AllBut("task-exception", "driver-exception", STALLED, "scheduler-lost"),
        effects={STALL},
        because="tasks that cannot run block all tasks that depend on them",
    ),
    Link(
        causes={NO_WORKERS}, effects={STALL}, because="no worker was left to run tasks"
    ),
    Link(
        causes={NO_WORKERS, STALL, KILLED_TASK},
        effects={OUTCOME},
        because="the driver waited for it",
    ),
    Link(
        causes=_AllBut(), effects={OUTCOME}, because="the driver waited for its result"
    ),
    # What the run had survived before, and may have failed for in the end.
    _before("printed-line", _lines),
    _before("earlier-attempt", earlier_attempts),
    _before("failed-setup", failed_setups),
    _before("attempt-with-lock", holding_attempts, effects={"stalled"}),
    _before("ended-thread", ended_threads, effects={"driver-exception"}),
    _before("asked-worker-death", deaths_of_asked_workers, effects=UNPLACED),
    _before("asked-worker-departure", departures_of_asked_workers, effects=UNPLACED),
    _before("asked-worker-start", failed_starts_of_asked_workers, effects=UNPLACED),
    _before("reused-key", reused_keys),
    _before("merged-calls", merged_calls, effects={"driver-exception"}),
    _before("killed-task", killed_tasks),
    # Identities; before other verdicts, they are no more than evidence.
    _before("lost-result", lost_results, effects=RAISED),
    _before("named-worker", named_workers, effects=RAISED),
    _before("emptied-folder", emptied_folders, effects=RAISED),
    _before(REMOVED, removals, effects=RAISED),
    _before("left-out-results", left_out_results, lambda end: end.is_raised),
    _before("failed-task", failed_tasks, lambda end: end.may_be_of_tasks),
    _before("missed-task", _missed_tasks, lambda end: not end.may_be_of_tasks),
    _before("earlier-process", earlier_processes, lambda end: end.may_be_of_tasks),
    _before("worker-death", deaths_before, lambda end: end.may_be_of_tasks),
    _before(
        "restart",
        restarts_of_workers,
        lambda end: end.is_symptom or end.is_any_of(lacks_something),
    ),
    _before("cancellation", cancellations, lambda end: end.is_raised),
    _before("lost-data", lost_data, lambda end: end.is_raised),
    _before("failed-function", failed_functions, lambda end: end.may_be_of_programs),
    _before("printed-exception", _printed, lambda end: end.may_be_of_programs),
    _before("logged-error", logged_errors, lambda end: end.may_be_of_programs),
    _before("failed-program", programs_that_failed, lambda end: end.may_be_of_programs),
    # What was found as it failed; looked for where nothing of the above led there.
    _before("changed-state", changes_of_state, effects=OF_A_PROCESS, state=True),
    _before("missing-file", missing_files, effects=RAISED, state=True),
    _before("unseen-reason", unseen_reasons, effects=RAISED, state=True),
)
"""All that may lead to something else.

Of two reports of one moment before a verdict, such as a line that a logger and its handler
wrote, the one of the earlier row is named; of states, the one of the first row.  Else the order
decides nothing.
"""

EXPLAINS: tuple[Link, ...] = (
    Link(
        causes=_AllBut(),
        effects={"task-exception"},
        on="task",
        because="the verdict is about that task",
    ),
    Link(
        causes={"scheduler-overloaded"},
        effects={"tiny-tasks"},
        because="threads waited for the scheduler",
    ),
    Link(
        causes={"straggler"},
        effects={"workers-idle"},
        because="workers were idle while one task still ran",
    ),
    Link(
        causes={"gil-bound"},
        effects={"cpu-oversubscribed"},
        because="threads waited for the GIL, not for a core",
    ),
)
"""Findings that explain no failure, and what else they explain: that is not reported."""
