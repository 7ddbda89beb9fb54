"""Every worker process of a run, with one account of how it ended.

Sources report the same exit at different times: the scheduler's events before it, its
removal, the nanny's report and log lines after it (exit codes arrive *after* the client
has its exception), and the last samples and lines of the process itself.  They are joined
here, once, and each field names the witness that it is from.

A worker leaves a cluster for many good reasons: it was retired, restarted on request, or its
cluster closed.  None of these is a death.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dask_blackbox.analyse.signals import CRASHES
from dask_blackbox.events import ExecutingTask, ProcessState
from dask_blackbox.formatting import signal_name
from dask_blackbox.patterns import bounded

WINDOW = 5.0
"""Seconds by which witnesses of one exit may lie apart, before and after."""

FULL = 0.9
"""Share of its memory limit from which on memory may well be what a worker died of."""

_LAST, _CLOSE = 4.0, 1.0
# (Who imports pandas has climbed by 90 MiB.)
_ENOUGH, _TOP, _MUCH = 3, 0.97, 192 * 2**20

EndedBy = Literal[
    "nanny-memory-limit",
    "heartbeat-timeout",
    "host",
    "lifetime",
    "script",
    "kernel-oom",
    "crash",
    "signal",
    "itself",
    "with-its-nanny",
    "orderly",
    "nobody-knows",
]
"""Who, or what, ended a worker process.

