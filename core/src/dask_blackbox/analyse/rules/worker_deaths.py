"""Deaths of worker processes, by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import (
    deaths_blamed_on,
    evidence_of,
    how_died,
    last_line_text,
    name_of,
    names_at_fault,
    verdict_on_deaths,
)
from dask_blackbox.analyse.driver_output import last_error_before
from dask_blackbox.analyse.exit_causes import lifetime_of
from dask_blackbox.analyse.facts.managers import manager_of
from dask_blackbox.analyse.facts.units import Unit, unit_at_exit
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.frames import Frame, user_frame
from dask_blackbox.analyse.frozen_workers import (
    FrozenWorker,
    frozen_at_exit,
    remedy_of_frozen,
    what_froze,
)
from dask_blackbox.analyse.hang_texts import evidence_of_hang, how_it_ended
from dask_blackbox.analyse.offers import several_threads
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.rules.job_ends import full_units_at, killed_in_full_units
from dask_blackbox.analyse.signals import sender_of, signal_in
from dask_blackbox.analyse.wording.words_of_exits import how_full, sent_at, who_sent
from dask_blackbox.analyse.worker_memory import (
    MemoryNeed,
    RetainedMemory,
    StartupMemory,
    failed_spill_before,
    memory_need,
    retained_memory_of,
    startup_memory_of,
)
from dask_blackbox.events import (
    WorkerClosing,
    WorkerRemoved,
    WorkerRestartedForMemory,
)
from dask_blackbox.finding import Evidence, Finding, RetryAdvice, Subject
from dask_blackbox.formatting import (
    capital,
    code_line,
    counted,
    duration,
    listed,
    need,
    quoted,
    quoted_key,
    short,
    size,
    time_argument,
    uncapitalised,
    were,
)
from dask_blackbox.managers import manager_named
from dask_blackbox.run_tables import FINISHED, epoch

# worker-memory-limit
#
# The nanny of a worker terminates it at 95 % of its limit.  The client only hears that a
# worker vanished; what proves the cause is the nanny's own word just before.


_HOLD_LESS = (
    "Results filled the workers' memory, more than any single task did. Reduce them "
    "sooner, write them from the workers instead of calling `persist()`, or let "
    "workers spill (`distributed.worker.memory.target` and `spill`). Otherwise "
)


@documented("worker-memory-limit")
def WORKER_MEMORY_LIMIT(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_MEMORY_LIMIT.slug)
    if not deaths:
        yield from _before_any_task(case)
        return
    need = memory_need(case, deaths)
    limit = f"{size(need.limit)} " if need.limit else ""
    retained = retained_memory_of(case, deaths[-1])
    early = startup_memory_of(case, deaths)
    about, how = retained or early, _what_filled_memory(deaths, limit, retained, early)
    more = [about.sentence() if about else _what_held(need, deaths)]
    remedy = need.advice()
    if retained:
        remedy = retained.advice()
    elif early:
        remedy = early.advice(need.wanted)
    elif need.keeps_too_much:
        remedy = f"{_HOLD_LESS}{uncapitalised(remedy)}"
    spill = failed_spill_before(case, {d.address for d in deaths}, deaths[-1].at)
    if spill:
        how += f", after spilling had failed ({spill.name}),"
        more.insert(0, spill.sentence())
        remedy = spill.advice()
    yield from verdict_on_deaths(
        case,
        WORKER_MEMORY_LIMIT,
        did="died",
        how=how,
        more=" ".join(filter(None, [*more, last_line_text(deaths)])),
        remedy=remedy,
        retry_advice="environment" if spill else None,
        # New workers start empty, and fill up again.
        retry_confidence="medium" if retained or spill else None,
        worker_memory=None if spill or retained else need.wanted,
    )


def _what_held(need: MemoryNeed, deaths: tuple[WorkerExit, ...]) -> str:
    """Return a sentence on what was in the memory of workers that died; may be empty."""
    if need.held:
        who = "the worker" if len(deaths) == 1 else "each worker"
        return f"Just before, {who} held results of {size(need.held)} or more."
    if need.at_once > 1:
        return f"{need.at_once} tasks ran at once and shared that memory."
    return ""


def _what_filled_memory(
    deaths: tuple[WorkerExit, ...],
    limit: str,
    retained: RetainedMemory | None,
    early: StartupMemory | None,
) -> str:
    """Return how workers died at their limit, for a title, and what had used it before."""
    it, its = ("it", "its") if len(deaths) == 1 else ("they", "their")
    if retained is not None:
        return (
            f"because earlier tasks had kept {size(retained.kept)} or more of {its} "
            f"{limit}memory limit"
        )
    if early is not None:
        return (
            f"because {it} used {size(early.used)} of {its} {limit}memory limit before "
            f"{its} first task"
        )
    return f"at {its} {limit}memory limit"


def _before_any_task(case: Case) -> Iterator[Finding]:
    """Yield that nannies restarted workers that had not run anything, again and again."""
    waited = case.gave_no_reason or case.raised("WorkerStartTimeoutError")
    if not case.failed or not waited or case.blame.failure is not None:
        return
    restarts = [
        each
        for each in case.run.of(WorkerRestartedForMemory)
        if not case.outcome.is_after(each.at)
    ]
    if len(restarts) >= _SEVERAL and not len(case.run.tasks):
        yield _restarted_idle(case, restarts)


def _restarted_idle(case: Case, restarts: list[WorkerRestartedForMemory]) -> Finding:
    limits = case.run.workers["memory_limit"].drop_nulls().to_list()
    limit = f"{size(min(limits))} " if limits else ""
    own = case.run.metrics.filter(pl.col("source") != "scheduler")["memory"]
    seen = max(int(own.max() or 0), *(each.rss or 0 for each in restarts))  # type: ignore[arg-type]
    used = f" The largest sample was {size(seen)}." if seen else ""
    need = f"more than {size(seen)}" if seen else "a few hundred MiB"
    return WORKER_MEMORY_LIMIT.found(
        f"Workers were restarted {len(restarts)} times at their {limit}memory limit "
        "before they ran a task",
        cause=(
            "Nannies terminated "
            f"{counted(len(restarts), 'worker process', 'worker processes')} over 95 % "
            f"of the memory limit of {limit.strip() or 'their workers'}, and no task "
            f"had run: an idle worker needs more than this limit.{used}"
        ),
        remedy=(
            f"Set `memory_limit` (`--memory-limit`) well above what an idle worker uses: {need}. "
            'Usual values are gigabytes (`memory_limit="2 GiB"`); `MiB` and `GiB` are easily '
            "mixed up."
        ),
        confidence="high",
        evidence=(
            *(
                Evidence(
                    text=f"The nanny of {case.name_of(each.subject)} restarted it at "
                    f"{size(each.rss or 0)}.",
                    source="events",
                    at=each.at,
                )
                for each in restarts[-3:]
            ),
            *case.exception_evidence(),
        ),
    )


_SEVERAL = 2


# kernel-oom
#
# It sends SIGKILL, so nobody hears a word; its counter in the worker's cgroup goes up.


@documented("kernel-oom")
def KERNEL_OOM(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, KERNEL_OOM.slug)
    if not deaths:
        return
    memory = memory_need(case, deaths, met_its_limit=False)
    seen = f" (last sample: {size(memory.seen)})" if memory.seen else ""
    if units := full_units_at(case, deaths):
        yield from killed_in_full_units(case, KERNEL_OOM, deaths, units, memory)
        return
    limit = "Dask had no limit: set `memory_limit` below the container's, and "
    if memory.limit:
        limit = (
            f"Dask's own limit of {size(memory.limit)} was above what the container or host "
            "has, so Dask never spilled or paused in time. Set `memory_limit` below the "
            "container's limit, and give the container more: "
        )
    guessed = not any(death.oom_kills for death in deaths)
    if guessed:
        limit = (
            "Check what the host reports for that time (`dmesg`, `OOMKilled`, exit "
            f"code 137). If memory was the reason: {limit}"
        )
    retained = retained_memory_of(case, deaths[-1])
    yield from verdict_on_deaths(
        case,
        KERNEL_OOM,
        did=f"{were(len(deaths))} killed",
        more=retained.sentence() if retained else "",
        how=f"by the kernel's out-of-memory killer, probably{seen}"
        if guessed
        else f"by the kernel's out-of-memory killer{seen}",
        remedy=f"{limit}start with {need(memory.wanted)} for each worker"
        + (", twice the largest sample." if memory.seen else ".")
        + (f" {retained.advice()}" if retained else ""),
        retry_confidence="medium" if retained else None,
        worker_memory=memory.wanted,
    )


_THREADS = "whether {} several threads (try `threads_per_worker=1`), "


@documented("worker-segfault")
def WORKER_SEGFAULT(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_SEGFAULT.slug)
    if not deaths:
        return
    where = last_line_text(deaths)
    look = (
        "Check the compiled library that this line calls: its version, "
        f"{_THREADS.format('it supports') if several_threads(case) else ''}and whether it was "
        if where
        else "Check the compiled libraries that the task calls: their versions, "
        f"{_THREADS.format('they support') if several_threads(case) else ''}and whether they were "
    )
    yield from verdict_on_deaths(
        case,
        WORKER_SEGFAULT,
        did="crashed",
        how=f"in native code ({deaths[-1].signal})",
        more=where or _no_stack(deaths),
        remedy=_OF_MAPPED_FILES
        if all(death.signal == "SIGBUS" for death in deaths)
        else (
            f"{look}built for this machine. A retry without a change will most likely "
            "crash again."
        ),
    )


_OF_MAPPED_FILES = (
    "A page of a memory-mapped file could not be read or written: the file was truncated or "
    "rewritten in place while it was mapped, or its disk or /dev/shm was full. Write a new version "
    "beside the old one and rename it (`os.replace`), or read a copy."
)


def _no_stack(deaths: tuple[WorkerExit, ...]) -> str:
    """Return what it means that no stack was written, though they are recorded."""
    if any(death.stack for death in deaths) or not any(d.has_report for d in deaths):
        return ""
    return (
        "Python's stack could not be written at the crash, which points to a stack "
        "overflow: very deep recursion in native code, such as `repr`, pickling or "
        "parsing of deeply nested data, after `sys.setrecursionlimit` was raised."
    )


@documented("worker-abort")
def WORKER_ABORT(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_ABORT.slug)
    if not deaths:
        return
    yield from verdict_on_deaths(
        case,
        WORKER_ABORT,
        did="aborted",
        how="with SIGABRT",
        more=last_line_text(deaths),
        remedy=(
            "A compiled library called abort(): a failed assertion, an uncaught C++ "
            "exception, or a corrupted heap. Its output is in the worker's stderr: "
            f"`{case.show_command('logs', '--worker', deaths[-1].address)}`. Upgrade or pin that "
            "library."
        ),
    )


# worker-exit
#
# `sys.exit` in a task passes through Dask and takes the whole worker with it; with code 0 not
# even the nanny's log says that anything happened.

_JUST_NOW = 1.0  # seconds that a line may be older than the exit of who printed it


@documented("worker-exit")
def WORKER_EXIT(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_EXIT.slug)
    if not deaths:
        return
    code = deaths[-1].exit_code
    frame = _exit_frame(deaths)
    what = names_at_fault(case, deaths) or "a task"
    yield from verdict_on_deaths(
        case,
        WORKER_EXIT,
        did="exited",
        how=f"with code {code}",
        more=(f"`sys.exit` was called at {frame}. " if frame else "")
        + _printed(case, deaths[-1]),
        remedy=(
            f"Code run by {what} ends its process (`sys.exit`, `os._exit`, `exit()`, "
            f"or a library's main function){f': see {code_line(frame)}' if frame else ''}. "
            "Raise an exception instead: it reaches the client with its traceback, and "
            "the worker keeps its data."
        ),
    )


def _printed(case: Case, death: WorkerExit) -> str:
    """Return the last line that a worker's own code had printed on stderr before its end."""
    lines = case.run.logs.filter(
        (pl.col("role") == "worker")
        & (pl.col("source") == death.address)
        & (pl.col("logger") == "stderr")
        & (epoch("at") <= death.at)
    ).sort("at")["message"]
    if len(lines):
        return f"The worker had printed: “{short(lines[-1], 200)}”."
    shared = last_error_before(case.run, death.at, within=_JUST_NOW)
    return (
        "The last line before that, on the standard error that it shares with the "
        f"driver: “{short(shared, 200)}”."
        if shared
        else ""
    )


