"""What was blocked when the run ended: the last thing that the stall detector reported.

Nine kinds of hang raise nothing at all.  What the driver gets in the end is a timeout, a
signal, or the cancellation that our own `blackbox.stall.end-run` made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dask_blackbox.analyse.driver_position import shared_object_in
from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.frames import (
    Frame,
    HasStack,
    frames_of_call_stack,
    is_the_users,
)
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.events import (
    Dependency,
    DriverCallFailed,
    DriverCancel,
    DriverClosing,
    GraphUpdated,
    ProcessState,
    RestrictedTask,
    Stall,
    StallCancelledTasks,
    StallOver,
    TaskOnWorker,
    WaitingTask,
    WorkerAnswer,
    WorkerExitReport,
)
from dask_blackbox.finding import Subject
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, RunTables, epoch

ENDED_BY_US = "cancelled for reason: dask-blackbox"
"""What a driver gets whose run our own option ended."""

_RECENT = 90.0
_CLOSING_SECONDS = 2.0


_LONG = 30.0  # seconds
SLEEPS = bounded(r"\bsleep\(")
"""A line at which code sleeps, as in a pause between two looks at something."""


@dataclass(frozen=True, kw_only=True)
class HangingTask(HasStack):
    """A task that a worker had been given when everything was blocked.

    Attributes:
        key: Of the task.
        prefix: Of the task.
        worker: Address of the worker that had it.
        executing_for: Seconds for which it had been executing by the end of the hang; None if
            it was not.
        state: Its state on that worker, if the worker answered.
        waits_for: What it waited for there.
        stack: Where it was, the innermost frame last; as many as were recorded.
        silent: Whether its worker did not answer.
    """

    key: str
    prefix: str
    worker: str
    executing_for: float | None = None
    state: str | None = None
    waits_for: tuple[Dependency, ...] = ()
    stack: tuple[Frame, ...] = field(default=(), repr=False)
    silent: bool = False

    @property
    def subject(self) -> Subject:
        """The task, as findings name it."""
        return Subject(key=self.key, prefix=self.prefix, worker=self.worker)


HELD = ("a `Lock`", "a `MultiLock`", "a `Semaphore`")
"""What a task holds until it releases it, of what tasks share."""


def waits_to_hold(task: HangingTask) -> bool:
    """Return whether a task waits for a lock or a lease of Dask's."""
    shared = shared_object_in(task.beyond)
    return shared is not None and shared[0] in HELD


def _holder(busy: list[HangingTask]) -> HangingTask | None:
    """Return the running task that probably holds what others wait for.

    It is the only one that waits for no lock, or has passed a line at which others do: nothing
    moves before it does.
    """
    others = [task for task in busy if not waits_to_hold(task)]
    if others:
        return others[0] if len(others) == 1 < len(busy) else None
    return next((task for task in busy if held_from(task, busy)), None)


def held_from(task: HangingTask, busy: Sequence[HangingTask]) -> HangingTask | None:
    """Return a task that waits for a lock at a line that `task`, which waits, too, has passed.

    Both run that function: unless it released it, `task` holds what the other one waits for.
    """
    outer = [frame for frame in task.stack if is_the_users(frame)][:-1]
    for other in busy:
        waits_at = other.own_frame
        if other is task or waits_at is None or not waits_to_hold(other):
            continue
        place = (waits_at.file, waits_at.function)
        if any(
            (each.file, each.function) == place and each.line > waits_at.line
            for each in outer
        ):
            return other
    return None


def _pauses(task: HangingTask) -> bool:
    """Return whether the user's own code was in a pause between two looks at something."""
    own = task.own_frame
    return own is not None and not task.beyond and SLEEPS.search(own.code) is not None


