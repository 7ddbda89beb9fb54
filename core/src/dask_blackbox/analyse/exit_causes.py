"""The cause of a worker's exit, as far as the sources prove it.

The order matters: the same signal 15 comes from the memory limit, a frozen process and
another process, and only an earlier source shows which.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from dask_blackbox.analyse.facts.managers import manager_of
from dask_blackbox.analyse.facts.units import (
    UnitEnding,
    memory_limit_of,
    unit_at_exit,
    unit_that_was_full,
    units_of,
)
from dask_blackbox.analyse.facts.worker_exit import FULL, WINDOW, WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import nanny_log_of
from dask_blackbox.analyse.known_bugs import different_pythons
from dask_blackbox.analyse.run_state import recorded_until
from dask_blackbox.analyse.signals import CRASHES, NATIVE, sender_of, signal_in
from dask_blackbox.analyse.signatures import any_of, lines_of
from dask_blackbox.analyse.signatures.distributed import (
    BATCHED_WRITE_FAILED,
    GRAPH_NOT_DESERIALIZED,
    HEARTBEAT_RAISED,
    MESSAGE_NOT_SERIALIZED,
    NOT_DESERIALIZED,
    WORKER_OVER_MEMORY_BUDGET,
)
from dask_blackbox.analyse.signatures.python import BUFFER_NOT_ALLOCATED, IMPORT_FAILED
from dask_blackbox.analyse.wording.words_of_exits import (
    how_full,
    sent_at,
    who_sent,
    who_stopped,
)
from dask_blackbox.analyse.wording.words_of_units import silence
from dask_blackbox.events import ProcessAncestors, ProgramFailed
from dask_blackbox.finding import Confidence
from dask_blackbox.formatting import duration, short, size
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables, epoch

_NOT_READ = (NOT_DESERIALIZED, GRAPH_NOT_DESERIALIZED, IMPORT_FAILED)
# Dask's own lines, not a task's: a task that could not allocate need not end its worker.
_MEMORY_ERROR = "MemoryError"
_FAILED_FOR_MEMORY = (HEARTBEAT_RAISED, MESSAGE_NOT_SERIALIZED, BATCHED_WRITE_FAILED)

DIED = {
    "worker-memory-limit": "at the memory limit",
    "kernel-oom": "because of an out-of-memory kill",
    "worker-segfault": "because of a crash in native code",
    "worker-abort": "because of a call to abort()",
    "worker-signalled": "because of a signal from outside Dask",
    "worker-preempted": "because of a signal to stop `dask worker`",
    "worker-time-limit": "at the time limit of the job or pod",
    "worker-job-memory": "because the job or pod used too much memory",
    "worker-evicted": "because the pod was evicted",
    "worker-cancelled": "because the job was cancelled, or the pod deleted",
    "worker-node-failed": "because the node failed",
    "worker-lifetime": "at the end of the worker's lifetime",
    "worker-exit": "because a task's code exited the process",
    "worker-heartbeat-timeout": "after missing heartbeats",
    "worker-host-lost": "together with the nanny",
    "environment-mismatch": "because of an environment mismatch",
    "task-memory-error": "because of a failed memory allocation",
    "unknown": "for an unknown reason",
}
"""What a worker died of, in words that follow "died", by slug."""


@dataclass(frozen=True)
class ExitCause:
    """The cause of a worker's exit.

    Attributes:
        slug: The rule that explains such deaths; `unknown` if nothing is proven.
        confidence: How sure.
        because: The evidence, as a clause ("it …").
        by_script: Whether the job's own code, or one of its tasks, ended the process.
        code: With which exit code it ended, where that is the evidence.
    """

    slug: str
    confidence: Confidence
    because: str
    by_script: bool = False
    code: int | None = None

    @property
    def died(self) -> str:
        """The cause, as a clause that follows "died"."""
        if self.by_script and self.slug == "worker-signalled":
            return "because of a signal that the job itself sent"
        if self.code is not None:
            return f"because a task's code exited the process with code {self.code}"
        return DIED[self.slug]


def cause_of_exit(death: WorkerExit, run: RunTables) -> ExitCause:
    """Return the cause of a worker's exit."""
    return (
        _cause_from_nanny(death, run)
        or _cause_from_manager(death, run)
        or _cause_from_host(death, run)
        or _cause_from_environment(death, run)
        or _cause_from_python_version(death, run)
        or _cause_from_signal(death, run)
        or _cause_from_failed_allocations(death)
        or _cause_from_exit_code(death)
        or _nanny_unavailable(death, run)
    )