def _exit_frame(deaths: tuple[WorkerExit, ...]) -> Frame | None:
    for death in reversed(deaths):
        for line in reversed(death.last_lines):
            frame = user_frame(line) if "SystemExit" in line else None
            if frame is not None:
                return frame
    return None


# worker-heartbeat-timeout


@documented("worker-heartbeat-timeout")
def WORKER_HEARTBEAT_TIMEOUT(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_HEARTBEAT_TIMEOUT.slug)
    if not deaths:
        return
    frozen = [frozen_at_exit(death) for death in deaths]
    stopped = all(each.stopped for each in frozen)
    by_job = all(each.stopper for each in frozen)
    host = _of_host(case, deaths[-1], frozen[-1])
    yield from verdict_on_deaths(
        case,
        WORKER_HEARTBEAT_TIMEOUT,
        did="was stopped" if stopped and len(deaths) == 1 else "froze",
        how="by the run's own code" if by_job else "and stopped answering",
        more=" ".join(
            sentence
            for sentence in (
                what_froze(frozen, seen="before its nanny killed it"),
                host.text,
                # Of one that had resumed, the stacks show what it did later.
                last_line_text(deaths) if frozen[-1].process else "",
            )
            if sentence
        ),
        remedy=remedy_of_frozen(
            frozen, timeout=max(death.frozen_for or 0.0 for death in deaths)
        )
        + host.remedy,
        retry_advice=_UNKNOWN if stopped and not by_job else None,
    )


