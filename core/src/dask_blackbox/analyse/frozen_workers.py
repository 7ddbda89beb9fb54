"""Workers that did not answer: what their processes did meanwhile, and what to do.

A worker freezes when its process is stopped, or when one thread keeps Python's global lock (GIL) or
the event loop.  Only its nanny, which is another process, can tell which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.suspects import not_holding_the_lock
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import worker_exits_of
from dask_blackbox.analyse.frames import Frame, at_frame, code_of, frame_of_stack
from dask_blackbox.analyse.standstills import Hang
from dask_blackbox.analyse.wording.words_of_exits import who_stopped, whose_signal
from dask_blackbox.events import (
    ExecutingTask,
    ProcessState,
    TaskSignalled,
    WorkerUnresponsive,
)
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import (
    code_line,
    counted,
    duration,
    need_of_time,
    short,
)

_COMPUTES, _WAITS = 0.7, 0.1
"""Shares of the time in which a frozen worker was watched that it computed: from the first on it
holds the lock, up to the second it waits with it; between them, its host may have been busy."""
_SILENT = 5.0
"""Seconds without a heartbeat after which a worker that answers nothing is frozen."""


@dataclass(frozen=True, kw_only=True)
class FrozenWorker:
    """A worker that did not answer.

    Attributes:
        address: Of the worker.
        process: What its nanny saw of its process; None if it did not look.
        running: What it was executing.
        stack: Python's stacks of its threads, if they were written.
        stopped: Whether a signal or a debugger had stopped its process.
        stopper: Whose code did, for a sentence; empty: not the job's, or unknown.
        stopped_from: File and line of that code.
    """

    address: str
    process: ProcessState | None = None
    running: tuple[ExecutingTask, ...] = ()
    stack: str = field(default="", repr=False)
    stopped: bool = False
    stopper: str = ""
    stopped_from: str = ""

    @property
    def suspects(self) -> tuple[str, ...]:
        """The tasks that may have frozen it."""
        innocent = not_holding_the_lock(self.running, self.process)
        keys = tuple(each.key for each in self.running)
        return tuple(key for key in keys if key not in innocent) or keys

    @property
    def share_computed(self) -> float | None:
        """The share of a core that its process used while it was watched; None: unknown."""
        process = self.process
        if process is None or not process.watched or process.cpu is None:
            return None
        return process.cpu / process.watched

    @property
    def computes(self) -> bool:
        """Whether it is known to have computed all the time."""
        share = self.share_computed
        return share is not None and share >= _COMPUTES

    @property
    def waits(self) -> bool:
        """Whether it is known to have done nothing, though no signal had stopped it."""
        share = self.share_computed
        return share is not None and share <= _WAITS and not self.stopped

    @property
    def line(self) -> Frame | None:
        """The line of code that froze it, if stacks were written."""
        suspects = set(self.suspects)
        innocent = {each.thread for each in self.running if each.key not in suspects}
        return frame_of_stack(self.stack, without=innocent)


def frozen_at_exit(death: WorkerExit) -> FrozenWorker:
    """Return a worker that was removed because it had frozen."""
    return FrozenWorker(
        address=death.address,
        process=death.when_killed,
        running=death.running,
        stack=death.stack,
        stopped=death.was_stopped or death.stopped_from is not None,
        stopper=who_stopped(death),
        stopped_from=death.stopped_from or "",
    )


def frozen_in(case: Case, hang: Hang) -> tuple[FrozenWorker, ...]:
    """Return the workers that froze, if they have every task that a hang waits for."""
    silent = {
        each.subject
        for each in case.run.of(WorkerUnresponsive)
        if (each.silent_for or 0.0) >= _SILENT
    }
    frozen = {
        worker: process
        for worker, process in hang.silent.items()
        if process is not None or worker in silent
    }
    if not hang.tasks or any(each.worker not in frozen for each in hang.tasks):
        return ()
    last = {each.address: each for each in worker_exits_of(case.run)}
    wanted = {each.worker for each in hang.tasks}
    return tuple(
        _frozen(case, worker, process, last.get(worker), hang)
        for worker, process in frozen.items()
        if worker in wanted
    )


def _frozen(
    case: Case,
    worker: str,
    process: ProcessState | None,
    ended: WorkerExit | None,
    hang: Hang,
) -> FrozenWorker:
    """Return a worker that a hang was reported of; its end, if it had one, says more."""
    pid = ended.pid if ended is not None else None
    stop = case.teardown.stop_of(worker, pid, hang.at)
    after = ended.when_killed if ended is not None else None
    running = process.executing if process is not None else ()
    return FrozenWorker(
        address=worker,
        process=process or after,
        running=running or (ended.running if ended is not None else ()),
        stack=ended.stack if ended is not None and after is not None else "",
        stopped=stop is not None
        or any(each and each.is_stopped for each in (process, after)),
        stopper=""
        if stop is None
        else whose_signal(stop.subject if isinstance(stop, TaskSignalled) else None),
        stopped_from=code_line(stop),
    )


_NATIVE_SHOWN = 8


def native_evidence(process: ProcessState | None, at: float) -> tuple[Evidence, ...]:
    """Return what py-spy saw in a process that did not answer, if it was asked.

    Args:
        at: When, in epoch seconds.
    """
    if process is None or not (process.native or process.native_failed):
        return ()
    if not process.native:
        text = f"Its native stack is not known: {process.native_failed}"
    else:
        frames = [short(each, 100) for each in process.native[:_NATIVE_SHOWN]]
        left_out = len(process.native) - len(frames)
        more = f", and {counted(left_out, 'more frame')}" if left_out else ""
        text = f"Its stack with native code, the innermost first: {', '.join(frames)}{more}"
    return (Evidence(text=text, source="events", at=at),)


class LoopBlocker(NamedTuple):
    """A call of the driver that runs code of the job on the event loops of workers.

    Attributes:
        doing: What the driver did, after "while the driver".
        text: A sentence on it, and on what it runs where.
        remedy: What to do about that code.
    """

    doing: str
    text: str
    remedy: str


_ON_LOOPS = (
    (
        ("register_plugin", "_register_plugin"),
        "was registering a plugin",
        "the `setup` of a plugin runs on the event loop of each worker, and did not return",
        (
            "the plugin's `setup` keeps the event loop of its worker. A call that waits there "
            "(`Client(…)`, `.result()`, `get_client()`, a request) waits forever for what that "
            "event loop would have to do, and stops all else on the worker. Make it `async def "
            "setup` with `await`, wait in a thread, or do this in a task."
        ),
    ),
    (
        ("run", "_run"),
        "was inside `client.run`",
        (
            "`client.run` calls its function on the event loop of each worker, and it did not "
            "return"
        ),
        (
            "the function that `client.run` calls keeps the event loop of its worker, and with it "
            "all else there. Add a timeout to what it waits for, make it a coroutine (`async "
            "def`), or submit it as a task."
        ),
    ),
)
"""By methods of the client: what the driver did, what that runs where, and what to do."""


def loop_blocker(case: Case, frozen: Sequence[FrozenWorker]) -> LoopBlocker | None:
    """Return the call in which the driver waited for code on event loops, if it did.

    A worker that ran a task, or was stopped, may have frozen for that.
    """
    position = case.driver_position
    if position is None or any(each.suspects or each.stopped for each in frozen):
        return None
    frame = position.own_frame
    at = f"{at_frame(frame)}{code_of(frame)}"
    for methods, doing, runs, remedy in _ON_LOOPS:
        if position.in_client(*methods):
            return LoopBlocker(
                doing,
                f"The driver {doing}{position.blocked_for}{at}: {runs}.",
                f"Look at what {code_line(frame) or 'the driver'} runs on the workers: {remedy}",
            )
    return None


def what_froze(
    frozen: Sequence[FrozenWorker], seen: str = "that its nanny watched it"
) -> str:
    """Return sentences on why workers did not answer; nothing if they executed nothing.

    Args:
        frozen: The workers, the last one of which is described.
        seen: When its nanny looked at its process, after "in the 4 s".
    """
    if any(each.stopped or not each.running for each in frozen):
        return ""
    last = frozen[-1]
    begins = "Its event loop did not run during that time. "
    process, used = last.process, ""
    if process is not None and last.share_computed is not None:
        cpu = process.cpu or 0.0
        used = (
            f"In the {duration(process.watched or 0.0)} {seen}, its process used "
            + (f"{duration(cpu)} of CPU time" if cpu else "no CPU time")
        )
    if last.waits:
        return (
            f"{begins}{used}: a task or coroutine waited without releasing Python's global "
            "lock (GIL) or the event loop."
        )
    if last.computes:
        return (
            f"{begins}{used}: a task computed without releasing Python's global lock "
            "(GIL), or a coroutine computed without `await`."
        )
    return (
        f"{begins}{used}{'. ' if used else ''}It was blocked by a task that does not release "
        "Python's global lock (GIL), by a coroutine that computes or sleeps without "
        "`await`, or by a host that was suspended or swapping."
    )


def remedy_of_frozen(frozen: Sequence[FrozenWorker], *, timeout: float = 0.0) -> str:
    """Return what to do about frozen workers.

    Args:
        frozen: The workers.
        timeout: Seconds without heartbeat after which they were removed; 0: they were not.
    """
    if all(each.stopper for each in frozen):
        last = frozen[-1]
        return (
            f"Look at {last.stopped_from or last.stopper}, which stops the worker: resume "
            "it (SIGCONT) also when the code in between fails, in a `finally:`, and within "
            "`distributed.scheduler.worker-ttl`."
        )
    if all(each.stopped for each in frozen):
        return (
            "Its process was suspended, not busy: by a paused machine or container, a batch "
            "system that suspends jobs, SIGSTOP or a debugger. Find what suspends it, then "
            "retry."
        )
    limit = "distributed.scheduler.worker-ttl"
    longer = (
        f"If it must take that long, raise `{limit}` to more than "
        f"{need_of_time(2 * timeout)}."
        if timeout
        else f"`{limit}` makes the scheduler remove such a worker earlier."
    )
    if frozen[-1].waits:
        return (
            "A call waits without releasing Python's global lock (GIL), or a coroutine "
            "waits without `await` (`time.sleep`, a blocking request). Give that call a "
            f"timeout, or run it in a thread or process of its own. {longer}"
        )
    patience = f" for longer than the timeout of {duration(timeout)}" if timeout else ""
    known = frozen[-1].computes
    host = "" if known else ", or the host was suspended or swapping"
    return (
        f"Code in the task held Python's global lock (GIL){patience}, such as native code "
        f"or a regular expression that backtracks endlessly{host}. Use a function that "
        f"releases the lock, or split the call. {longer}"
    )