`host`: a signal to its nanny, which ended with it; `signal`: one to the process alone;
`script`: the job's own code sent it, in the driver or in a task; `orderly`: retired, restarted or closed on request.
"""


_MOMENT = bounded(r"-\d{9,20}[\d.]{0,20}$")


def without_moment(reason: str) -> str:
    """Return the reason why a worker closed, without the moment that Dask adds to it."""
    return _MOMENT.sub("", reason)


@dataclass(frozen=True, kw_only=True)
class WorkerExit:
    """One worker process, and how it ended.

    Attributes:
        address: Of the worker.
        joined: When it joined, epoch seconds.
        left: When the scheduler noticed its end, epoch seconds; None: never.
        gone: When it can no longer have existed, epoch seconds: when it left, or when its
            scheduler ended; None: it was connected to the end.
        died: Whether it ended though it was not meant to.
        ended_by: Who ended it.
        ordered_by: What of the run had ordered that it ends, for a sentence; empty: nothing had.
        rank: Its rank in an MPI job that its end has ended; None: it has ended none.
        name: As the cluster calls it.
        pid: Of the process.
        host: That it ran on.
        nanny: Address of its nanny; None without one.
        scheduler: Address of its scheduler, where its arrival names it.
        nthreads: How many tasks it could run at once.
        memory_limit: Bytes; None if it had none.
        exit_code: Negative for a signal; None if the exit was not observed.
        closing: The reason it or its nanny gave, if any.
        stimulus: The stimulus id of its removal.
        has_report: Whether its nanny or its ring testified.
        running: What it was executing.
        processing: Keys that the scheduler had given to it.
        lost_scattered: Keys of scattered data that were lost with it.
        memory: Its last memory samples: (epoch seconds, bytes).
        stack: Python's stacks of its threads, if they were written.
        last_lines: Its last log lines.
        oom_kills: How often the kernel killed for memory around then, in that cgroup.
        host_oom_kills: How often it killed any process of its host for memory, if that is known.
        restarted_for_memory: Memory at which its nanny terminated it, if that is why.
        frozen_for: Seconds without heartbeat after which it was given up, if that is why.
        scheduler_silent_for: Seconds for which the scheduler itself did not run just before
            it gave the worker up, if it had not.
        with_nanny: Whether its nanny was gone as well: true, false, or None if it was not checked.
        alive: In what state its process was when it was reported, if it had not ended.
        when_killed: In what state it was when its nanny killed it, if that had to.
        sent_from: File and line of the job's own code that sent the signal, if that did; empty:
            it did, and its line is unknown.
        sent_by: Key of the task that sent it, or address of the worker whose thread did;
            None: the driver's script, or nothing of the job's.
        stopped_from: File and line of the job's own code that stopped it (SIGSTOP), if that did
            and did not resume it; empty as above.
        stopped_by: Who did, as in `sent_by`.
    """

    address: str
    joined: float
    left: float | None = None
    gone: float | None = None
    died: bool = False
    ended_by: EndedBy | None = None
    ordered_by: str = ""
    rank: int | None = None
    name: str | None = None
    pid: int | None = None
    host: str | None = None
    nanny: str | None = None
    scheduler: str | None = None
    nthreads: int | None = None
    memory_limit: int | None = None
    exit_code: int | None = None
    closing: str | None = None
    stimulus: str = ""
    has_report: bool = False
    running: tuple[ExecutingTask, ...] = ()
    processing: tuple[str, ...] = ()
    lost_scattered: tuple[str, ...] = ()
    memory: tuple[tuple[float, int], ...] = field(default=(), repr=False)
    stack: str = field(default="", repr=False)
    last_lines: tuple[str, ...] = field(default=(), repr=False)
    oom_kills: int = 0
    host_oom_kills: int | None = None
    restarted_for_memory: int | None = None
    frozen_for: float | None = None
    scheduler_silent_for: float | None = None
    with_nanny: bool | None = None
    alive: str = ""
    when_killed: ProcessState | None = None
    sent_from: str | None = None
    sent_by: str | None = None
    stopped_from: str | None = None
    stopped_by: str | None = None

    @property
    def at(self) -> float:
        """When it ended, as far as anybody noticed, epoch seconds."""
        return self.joined if self.left is None else self.left

    @property
    def executing(self) -> tuple[str, ...]:
        """The keys that it was executing."""
        return tuple(each.key for each in self.running)

    @property
    def signal(self) -> str | None:
        """The signal that ended it, by name."""
        return signal_name(self.exit_code)

    @property
    def was_stopped(self) -> bool:
        """Whether its process was stopped by a signal or a debugger when it was looked at."""
        killed = self.when_killed
        return self.alive == "stopped" or (killed is not None and killed.is_stopped)

    @property
    def crashed(self) -> bool:
        """Whether it died by a fault of its own process."""
        return self.signal in CRASHES

    @property
    def called_exit(self) -> bool:
        """Whether code that it ran ended its process by `os._exit`; the stacks show which."""
        return self.signal is None and "os._exit(" in self.stack

    @property
    def running_on(self) -> tuple[str, ...]:
        """What it was executing, or, where that is unknown, what it had been given."""
        return self.executing or self.processing

    @property
    def peak_memory(self) -> int | None:
        """The most memory it was seen with, in bytes."""
        seen = [rss for _, rss in self.memory]
        if self.restarted_for_memory:
            seen.append(self.restarted_for_memory)
        return max(seen, default=None)

    @property
    def climbed_until_it_died(self) -> int | None:
        """By how many bytes its memory had grown in its last seconds; None if it had not.

        What a kernel kills for memory dies at the top of its curve.
        """
        recent = [(at, rss) for at, rss in self.memory if at >= self.at - _LAST]
        if len(recent) < _ENOUGH or self.at - recent[-1][0] > _CLOSE:
            return None
        grown = recent[-1][1] - min(rss for _, rss in recent)
        at_the_top = recent[-1][1] >= _TOP * (self.peak_memory or 0)
        much = grown >= max(_MUCH, recent[-1][1] / 3)
        return grown if at_the_top and much else None

    @property
    def share_of_memory(self) -> float:
        """The most memory that it was seen with, as a share of its limit; 0 if unknown."""
        if not self.peak_memory or not self.memory_limit:
            return 0.0
        return self.peak_memory / self.memory_limit

    @property
    def was_full(self) -> bool:
        """Whether its memory was so full at the end that it may have ended of that."""
        return self.climbed_until_it_died is not None or self.share_of_memory >= FULL