class _Host(NamedTuple):
    """What the host of a worker that froze was short of, and what helps; both may be empty."""

    text: str = ""
    remedy: str = ""


def _of_host(case: Case, death: WorkerExit, frozen: FrozenWorker) -> _Host:
    """Return what a host was short of, if a worker there may have frozen for that."""
    if frozen.stopped or (frozen.share_computed or 0.0) >= _HAD_A_CORE:
        return _Host()
    short = case.task_activity.shortage(death.host, death.at)
    swapped = case.task_activity.swapped(death.host, death.at)
    found = [_Host(str(short), _OF_A_SHORTAGE)] if short else []
    if swapped >= _MUCH_SWAPPED:
        found.append(_Host(_SWAPPED.format(size(swapped)), _OF_SWAP))
    texts, remedies = ([e.text for e in found], [e.remedy for e in found])
    return _Host(" ".join(texts), "".join(remedies))


_MUCH_SWAPPED = 2**26  # bytes
_SWAPPED = "Its host had moved {} to and from swap in the half minute before."
_OF_SWAP = (
    " Give that host more memory, or start fewer workers on it: what is in swap takes long to "
    "come back."
)
_HAD_A_CORE = 0.3  # share of one
_OF_A_SHORTAGE = (
    " Or it had no core to run on: start fewer workers or threads on that host, or keep other "
    "programs off it."
)


