"""Where the driver was when it was stopped, and which call of Dask it waited in.

An exception says by its traceback where the driver was.  What a signal ends says nothing:
then the last thing counts that the driver reported of itself while it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.frames import (
    Frame,
    HasStack,
    frames_of_call_stack,
    own_frame_in,
)
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.events import (
    ClientConnecting,
    DriverBlocked,
    DriverLost,
    DriverUnblocked,
    GraphUpdated,
)
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import duration
from dask_blackbox.run_tables import RunTables

_QUEUES = "distributed/queues.py"

SHARED = {
    "distributed/lock.py": ("a `Lock`", "release it"),
    "distributed/multi_lock.py": ("a `MultiLock`", "release it"),
    "distributed/semaphore.py": ("a `Semaphore`", "release a lease"),
    _QUEUES: ("a `Queue`", "put an item into it, or take one out"),
    "distributed/event.py": ("an `Event`", "set it"),
    "distributed/variable.py": ("a `Variable`", "set it"),
    "distributed/actor.py": ("a method of an actor", "let it return"),
}
"""What is shared through Dask: what waits for it, and what would end that."""

_OF_QUEUES = {
    "get": ("a `Queue`", "put an item into it"),
    "put": ("space in a full `Queue`", "take an item out of it"),
}
"""By the method that waits, where it is known."""

_CLIENT = "distributed/client.py"
_SYNC = "distributed/utils.py"
_SUBMITTING = {
    "dask/tokenize.py": "hashing what its tasks are given",
    "cloudpickle/cloudpickle.py": "pickling what its tasks are given",
    "distributed/protocol/pickle.py": "pickling what its tasks are given",
}
"""By the file of a frame inside a call of the client."""
_OF_TASKS = "Client-worker"
"""What the names of clients begin with that tasks use."""
_RECENT = 90.0
_CLOSING_SECONDS = 2.0
_NOTICED = 5.0
"""Seconds within which it is noticed that the driver has left a line."""

_PROCESSES = (
    "multiprocessing/process.py",
    "multiprocessing/popen_fork.py",
    "/subprocess.py",
    "concurrent/futures/process.py",
)


@dataclass(frozen=True, kw_only=True)
class DriverPosition(HasStack):
    """Where the driver was.

    Attributes:
        at: When it was reported, epoch seconds.
        lasted: Seconds at that line, until the run ended; 0 if nothing reported it.
        stack: Where it was, the innermost frame last.
        connecting: Clients that were trying to reach a scheduler, with the seconds until
            the run ended.
        cpu: Seconds on a core at that line until it was reported; None: not known.
        reported_after: Seconds at that line when it was reported.
        other_ended: Whether it is the main thread, and the thread that drove the run had ended.
    """

    at: float
    lasted: float
    stack: tuple[Frame, ...] = field(default=(), repr=False)
    connecting: tuple[ClientConnecting, ...] = ()
    cpu: float | None = None
    reported_after: float = 0.0
    other_ended: bool = False

    @property
    def cpu_share(self) -> float | None:
        """The share of a core that the driver used there; None: not known."""
        if self.cpu is None or not self.reported_after:
            return None
        return self.cpu / self.reported_after

    @property
    def blocked_for(self) -> str:
        """For how long, in words to put behind others; empty if nothing reported it."""
        return f" for {duration(self.lasted)}" if self.lasted else ""

    @property
    def shared(self) -> tuple[str, str] | None:
        """What of `SHARED` the driver waited for."""
        return shared_object_in(self.beyond)

    @property
    def for_a_process(self) -> bool:
        """Whether the driver waited for a process that it had started."""
        return any(frame.file.endswith(_PROCESSES) for frame in self.beyond)

    @property
    def in_multiprocessing(self) -> bool:
        """Whether that process was one of `multiprocessing`, which may have been forked."""
        return any("/multiprocessing/" in frame.file for frame in self.beyond)

    @property
    def in_dask(self) -> bool:
        """Whether the driver waited for a call to Dask."""
        return any("/distributed/" in frame.file for frame in self.beyond)

    @property
    def of_ended_loop(self) -> bool:
        """Whether the driver waited for an event loop whose thread had ended."""
        return self.other_ended and any(
            frame.file.endswith(_SYNC) and frame.function.endswith("sync")
            for frame in self.beyond
        )

    def in_client(self, *methods: str) -> bool:
        """Return whether the driver was in one of these methods of its client."""
        return any(
            frame.file.endswith(_CLIENT) and frame.function in methods
            for frame in self.beyond
        )


def shared_object_in(frames: Sequence[Frame]) -> tuple[str, str] | None:
    """Return what of `SHARED` the frames of a wait are in."""
    for file, what in SHARED.items():  # a `Lock` is a `Semaphore` underneath
        inside = [frame for frame in frames if frame.file.endswith(file)]
        if inside:
            methods = (_OF_QUEUES.get(frame.function or "") for frame in inside)
            return next(filter(None, methods), what) if file == _QUEUES else what
    return None


def driver_position_of(run: RunTables) -> DriverPosition | None:
    """Return where the driver was when the run ended; None if that is not known."""
    blocked = run.of(DriverBlocked)
    if not blocked:
        return None
    # A process may end long after its work: it closes its cluster first.
    last, end = blocked[-1], outcome_of(run).decided_at or last_sign_of_life(run)
    # The recording goes on after its driver, until the scheduler is gone, too.
    end = min([end, *(lost.at for lost in run.of(DriverLost))])
    at, reported_after = last.at, last.lasted
    moved = [fact.at for fact in run.of(DriverUnblocked)]
    # What ends in the last moments ends because the run does.
    if any(at < each < end - _CLOSING_SECONDS for each in moved):
        return None
    # It is reported again when twice the time has passed.
    if end - at > max(2 * reported_after, _RECENT):
        return None
    since = max(end - at, 0.0)
    stack = frames_of_call_stack(last.stack)
    return DriverPosition(
        at=at,
        lasted=_waited(run, stack, since + reported_after, end),
        stack=stack,
        connecting=tuple(
            msgspec.structs.replace(each, lasted=each.lasted + since)
            for each in last.connecting
            if each.address or each.scheduler_file
        ),
        cpu=last.cpu,
        reported_after=reported_after,
        other_ended=last.other_ended,
    )


def blocked_seconds(run: RunTables, file: str, line: int) -> float:
    """Return for how long the driver had been at a line when an exception ended that.

    Returns:
        Seconds; 0 if nothing reported it, or if it submitted work afterwards.
    """
    for fact in reversed(run.of(DriverBlocked)):
        own = own_frame_in(frames_of_call_stack(fact.stack))
        if own is None or (own.file, own.line) != (file, line):
            continue
        if any(graph.at > fact.at for graph in run.of(GraphUpdated)):
            return 0.0
        later = (each for each in run.of(DriverUnblocked) if each.at > fact.at)
        return max(fact.lasted, next((each.lasted for each in later), 0.0))
    return 0.0


class Submitting(NamedTuple):
    """That the driver spent its time on what it submits, and not on the work.

    Attributes:
        seconds: How long it was found there.
        frame: Its own line.
        doing: What Dask did there, completing “the driver was”.
    """

    seconds: float
    frame: Frame
    doing: str


def submitting_of(run: RunTables) -> Submitting | None:
    """Return where the driver hashed or pickled what it submits for longest, if it was seen to.

    What a task is given with it (a function's own object, arguments) is hashed for its key and
    pickled each time.
    """
    best: Submitting | None = None
    moved = run.of(DriverUnblocked)
    for fact in run.of(DriverBlocked):
        stack = frames_of_call_stack(fact.stack)
        own = own_frame_in(stack)
        doing = next(
            (
                what
                for file, what in _SUBMITTING.items()
                if any(frame.file.endswith(file) for frame in stack)
            ),
            "",
        )
        calls = [frame for frame in stack if frame.file.endswith(_CLIENT)]
        if own is None or not doing or not calls:
            continue
        later = next((each.lasted for each in moved if each.at >= fact.at), 0.0)
        lasted = max(fact.lasted, later)
        if best is None or lasted > best.seconds:
            best = Submitting(lasted, own, doing)
    return best


def wait_before(run: RunTables, moment: float) -> DriverPosition | None:
    """Return where the driver had been blocked until just before a moment, if it had.

    Args:
        run: The run.
        moment: When its own code raised, epoch seconds.
    """
    blocked = [each for each in run.of(DriverBlocked) if each.at <= moment]
    if not blocked:
        return None
    last = blocked[-1]
    moved = next((e for e in run.of(DriverUnblocked) if e.at >= last.at), None)
    if moved is not None and abs(moved.at - moment) > _NOTICED:
        return None
    # A process may end before it is noticed that it has left the line.
    lasted = last.lasted + moment - last.at if moved is None else moved.lasted
    stack = frames_of_call_stack(last.stack)
    lasted = _waited(run, stack, lasted, moment)
    return DriverPosition(at=last.at, lasted=lasted, stack=stack)


def _waited(
    run: RunTables, stack: Sequence[Frame], lasted: float, until: float
) -> float:
    """Return for how long a wait for results had lasted at a moment.

    A driver that gathers batch after batch is found at the same line each time; it waits
    there since it last submitted work.

    Args:
        run: The run.
        stack: Where the driver was.
        lasted: Seconds for which it was found there.
        until: That moment, epoch seconds.
    """
    if not any(frame.file.endswith(_CLIENT) for frame in stack):
        return lasted
    submitted = (
        graph.at
        for graph in run.of(GraphUpdated)
        if graph.at <= until and not graph.subject.startswith(_OF_TASKS)
    )
    return min(lasted, until - max(submitted, default=until - lasted))


def position_in(run: RunTables, traceback: str, at: float) -> DriverPosition:
    """Return where the driver was when a wait of its own timed out, from its traceback.

    Args:
        run: The run.
        traceback: Of the exception.
        at: When it was raised, epoch seconds.
    """
    stack = frames_of_call_stack((traceback,))
    own = own_frame_in(stack)
    lasted = 0.0 if own is None else blocked_seconds(run, own.file, own.line)
    return DriverPosition(at=at, lasted=lasted, stack=stack)


def evidence_of_position(position: DriverPosition) -> Evidence:
    """Return the driver's own line, and what that called, as evidence."""
    text = f"The driver had been blocked{position.blocked_for} at:\n{position.lines()}"
    return Evidence(text=text, source="events", at=position.at)
