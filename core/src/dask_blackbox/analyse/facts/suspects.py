"""Which of the tasks that ran at a worker's end may have caused it, by evidence.

Dask blames whichever task it had given to the worker; the driver asks for whichever result it
needs.  What distinguishes running tasks: the thread that the fault came in, the CPU
time of its thread, where its stack is, and whether memory grew only since it started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.frames import (
    Frame,
    TaskStack,
    frame_of_stack,
    task_stacks,
)
from dask_blackbox.events import ExecutingTask, ProcessState
from dask_blackbox.formatting import prefix_of

_MUCH = 64 * 2**20
_SOON = 0.5
_BEGUN = 0.1
"""Share of all growth from which on memory has begun to grow."""


@dataclass(frozen=True, kw_only=True)
class MemoryGrowth:
    """How memory grew during one execution of a task, on the worker that it ended with.

    Attributes:
        grown: Bytes since it started.
        before: Bytes that it had grown before that, while other tasks ran that were still
            running at the end.
        quiet: Seconds for which it ran before memory began to grow.
    """

    grown: int
    before: int
    quiet: float


def _memory_growth(death: WorkerExit, task: ExecutingTask) -> MemoryGrowth | None:
    """Return how memory grew during a task that ran at its worker's end.

    None where memory did not grow much, or there are too few samples to say.
    """
    starts = [each.start for each in death.running if each.start is not None]
    if task.start is None or not starts:
        return None
    first = _memory_at(death, min(starts))
    own = _memory_at(death, task.start)
    if first is None or own is None:
        return None
    last = death.peak_memory or death.memory[-1][1]
    if last - first < _MUCH:
        return None
    begun = first + _BEGUN * (last - first)
    onset = next(
        (at for at, rss in death.memory if at >= min(starts) and rss >= begun), death.at
    )
    return MemoryGrowth(
        grown=last - own, before=own - first, quiet=max(onset - task.start, 0.0)
    )


def _memory_at(death: WorkerExit, moment: float) -> int | None:
    """Return the memory at a moment: of the last sample before it, or of one soon after."""
    before = [rss for at, rss in death.memory if at <= moment]
    if before:
        return before[-1]
    after = [rss for at, rss in death.memory if at - moment <= _SOON]
    return after[0] if after else None


_OF_MEMORY = ("nanny-memory-limit", "kernel-oom")
_IDLE, _BUSY = 0.05, 0.2
"""Shares of its time on a core, below which a task waited and above which it computed."""
_LONG = 0.7
"""Seconds of running from which on a share of CPU time says something."""
_QUIETER = 4.0
_NEGLIGIBLE = 0.25
"""Share of what memory grew since a task started that may have grown before."""


@dataclass(frozen=True, kw_only=True)
class TaskAtExit:
    """A task that was running when its worker ended, and what speaks for and against it.

    Attributes:
        key: Of the task.
        seconds: For how long it had run.
        cpu: CPU seconds that its thread had used; None where that was not sampled.
        faulted: Whether the fault came in its thread; None if unknown.
        waited: Whether it only waited.
        growth: How memory grew while it ran, if it died of memory and that is known.
        suspect: Whether it may have ended its worker.
    """

    key: str
    seconds: float | None = None
    cpu: float | None = None
    faulted: bool | None = None
    waited: bool = False
    growth: MemoryGrowth | None = None
    suspect: bool = True


def suspects_of(death: WorkerExit) -> tuple[str, ...]:
    """Return the tasks that may have ended a worker; all that ran if it is unknown."""
    return tuple(each.key for each in tasks_at_exit(death) if each.suspect)


def tasks_at_exit(death: WorkerExit) -> tuple[TaskAtExit, ...]:
    """Return the tasks that ran at a worker's end, with the evidence on each."""
    stacks = task_stacks(death.stack)
    of_memory = death.ended_by in _OF_MEMORY or bool(death.climbed_until_it_died)
    tasks = tuple(
        _task(death, each, stacks, of_memory=of_memory) for each in death.running
    )
    if len(tasks) < 2:  # noqa: PLR2004
        return tasks
    if death.crashed or death.called_exit:
        # Where the thread of the fault is known, all others are innocent.
        found = any(each.faulted for each in tasks)
        return _without_suspicion(
            tasks,
            {x.key for x in tasks if x.faulted is False or (found and not x.faulted)},
        )
    if of_memory:
        return _without_suspicion(tasks, _not_using_the_memory(tasks))
    if death.frozen_for is None:
        return tasks
    innocent = not_holding_the_lock(death.running, death.when_killed)
    return _without_suspicion(tasks, innocent)