@dataclass(frozen=True, kw_only=True)
class Hang:
    """What was blocked, and since when.

    Attributes:
        at: When it was reported, epoch seconds.
        since: Since when no task had ended, epoch seconds.
        lasted: Seconds without any task that ended, until the run ended.
        workers: How many workers there were.
        statuses: How many of them had which status.
        paused: Addresses of paused workers, fifty at most.
        states: Unfinished tasks by state.
        unrunnable: Tasks that no worker may run, with what they ask for.
        waiting: A few tasks that waited for others.
        taken: Locks and semaphores without a free lease, and how many leases they have.
        tasks: The tasks that workers had, fifty at most.
        silent: What nannies saw of the processes of workers that did not answer, by address; None
            where no nanny answered either.
        ended_by_us: Whether `blackbox.stall.end-run` ended the run.
    """

    at: float
    since: float
    lasted: float
    workers: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    paused: tuple[str, ...] = ()
    states: dict[str, int] = field(default_factory=dict)
    unrunnable: tuple[RestrictedTask, ...] = ()
    waiting: tuple[WaitingTask, ...] = ()
    taken: dict[str, int] = field(default_factory=dict)
    tasks: tuple[HangingTask, ...] = ()
    silent: dict[str, ProcessState | None] = field(default_factory=dict, repr=False)
    ended_by_us: bool = False

    @cached_property
    def executing(self) -> tuple[HangingTask, ...]:
        """The tasks that were executing: who may hold a lock, those in a call, the longest first.

        What looks again and again, with pauses, waits for what others are to do.
        """
        busy = [task for task in self.tasks if task.executing_for is not None]
        first = _holder(busy)
        return tuple(
            sorted(
                busy,
                key=lambda e: (e is not first, _pauses(e), -(e.executing_for or 0.0)),
            )
        )

    @property
    def longest(self) -> HangingTask | None:
        """The task that had been executing for longest."""
        return next(iter(self.executing), None)

    @property
    def until(self) -> float:
        """When it ended: the driver gave up, or the recording ends there; epoch seconds."""
        return self.since + self.lasted

    @property
    def long(self) -> bool:
        """Whether it lasted for longer than tasks that are only slow to start or to end."""
        return self.lasted >= _LONG

    @property
    def wanted(self) -> int:
        """How many tasks had not ended."""
        return sum(self.states.values())

    @property
    def all_paused(self) -> bool:
        """Whether there were workers, and all of them paused."""
        return 0 < self.workers == self.statuses.get("paused", 0)


def hang_of(run: RunTables) -> Hang | None:
    """Return what was blocked when the run ended; None if work was going on."""
    cancelled = run.of(StallCancelledTasks)
    end = cancelled[-1].at if cancelled else last_sign_of_life(run)
    # What was reported after our own end of the run knows nothing any more.
    stalls = [stall for stall in run.of(Stall) if stall.at <= end]
    if not stalls:
        return None
    # Once the driver has given up, it releases what it had waited for, and workers close.
    outcome = outcome_of(run)
    before = [stall for stall in stalls if not outcome.is_after(stall.at)]
    last = (before or stalls)[-1]
    at, reported_after = last.at, last.lasted
    # What ends in the last moments ends because the run does, or because the driver gave up: it
    # may have released what tasks were waiting for.
    gave_up = _gave_up_at(run, last.at) or end
    closing = min(end - _CLOSING_SECONDS, gave_up)
    if _is_over_within(run, at, closing):
        return None
    # It is reported again when twice the time has passed: a longer silence is an idle cluster.
    until = min(end, gave_up)
    if until - at > max(reported_after, _RECENT):
        return None
    return Hang(
        at=at,
        since=at - reported_after,
        lasted=max(until - at, 0.0) + reported_after,
        workers=last.workers,
        statuses=_counted(last.statuses),
        paused=last.paused,
        states=_counted(last.states),
        unrunnable=last.unrunnable,
        waiting=last.waiting,
        taken=last.taken,
        tasks=_tasks(last, _begun_on_the_dead(run), _there_until(run, until)),
        silent=_silent(last, stalls[-1]),
        ended_by_us=bool(run.of(StallCancelledTasks)),
    )