@documented("worker-signalled")
def WORKER_SIGNALLED(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_SIGNALLED.slug)
    if not deaths:
        return
    last = deaths[-1]
    sender, more = sender_of(last.signal), ""
    if last.sent_from is not None:
        how, more = f"from {who_sent(last)}", _memory_then(last)
        remedy, advice = _change_sender(last), _UNKNOWN
    elif sender is not None:
        how, remedy, advice = sender.how, sender.remedy, sender.retry_advice
    else:
        how, more = "from outside Dask", _memory(last)
        remedy, advice = _find_sender(last, same=case.blame.always and len(deaths) > 1)
    yield from verdict_on_deaths(
        case,
        WORKER_SIGNALLED,
        did=f"received {last.signal}",
        how=how,
        more=more,
        remedy=remedy,
        retry_advice=advice,
    )


_UNKNOWN: RetryAdvice = "unknown"


def _find_sender(last: WorkerExit, *, same: bool) -> tuple[str, RetryAdvice]:
    """Return what to do about a signal of an unknown sender, and whether a retry helps.

    Args:
        same: The same task was running each time.
    """
    once = " If this happened once, a retry is enough."
    if last.was_full:
        return (
            "Check the log of such a daemon (`journalctl -u earlyoom -u "
            "systemd-oomd`), and how full the host's memory was. With a lower "
            f"`memory_limit`, Dask spills earlier.{once}"
        ), "memory"
    if same:
        return (
            "The same task was running each time, so its own code (or a program that it "
            "starts) may send the signal. Look for `os.kill`, `killpg` and timeouts in "
            f"it.{once}"
        ), "unknown"
    return (
        "Find what ends processes on that host: a limit of the job scheduler, a "
        f"spot notice, another user, an earlyoom daemon.{once}"
    ), "transient"