def _terminated_at(run: RunTables) -> str:
    """Return the share of its limit at which a nanny terminates a worker, as nannies write it."""
    lines = lines_of(run, WORKER_OVER_MEMORY_BUDGET, by=["nanny"])
    for message in lines["message"].tail(1).to_list():
        found = WORKER_OVER_MEMORY_BUDGET.search(message)
        if found is not None and found["share"]:
            return f"{found['share']} %"
    return "95 %"  # Dask's own setting


def _cause_from_nanny(death: WorkerExit, run: RunTables) -> ExitCause | None:
    if death.restarted_for_memory is not None:
        seen = death.restarted_for_memory or death.peak_memory
        at = f" at {size(seen)}" if seen else ""
        limit = f" of {size(death.memory_limit)}" if death.memory_limit else ""
        above = f"over {_terminated_at(run)} of its memory limit{limit}"
        because = f"its nanny terminated it{at}, {above}"
        return ExitCause("worker-memory-limit", "high", because)
    closing = death.closing or ""
    if death.frozen_for is not None or closing.startswith("check-worker-ttl"):
        if death.scheduler_silent_for:
            because = (
                "the scheduler removed it because of missing heartbeats, but the scheduler "
                f"itself had been suspended for {duration(death.scheduler_silent_for)}"
            )
            return ExitCause("unknown", "low", because)
        waited = f" for {duration(death.frozen_for)}" if death.frozen_for else ""
        because = f"it sent no heartbeat{waited}, and the scheduler removed it"
        if death.stopped_from is not None:
            line = death.stopped_from or "its own process"
            because += f"; {who_stopped(death)} had stopped its process (at {line})"
        elif death.was_stopped:
            because += "; its process was stopped (SIGSTOP, a debugger)"
        elif death.alive:
            because += f"; its process was still {death.alive} after that"
        return ExitCause("worker-heartbeat-timeout", "high", because)
    return None


_ENDED_BY_MANAGER: dict[UnitEnding, tuple[str, str]] = {
    "time-limit": ("worker-time-limit", "ended its {unit} at its time limit"),
    "memory": ("worker-job-memory", "killed its {unit} for its use of memory"),
    "preempted": ("worker-preempted", "preempted its {unit}"),
    "evicted": ("worker-evicted", "evicted its {unit}"),
    "node-failed": ("worker-node-failed", "ended its {unit} because its node failed"),
    "cancelled": ("worker-cancelled", "reports that its {unit} was cancelled"),
}
"""The slug of a death, and what the manager did, by why it ended the unit."""
_OF_ITSELF = ("script", "crash", "itself", "lifetime", "orderly")


def _cause_from_manager(death: WorkerExit, run: RunTables) -> ExitCause | None:
    """What a cluster manager says of the end of a unit is more than what its processes saw."""
    unit = None if death.ended_by in _OF_ITSELF else unit_at_exit(run, death)
    if unit is None or unit.ending is None:
        return None
    if unit.ending == "memory" and death.ended_by == "kernel-oom":
        return None  # its nanny has seen that the kernel killed the worker alone
    slug, did = _ENDED_BY_MANAGER[unit.ending]
    because = f"{unit.manager} {did.format(unit=f'{unit.word} {unit.id}')}"
    if unit.ending == "cancelled" and unit.state.by:
        because += f" by {unit.state.by}"
    if unit.line:
        because += f" (its log: “{short(unit.line.strip(), 160)}”)"
    elif unit.states:
        reason = f", reason {unit.state.reason}" if unit.state.reason else ""
        because += f" (state {unit.state.state}{reason})"
    return ExitCause(slug, "high", because)


def lifetime_of(run: RunTables, address: str) -> str:
    """Return the lifetime that a worker was given, in brackets; nothing if it is unknown."""
    known = [p.lifetime for p in run.of(ProcessAncestors) if p.subject == address]
    lifetime = next((each for each in known if each), None)
    return f" ({duration(lifetime).replace('.0 s', ' s')})" if lifetime else ""


def _cause_from_host(death: WorkerExit, run: RunTables) -> ExitCause | None:
    closing = death.closing or ""
    if name := signal_in(closing):
        because = f"its `dask worker` received a signal to stop ({name}) and exited"
        if death.sent_from is not None:
            because += f"; {who_sent(death)} sent it (at {sent_at(death)})"
            return ExitCause("worker-preempted", "high", because)
        if (limit := _limit_of_command(death, run)) is not None:
            because = f"`{limit}`, which had started its `dask worker`, ended it"
            return ExitCause("worker-time-limit", "high", because)
        return _unless_managed("worker-preempted", because, death, run)
    if closing.startswith("worker-lifetime"):
        lasted = lifetime_of(run, death.address)
        because = (
            f"its --lifetime{lasted} ended, and no worker could take over its results"
        )
        return ExitCause("worker-lifetime", "high", because)
    return None