def _not_using_the_memory(tasks: tuple[TaskAtExit, ...]) -> set[str]:
    """Return the tasks that did not use the memory of which their worker died.

    One of them did: a source that exonerates all says nothing, and sources that contradict each
    other exonerate no task, either.
    """
    waited = {each.key for each in tasks if each.waited}
    sources = [keys for keys in (waited, _quiet(tasks)) if len(keys) < len(tasks)]
    return set[str]().union(*sources)


def not_holding_the_lock(
    running: Sequence[ExecutingTask], process: ProcessState | None
) -> set[str]:
    """Return the tasks that did not freeze their worker.

    Only the holder of Python's lock computes for seconds while nothing else runs.  A task whose
    thread was never sampled, beside others that were, began just before the worker froze: threads
    are sampled ten times a second.

    Args:
        running: What the worker executed.
        process: What its nanny saw of its process; None if it did not look.
    """
    if process is not None and process.busy_thread is not None:
        return {e.key for e in running if e.native not in {None, process.busy_thread}}
    return {each.key for each in running if each.thread is not None}


def frame_at_exit(death: WorkerExit) -> Frame | None:
    """Return the line that a task was at when its worker ended: of a suspect, if known."""
    stacks = task_stacks(death.stack)
    suspects = set(suspects_of(death))
    for task in death.running:
        stack = _stack_of(task, stacks) if task.key in suspects else None
        if stack is not None and stack.line is not None:
            return stack.line
    innocent = {each.thread for each in death.running if each.key not in suspects}
    return frame_of_stack(death.stack, without=innocent)


def _without_suspicion(
    tasks: tuple[TaskAtExit, ...], keys: set[str]
) -> tuple[TaskAtExit, ...]:
    if len(keys) == len(tasks):
        return tasks
    return tuple(replace(each, suspect=each.key not in keys) for each in tasks)


def _task(
    death: WorkerExit,
    task: ExecutingTask,
    stacks: tuple[TaskStack, ...],
    *,
    of_memory: bool,
) -> TaskAtExit:
    seconds = None if task.start is None else max(death.at - task.start, 0.0)
    stack = _stack_of(task, stacks)
    return TaskAtExit(
        key=task.key,
        seconds=seconds,
        cpu=task.cpu,
        faulted=_faulted(task, stack, stacks)
        if death.crashed or death.called_exit
        else None,
        waited=_waited(task, seconds, stack),
        growth=_memory_growth(death, task) if of_memory else None,
    )


def _stack_of(task: ExecutingTask, stacks: tuple[TaskStack, ...]) -> TaskStack | None:
    """Return the stack of a task: of its thread, or of the only one in its function.

    Tasks are known by the name of their function, which is the prefix of their key unless
    it was fused or named by hand.
    """
    if task.thread is not None:
        return next((each for each in stacks if each.thread == task.thread), None)
    name = prefix_of(task.key).strip("_")
    named = [s for s in stacks if name in {f.function.strip("_") for f in s.frames}]
    return named[0] if len(named) == 1 or (named and named[0].faulted) else None


def _faulted(
    task: ExecutingTask, stack: TaskStack | None, stacks: tuple[TaskStack, ...]
) -> bool | None:
    """Return whether the fault came in a task's thread; None if unknown."""
    if not any(each.faulted for each in stacks):
        return None
    if stack is not None:
        return stack.faulted
    # The stack of the fault is there, and it is of another thread or function.
    return None if task.thread is None else False


def _waited(
    task: ExecutingTask, seconds: float | None, stack: TaskStack | None
) -> bool:
    """Return whether a task only waited: it used no CPU, or its stack shows it."""
    if task.cpu is None or seconds is None or seconds < _LONG:
        return stack is not None and stack.waits
    share = task.cpu / seconds
    return share < _IDLE or (share < _BUSY and stack is not None and stack.waits)


def _quiet(tasks: tuple[TaskAtExit, ...]) -> set[str]:
    """Return the tasks that had run for long before memory began to grow.

    It began to grow when another one had just started.
    """
    known = [each for each in tasks if each.growth is not None]
    if len(known) < len(tasks):
        return set()
    grew = {each.key: each.growth for each in known if each.growth is not None}
    shortest = min(grew.values(), key=lambda each: each.quiet)
    if shortest.before > _NEGLIGIBLE * max(shortest.grown, 1):
        return set()
    patience = max(_LONG, _QUIETER * shortest.quiet)
    return {key for key, each in grew.items() if each.quiet - shortest.quiet > patience}