def _change_sender(last: WorkerExit) -> str:
    """Return what to do about a line of the job's own code that ends workers."""
    return (
        f"Look at {sent_at(last)}, which sends the signal, and find the condition "
        "under which it ends a worker (a size, a time, a state of the job). If that "
        "was not intended, change the condition. If it was, change what the tasks do, "
        "so that the condition is not met."
    )


def _memory_then(last: WorkerExit) -> str:
    """Return a sentence on the memory that a process had when a script ended it, or nothing."""
    if not last.peak_memory:
        return ""
    of = f" of {size(last.memory_limit)}" if last.memory_limit else ""
    return f"Its peak memory was {size(last.peak_memory)}{of}."


def _memory(last: WorkerExit) -> str:
    """Return a sentence on whether memory may have been why, or nothing."""
    if last.was_full:
        return (
            f"{capital(how_full(last))}: a daemon that watches the memory "
            "of the host (earlyoom, systemd-oomd) may have ended it, although nothing "
            "reports it."
        )
    if not last.peak_memory or not last.memory_limit:
        return ""
    return (
        f"Memory was probably not the cause: its peak was {size(last.peak_memory)} of "
        f"{size(last.memory_limit)}, and neither its nanny nor the kernel's counter "
        "reports an out-of-memory kill."
    )


@documented("worker-preempted")
def WORKER_PREEMPTED(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_PREEMPTED.slug)
    if not deaths:
        return
    last = deaths[-1]
    # Hosts send SIGTERM; what else there is comes from people and their tools.
    others = {signal_in(each.closing) for each in deaths} - {"SIGTERM", None}
    by_script = last.sent_from is not None
    manager = None if by_script else manager_of(case.run, last.address)
    preempted = unit_at_exit(case.run, last)
    if manager and preempted is None:
        yield from _stopped_under(manager, case, deaths)
        return
    how = "by its host" if len(deaths) == 1 else "by their hosts"
    if others:
        how = f"from outside ({', '.join(sorted(map(str, others)))})"
    remedy = _remedy_preempted(case, deaths, preempted)
    if by_script:
        how, remedy = f"by {who_sent(last)}", _change_sender(last)
    elif preempted is not None:
        how = f"by {preempted.manager}"
    stopped = "stopped" if others or by_script else "preempted"
    yield from verdict_on_deaths(
        case,
        WORKER_PREEMPTED,
        did=f"{were(len(deaths))} {stopped}",
        how=how,
        retry_advice="unknown" if by_script else None,
        remedy=remedy,
    )


def _remedy_preempted(
    case: Case, deaths: Sequence[WorkerExit], unit: Unit | None
) -> str:
    """Return what to do about workers that their hosts stopped, as far as that can help.

    Args:
        unit: What a cluster manager says that it had preempted; None: it was not asked.
    """
    ways = []
    if unit is not None:
        where = (
            "use a partition or queue whose jobs are not preempted (`queue=`)"
            if unit.word == "job"
            else f"give the {unit.word}s a priority at which they are not preempted"
        )
        ways.append(where)
    if case.blame.blamed is not None:
        ways.append(
            "raise `distributed.scheduler.allowed-failures: "
            f"{2 * max(len(deaths), 5)}`, because Dask counts such exits against the task"
        )
    if case.no_worker_left and case.blame.failure is None:
        ways.append(
            "have such workers replaced (`cluster.adapt(minimum=…)`, or whatever starts "
            "them): no other was left"
        )
    if (age := _same_age(deaths)) is not None:
        ways.append(
            f"let workers retire before the {duration(age)} after which each was stopped "
            f"(`--lifetime {time_argument(_IN_TIME * age)}`, with `--lifetime-stagger`)"
        )
    often = f" If it happens often, {', and '.join(ways)}." if ways else ""
    return f"The task is not at fault, and a retry helps.{often}"


_ALIKE, _APART, _IN_TIME = 0.1, 0.5, 0.9


def _same_age(deaths: Sequence[WorkerExit]) -> float | None:
    """Return at which age workers were stopped, if at one age, and not all at one moment."""
    ages = [death.at - death.joined for death in deaths]
    moments = [death.at for death in deaths]
    if len(ages) < _SEVERAL or max(ages) - min(ages) > _ALIKE * max(ages):
        return None
    apart = max(moments) - min(moments) > _APART * max(ages)
    return min(ages) if apart else None