_TIMEOUT = bounded(
    r"(?:\S{0,200}/)?(?P<limit>timeout (?:-[sk] \S{1,20} |--?[\w-]{1,20}(?:=\S{1,20})? ){0,5}"
    r"(?P<number>\d{1,9}(?:\.\d{1,9})?)(?P<unit>[smhd]?)) "
)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_NEAR = 2.0  # seconds between the signal and the removal of its worker


def _limit_of_command(death: WorkerExit, run: RunTables) -> str | None:
    """Return `timeout 1h`, if a program of the run's own ran a worker so and its time was up."""
    known = [p for p in run.of(ProcessAncestors) if p.subject == death.address]
    parents = {pid for each in known for pid, _ in each.ancestors}
    for each in run.of(ProgramFailed):
        found = _TIMEOUT.match(each.command)
        if found is None or each.program_pid not in parents or each.started is None:
            continue
        limit = float(found["number"]) * _UNITS[found["unit"]]
        if abs(death.at - each.started - limit) < _NEAR:
            return found["limit"]
    return None


def _unless_managed(
    slug: str, because: str, death: WorkerExit, run: RunTables
) -> ExitCause:
    """Return a cause that is sure only where no cluster manager can have another reason."""
    manager = manager_of(run, death.address)
    if manager is None:
        return ExitCause(slug, "high", because)
    said = silence(run, manager)
    unit = units_of(run).of_worker(death.address, death.name)
    if not said and unit is not None and unit.states:
        reason = f" ({short(unit.state.reason, 120)})" if unit.state.reason else ""
        said = (
            f"{manager} reports its {unit.word} {unit.id} as {unit.state.state}{reason}"
        )
    said = said or f"{manager} knows nothing of its job"
    because += f"; why is unknown, because {said}"
    return ExitCause(slug, "medium", because)


def _cause_from_environment(death: WorkerExit, run: RunTables) -> ExitCause | None:
    """Such workers leave with exit code 0, the connection to the scheduler broken."""
    broken = "connection-broken" in (death.closing or "")
    if death.exit_code not in (0, None) or (death.closing and not broken):
        return None
    lines = [line for line in death.last_lines if any_of(line, *_NOT_READ)]
    if broken and not lines:
        because = (
            "it closed its connection to the scheduler, as workers do when they cannot "
            "deserialize a message"
        )
        return ExitCause("environment-mismatch", "medium", because)
    if not broken and not any("deserializ" in line for line in lines):
        return None  # the import of a task: that is a task's error
    because = f"it could not deserialize a message: {short(_error_in(lines))}"
    sure: Confidence = "high" if broken or len(lines) > 1 else "medium"
    return ExitCause("environment-mismatch", sure, because)


def _error_in(lines: list[str]) -> str:
    """Return the error that lines of a log report, one about something missing first."""
    line = next((x for x in lines if "NotFoundError" in x), lines[-1])
    named = [x for x in line.splitlines() if bounded(r"[\w.]*Error").match(x)]
    return [line, *named][-1]


def _cause_from_python_version(death: WorkerExit, run: RunTables) -> ExitCause | None:
    """Functions travel as bytecode, and what another Python makes of that is chance."""
    if death.signal not in CRASHES:
        return None
    apart = different_pythons(run, death.address)
    if apart is None:
        return None
    ours, theirs = apart
    because = (
        f"its process crashed ({death.signal}) in Python {theirs}, and the driver has "
        f"{ours}: functions defined in the driver's script are sent as bytecode, which "
        "another minor version cannot run"
    )
    return ExitCause("environment-mismatch", "medium", because)


def _cause_from_signal(death: WorkerExit, run: RunTables) -> ExitCause | None:
    name, share = death.signal, death.share_of_memory
    if name is None:
        return None
    if name in NATIVE:
        because = f"its process crashed in native code ({name})"
        found = ExitCause("worker-segfault", "high", because)
    elif name == "SIGABRT":
        because = "its process aborted itself (SIGABRT)"
        found = ExitCause("worker-abort", "high", because)
    elif death.ended_by == "script":
        because = f"{who_sent(death)} sent it {name} (at {sent_at(death)})"
        found = ExitCause("worker-signalled", "high", because)
    elif name == "SIGTERM" and share >= FULL:
        because = f"it was terminated (SIGTERM) at {share:.0%} of its memory limit"
        found = ExitCause("worker-memory-limit", "medium", because)
    elif (killed := _cause_of_kill(death, run)) is not None:
        found = killed
    else:
        sender = sender_of(name)
        because = f"something outside Dask sent its process {name}"
        if sender is not None:
            because = f"it {sender.because.format(name=name)}"
        sure: Confidence = "medium" if death.was_full and not sender else "high"
        found = ExitCause("worker-signalled", sure, because)
    return replace(found, by_script=death.ended_by == "script")