def _is_over_within(run: RunTables, begin: float, end: float) -> bool:
    """Return whether a stall was over between two moments."""
    failed = set(run.errors["key"])
    # A driver that received the error of a task had not waited in vain.
    received = [each for each in run.of(DriverCallFailed) if each.key in failed]
    if any(begin < each.at < end for each in (*run.of(StallOver), *received)):
        return True
    # Where the scheduler closes before its next look, nothing reports that it is over.
    return finished_within(run, begin, end)


def _gave_up_at(run: RunTables, stalled: float) -> float | None:
    """Return when the driver stopped waiting after a stall, if that is known.

    That was decided then, or it cancelled what it waited for or closed its client, and no work
    began any more.
    """
    acts: list[DriverCancel | DriverClosing]
    acts = [*run.of(DriverCancel), *run.of(DriverClosing)]
    began = max((each.at for each in run.of(GraphUpdated)), default=0.0)
    last = run.tasks.filter(FINISHED).select(epoch("start").max()).item()
    began = max(began, stalled, last or 0.0)
    moments = [each.at for each in acts if each.at > began]
    decided = outcome_of(run).decided_at
    if decided is not None and decided > stalled:
        moments.append(decided)
    return min(moments, default=None)


def finished_within(run: RunTables, begin: float, end: float) -> bool:
    """Return whether a task finished between two moments."""
    between = (epoch("stop") > begin) & (epoch("stop") < end)
    return not run.tasks.filter(FINISHED & between).is_empty()


def _begun_on_the_dead(run: RunTables) -> dict[tuple[str, str], float]:
    """Return since when workers executed what they were executing at their end.

    A worker that a task blocks at once has no time to say that it began it.
    """
    return {
        (each.worker, task.key): task.start
        for each in run.of(WorkerExitReport)
        if each.worker
        for task in each.executing
        if task.start is not None
    }


def _silent(stall: Stall, last: Stall) -> dict[str, ProcessState | None]:
    """Return what was seen of the processes of workers that did not answer.

    Their nannies look after a while, which may be in the last report, after the hang.
    """
    looked = {
        worker: answer.process
        for worker, answer in last.answers.items()
        if answer.failed is not None
    }
    return {
        worker: answer.process or looked.get(worker)
        for worker, answer in stall.answers.items()
        if answer.failed is not None
    }


def _there_until(run: RunTables, until: float) -> Callable[[str], float]:
    """Return what says until when a worker was there, at most until a moment."""
    left = run.workers.select("address", epoch("left")).drop_nulls()
    gone: dict[str, float] = dict(left.iter_rows())

    def there_until(worker: str) -> float:
        return min(gone.get(worker, until), until)

    return there_until


def _tasks(
    stall: Stall,
    begun: Mapping[tuple[str, str], float],
    there_until: Callable[[str], float],
) -> tuple[HangingTask, ...]:
    """Return the tasks that were assigned.

    None finished after the report, so that those which executed then did until the end.

    Args:
        begun: When those began whose worker did not answer, by worker and key.
        there_until: Until when a worker was there, at most until the end of the hang.
    """
    found = []
    for each in stall.processing:
        worker = each.worker or ""
        answer = stall.answers.get(worker, WorkerAnswer())
        known = (answer.tasks or {}).get(each.key, TaskOnWorker())
        start = begun.get((worker, each.key)) if answer.failed else None
        lasted = each.executing_for
        if start is not None and start <= stall.at:
            lasted = stall.at - start
        if lasted is not None:
            lasted += max(there_until(worker) - stall.at, 0.0)
        found.append(
            HangingTask(
                key=each.key,
                prefix=each.prefix or "",
                worker=worker,
                executing_for=lasted,
                state=known.state,
                waits_for=known.waits_for,
                stack=frames_of_call_stack(answer.stacks.get(each.key, ())),
                silent=answer.failed is not None,
            )
        )
    return tuple(found)


def _counted(numbers: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number}