def _stopped_under(
    manager: str, case: Case, deaths: Sequence[WorkerExit]
) -> Iterator[Finding]:
    """Yield the verdict that a cluster manager, or somebody by it, stopped workers."""
    signals = {signal_in(each.closing) for each in deaths} - {None}
    yield from verdict_on_deaths(
        case,
        WORKER_PREEMPTED,
        did=f"{were(len(deaths))} stopped",
        how=f"by {', '.join(sorted(map(str, signals)))}",
        retry_advice="unknown",
        remedy=_ask(manager, deaths),
    )


_REASONS = (
    "the time limit of its job, its memory limit, preemption, a cancellation and a failed node "
    "look the same from inside"
)


def _ask(manager: str, deaths: Sequence[WorkerExit]) -> str:
    """Return what to ask a cluster manager that may have ended workers."""
    hosts = listed(sorted({death.host for death in deaths if death.host}))
    on, known = f" on {hosts}" if hosts else "", manager_named(manager)
    if known is not None and not known.asked:
        return (
            f"Find out from {manager} why the {known.unit} of these workers ended{on}: an "
            "interruption (spot), a failed host, a limit and a person look the same from inside. "
            f"`{known.tell}` says it. After an interruption or a failed host, a retry helps."
        )
    return (
        f"Find out from {manager} why it ended the job or pod of these workers"
        f"{on}: {_REASONS}.{_how_to_ask(manager)} "
        "After a time limit or a memory limit, a retry fails again: raise that limit, or make "
        "tasks smaller. After preemption or a failed node, a retry helps."
    )


def _how_to_ask(manager: str) -> str:
    known = manager_named(manager)
    log = (
        " The last lines of the job's own log (in the cluster's `log_directory`) may say it."
        if known is not None and known.unit == "job"
        else ""
    )
    return f"{log} `{known.tell}` says it." if known is not None else ""


# worker-host-lost

_FULL = (
    "Memory was high or growing fast when that happened, and a full container may be "
    "killed as a whole, with its nanny. Set Dask's own limit well below the "
    "container's (`--memory-limit`). "
)

_AGAIN = " A retry helps unless the pod was killed for memory."


@documented("worker-host-lost")
def WORKER_HOST_LOST(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_HOST_LOST.slug)
    if not deaths:
        return
    full = [death for death in deaths if death.was_full]
    of_memory = 2 * len(full) > len(deaths)
    manager = manager_of(case.run, deaths[-1].address)
    hosts = sorted({death.host for death in deaths if death.host})
    advice: RetryAdvice | None = None
    if manager:
        advice, remedy = "unknown", _ask(manager, deaths)
    else:
        remedy = (
            "Check what the platform reports about "
            f"{listed(hosts) if hosts else 'the host'}: a pod that was evicted or killed "
            "for memory (`kubectl describe pod`: OOMKilled, exit code 137), a lost node, a "
            f"network failure.{'' if of_memory else _AGAIN}"
        )
    if of_memory:
        advice, remedy = "memory", f"{_FULL}{remedy}"
    yield from verdict_on_deaths(
        case,
        WORKER_HOST_LOST,
        did="disappeared",
        how="together with its nanny"
        if len(deaths) == 1
        else "together with their nannies",
        remedy=remedy,
        retry_advice=advice,
    )


# worker-lifetime

_REMEDY = (
    "Give workers a `--lifetime` that is longer than the longest task, with "
    "`--lifetime-stagger` so that they don't all leave at once, and "
    "`--lifetime-restart` so that others can take over their data."
)


@documented("worker-lifetime")
def WORKER_LIFETIME(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_LIFETIME.slug)
    hang = case.hang
    if not deaths or (hang is not None and not hang.workers):
        yield from _lifetime_hang_findings(case)
    if not deaths:
        yield from _again_and_again(case)
        return
    yield from verdict_on_deaths(
        case,
        WORKER_LIFETIME,
        did="left",
        how="at the end of its lifetime"
        if len(deaths) == 1
        else "at the end of their lifetime",
        remedy=_REMEDY,
        # Where the driver waited when all workers had left, the next ones leave as early.
        retry_advice="environment" if case.only_waits and _had_left(case) else None,
    )


def _had_left(case: Case) -> bool:
    """Return whether there had been workers, and all left before the outcome."""
    left, decided = case.run.workers["left"], case.outcome.decided_at
    if not len(left) or left.has_nulls():
        return False
    return decided is None or (left.dt.epoch("us") / 1e6 <= decided).all()