def _cause_of_kill(death: WorkerExit, run: RunTables) -> ExitCause | None:
    """Return what SIGKILL was for, where the memory of the process tells."""
    if death.signal != "SIGKILL":
        return None
    share, grown = death.share_of_memory, death.climbed_until_it_died
    if death.oom_kills:
        because = (
            "the kernel's out-of-memory killer ended it (its kill counter increased)"
        )
        if (unit := unit_that_was_full(run, death)) is not None:
            limit = size(memory_limit_of(unit))
            because += f" at the {limit} of {unit.manager} {unit.word} {unit.id}"
        return ExitCause("kernel-oom", "high", because)
    if share >= FULL:
        because = f"it was killed (SIGKILL) at {share:.0%} of its memory limit"
        return ExitCause("kernel-oom", "medium", because)
    if death.host_oom_kills == 0:
        because = (
            "something outside Dask sent its process SIGKILL; not the kernel for lack of "
            "memory, as its counter of such kills did not increase"
        )
        return ExitCause("worker-signalled", "high", because)
    if grown:
        because = (
            f"it was killed (SIGKILL) while its memory grew by {size(grown)} to "
            f"{size(death.peak_memory or 0)} in its last seconds; the kernel probably "
            "killed it because its container's limit was reached or its host's memory was "
            "full (no visible counter shows it)"
        )
        return ExitCause("kernel-oom", "medium", because)
    return None


def _ran_out(line: str) -> bool:
    """Return whether Dask itself, not a task, could not allocate memory."""
    if BUFFER_NOT_ALLOCATED.match(line):
        return True
    return _MEMORY_ERROR in line and any(e.match(line) for e in _FAILED_FOR_MEMORY)


def _cause_from_failed_allocations(death: WorkerExit) -> ExitCause | None:
    """A process that may not grow (`ulimit -v`) cannot even send its heartbeats."""
    if death.exit_code not in (0, 1, None):
        return None
    if not any(map(_ran_out, death.last_lines)):
        return None
    because = (
        "its process could not allocate memory even for a heartbeat (MemoryError), so it "
        "closed"
    )
    return ExitCause("task-memory-error", "medium", because)


def _cause_from_exit_code(death: WorkerExit) -> ExitCause | None:
    if death.exit_code is None:
        return None
    if death.closing:
        because = (
            f"it closed itself ({short(death.closing, 80)}) "
            f"and exited with code {death.exit_code}"
        )
        return ExitCause("unknown", "low", because)
    because = f"its process exited with code {death.exit_code}"
    sure: Confidence = "high" if death.executing else "medium"
    return ExitCause("worker-exit", sure, because, code=death.exit_code)


def _nanny_unavailable(death: WorkerExit, run: RunTables) -> ExitCause:
    """If the exit was not observed: is that because its nanny ended with it?"""
    rows = run.workers.filter(pl.col("address") == death.address)
    nanny = next(reversed(rows["nanny"].drop_nulls().to_list()), None)
    full = f"; {how_full(death)}" if death.was_full else ""
    lost = "its nanny disappeared with it and"
    if death.ended_by == "with-its-nanny":
        because = f"{lost} does not answer at its address{full}"
        return _unless_managed("worker-host-lost", because, death, run)
    if death.closing:
        because = f"it closed itself ({short(death.closing, 80)})"
    elif not nanny and death.was_full:
        because = (
            f"it disappeared and had no nanny to report how; {how_full(death)}: the "
            "kernel probably killed it because its container's limit was reached or "
            "its host's memory was full"
        )
        return ExitCause("kernel-oom", "medium", because)
    elif not nanny:
        because = "it had no nanny that could report its exit"
    elif death.with_nanny is False or _nanny_active_after(run, nanny, death.at):
        because = "its nanny survived, but its exit code was not recorded"
    elif recorded_until(run) < death.at + WINDOW:
        because = "the recording ended before its nanny could report its exit"
    else:
        because = f"{lost} logged nothing{full}"
        return ExitCause("worker-host-lost", "medium", because)
    return ExitCause("unknown", "low", because)


def _nanny_active_after(run: RunTables, nanny: str, at: float) -> bool:
    others = run.workers.filter((pl.col("nanny") == nanny) & (epoch("joined") > at))
    return len(others) > 0 or nanny_log_of(run).active_after(nanny, at)