def _lifetime_hang_findings(case: Case) -> Iterator[Finding]:
    """Yield that all workers had left at the end of their lifetime, in good order."""
    hang, closings = case.hang, _at_end_of_lifetime(case)
    nobody = case.only_waited or bool(hang and not hang.workers and hang.wanted)
    in_vain = nobody or case.raised("NoWorkerError", "NoValidWorkerError")
    if not case.failed or not in_vain or not closings:
        return
    causes = {case.cause_of(death).slug for death in case.deaths}
    # Those that were still there then left as the run ended.
    if causes <= {WORKER_LIFETIME.slug} and _had_left(case):
        yield _all_left_finding(case, closings, nobody=nobody)


def _all_left_finding(
    case: Case, closings: list[WorkerClosing], *, nobody: bool
) -> Finding:
    """Return that no worker was left.

    Args:
        nobody: Work waited for workers; else it was given up.
    """
    last = closings[-1]
    removals = case.run.of(WorkerRemoved)
    had = [*chain(*(x.processing for x in removals if x.subject == last.subject))]
    position, work, evidence = "", "work", case.exception_evidence()
    if case.hang is not None:
        position = f" {how_it_ended(case, case.hang)}"
        work = counted(case.hang.wanted, "task")
        evidence = evidence_of_hang(case, case.hang)
    return WORKER_LIFETIME.found(
        f"Every worker left at the end of its lifetime, with {work} still pending",
        cause=(
            f"{counted(len(closings), 'worker')} reached the end of "
            f"`--lifetime`{lifetime_of(case.run, last.subject)} and left, and none was "
            f"replaced. The last one, {case.name_of(last.subject)}, was running "
            f"{quoted(had) if had else 'nothing'}.{position}"
        ),
        remedy=_REMEDY,
        retry_advice="environment",  # the next ones leave as early
        retry_confidence="medium",
        confidence=case.hang_confidence if nobody else "high",
        subject=Subject(key=had[0] if had else None, worker=last.subject),
        evidence=(*_closing_evidence(case, closings), *evidence),
    )


def _at_end_of_lifetime(case: Case) -> list[WorkerClosing]:
    """Return the reports of workers that closed at the end of their lifetime."""
    closing = case.run.of(WorkerClosing)
    return [e for e in closing if (e.reason or "").startswith("worker-lifetime")]


def _closing_evidence(
    case: Case, closings: Sequence[WorkerClosing]
) -> Iterator[Evidence]:
    for each in closings[-3:]:
        yield Evidence(
            text=f"{capital(case.name_of(each.subject))} closed: its lifetime ended.",
            source="events",
            at=each.at,
            see=case.show_command("logs", "--worker", each.subject),
        )


def _again_and_again(case: Case) -> Iterator[Finding]:
    """Yield that a task takes longer than workers live, and so begins again forever."""
    if not case.failed or not case.only_waits:
        return
    leaving = {each.subject: each for each in _at_end_of_lifetime(case)}
    in_hand = Counter(
        key
        for each in case.run.of(WorkerRemoved)
        if each.subject in leaving
        for key in each.processing
    )
    tasks = case.run.tasks
    ended = set(tasks.filter(FINISHED)["key"].to_list())
    again = [(key, n) for key, n in in_hand.most_common() if n > 1 and key not in ended]
    if not again:
        return
    key, times = again[0]
    yield WORKER_LIFETIME.found(
        f"Workers reached the end of their lifetime while running "
        f"{quoted_key(key, 40)} {times} times",
        cause=(
            f"{counted(len(leaving), 'worker')} reached the end of "
            f"`--lifetime`{lifetime_of(case.run, list(leaving)[-1])}; "
            f"{counted(len(again), 'task')} had been assigned to several of them and "
            f"never finished, such as {quoted_key(key)}. A task that takes longer "
            "than a worker's lifetime restarts forever."
        ),
        remedy=_REMEDY,
        retry_advice="environment",
        confidence="high" if case.hang is not None else "medium",
        subject=Subject(key=key, worker=list(leaving)[-1]),
        evidence=(
            *_closing_evidence(case, list(leaving.values())),
            *case.exception_evidence(),
        ),
    )


# workers-died

_TAKEN_ALONG = ("actor-lost", "data-lost")

_ADVICE: dict[str, RetryAdvice] = {
    "worker-memory-limit": "memory",
    "kernel-oom": "memory",
    "worker-preempted": "transient",
    "worker-host-lost": "transient",
    "worker-job-memory": "memory",
    "worker-node-failed": "transient",
    "worker-time-limit": "environment",
}


@documented("workers-died")
def WORKERS_DIED(case: Case) -> Iterator[Finding]:
    deaths = tuple(
        death
        for death in case.deaths
        if not _is_reported(case, death) and not _was_planned(case, death)
    )
    if not deaths:
        return
    by_cause: dict[str, list[WorkerExit]] = {}
    for death in deaths:
        by_cause.setdefault(case.cause_of(death).slug, []).append(death)
    main = max(by_cause, key=lambda slug: len(by_cause[slug]))
    last = deaths[-1]
    running_tasks = list(
        dict.fromkeys(case.prefix_of(k) for d in deaths for k in d.running_on)
    )
    doing = f" Running at that time: {quoted(running_tasks)}." if running_tasks else ""
    ended = "The run succeeded nevertheless. " if case.state == "succeeded" else ""
    who = name_of(case, last)
    died = f"The last to die was {who}" if len(deaths) > 1 else f"{capital(who)} died"
    yield WORKERS_DIED.found(
        f"{counted(len(deaths), 'worker')} died{how_died(case, deaths)}",
        cause=(f"{ended}{died}: {case.cause_of(last).because}.{doing}{_cost(case)}"),
        remedy=(
            f"{_relevance_text(case, main)} `dask blackbox rules {main}` says what to do."
            if main != "unknown"
            else _remedy_unexplained(case, last)
        ),
        confidence="high",
        # What the script ended itself, it meant to.
        severity="notice"
        if all(d.sent_from is not None and d.sent_by is None for d in deaths)
        else "warning",
        subject=Subject(worker=last.address, prefix=next(iter(running_tasks), None)),
        evidence=evidence_of(case, deaths),
        retry_advice=_advice_on(case, main, by_cause[main]),
    )


def _advice_on(case: Case, main: str, deaths: Sequence[WorkerExit]) -> RetryAdvice:
    """Return whether a retry helps: not known where a manager may have ended the workers."""
    advice = _ADVICE.get(main, "unknown")
    sure = all(case.cause_of(death).confidence == "high" for death in deaths)
    return advice if sure or advice != "transient" else "unknown"


def _relevance_text(case: Case, main: str) -> str:
    """Return why it matters, in a sentence: of a failed run, luck is no word."""
    if case.state == "succeeded":
        return f"The same cause ({main}) can make the next run fail."
    if case.state == "running":
        return f"The same cause ({main}) can make this run fail."
    return (
        f"The verdict explains this run's failure; {main} may make the next run fail."
    )


def _remedy_unexplained(case: Case, death: WorkerExit) -> str:
    """Return what to do about an unexplained death."""
    workers = case.run.workers
    own = workers.filter(workers["address"] == death.address)["nanny"].drop_nulls()
    if not len(own):
        return "Run workers with a nanny, so that their exit codes are recorded."
    see = case.show_command("logs", "--worker", death.address)
    return (
        f"Check its last log lines (`{see}`), and what its host reports for that time."
    )


def _is_reported(case: Case, death: WorkerExit) -> bool:
    """Return whether the verdict shows a death already."""
    verdict = case.verdict
    if verdict is None or verdict.rule == "unknown":
        return False
    if verdict.rule in _TAKEN_ALONG and death.address == verdict.subject.worker:
        return True
    ours = verdict.rule in (case.blame.cause, "module-not-shipped")
    return ours and death in case.blame.deaths


def _was_planned(case: Case, death: WorkerExit) -> bool:
    """Return whether workers end like this by configuration, and the run recovered."""
    planned = case.cause_of(death).slug == "worker-lifetime"
    return planned and case.state == "succeeded"


def _cost(case: Case) -> str:
    killed = case.run.tasks.filter(pl.col("outcome") == "killed")
    seconds = float(killed["compute"].sum() or 0)
    again = sum(each.lost_computed for each in case.run.of(WorkerRemoved))
    costs = []
    if len(killed):
        lost = f" ({duration(seconds)} of work)" if seconds else ""
        costs.append(f"{counted(len(killed), 'interrupted execution')}{lost}")
    if again:
        costs.append(f"{counted(again, 'result')} to recompute")
    return f" Cost: {listed(costs)}." if costs else ""
