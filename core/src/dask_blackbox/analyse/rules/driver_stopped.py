"""Drivers, and their work, that were stopped."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import last_output, without_log_prefix
from dask_blackbox.analyse.driver_position import (
    DriverPosition,
    blocked_seconds,
    evidence_of_position,
)
from dask_blackbox.analyse.exception_context import thread_that_blocked_the_driver
from dask_blackbox.analyse.facts.stopped import stopped_of
from dask_blackbox.analyse.facts.units import (
    Unit,
    limit_of,
    unit_at_its_limit,
    units_of,
)
from dask_blackbox.analyse.frames import code_of, raised_outside_dask, user_frame
from dask_blackbox.analyse.hang_texts import evidence_of_stack, last_seen_at
from dask_blackbox.analyse.progress import Pace, finished_by, new_tasks, pace_of
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.rules.job_ends import evidence_of_unit, jobs
from dask_blackbox.analyse.run_state import (
    ASKED,
    exit_code_of_driver,
    last_sign_of_life,
    recorded_until,
    signal_of_driver,
)
from dask_blackbox.analyse.side_effects import (
    cancel_of_driver,
    closings_of_driver,
    code_owner,
    signal_of_a_task,
    signal_to_itself,
)
from dask_blackbox.analyse.signals import CRASHES, sender_of
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    CANCELLED_BY_DASK,
    CLIENT_CANCELS,
    SCHEDULER_CANCELS,
    WORK_CANCELLED,
)
from dask_blackbox.analyse.standstills import ENDED_BY_US, HangingTask
from dask_blackbox.analyse.wording.words_of_units import why_stopped
from dask_blackbox.analyse.worker_memory import how_the_scheduler_grew
from dask_blackbox.events import (
    ClientAdded,
    ClusterOrphaned,
    ClusterRestarted,
    DriverAttached,
    DriverCancel,
    DriverClosing,
    DriverEnded,
    DriverLost,
    DriverRestart,
    GraphUpdated,
    SchedulerClosing,
    SchedulerInfo,
    TaskSignalled,
)
from dask_blackbox.finding import Evidence, Finding, RetryAdvice
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    duration,
    quoted,
    quoted_key,
    short,
    were,
)
from dask_blackbox.managers import manager_named
from dask_blackbox.manifest import BY_A_PERSON, STOP_WORDS, TIME_LIMITS, Stopped
from dask_blackbox.patterns import bounded

# driver-killed

_WAITS = ("gather", "result", "compute", "wait")

_RECENT, _BLOCKED = 120.0, 10.0

_SIGNALS_IN_SHELLS = (
    "Aborted|Bus error|Floating point exception|Hangup|Illegal instruction|Interrupt|Killed|"
    "Segmentation fault|Terminated"
)
"""What shells print of a program that a signal ended."""

_KERNEL = "The kernel's counter of out-of-memory kills increased on the driver's host. "

_CHECK_HOST = (
    "Check what the host reports for that time (`dmesg`, `OOMKilled`, exit code 137). "
    "If memory was the cause: "
)

_MORE_MEMORY = (
    "give the driver's container more memory, or keep less in the driver: write "
    "results from the workers (`to_parquet`, `to_zarr`) or reduce them there instead "
    "of gathering them; keep large data out of the driver's own code. Workers of a "
    "`LocalCluster` share the container."
)


@documented("driver-killed")
def DRIVER_KILLED(case: Case) -> Iterator[Finding]:
    if case.state not in ("aborted", "lost") and not case.killed_in_a_shell:
        return
    if thread_that_blocked_the_driver(case) is not None:
        return  # who stopped it had waited for what could not come
    end = _end_of_driver(case)
    sent = signal_of_a_task(case)
    own_job = unit_at_its_limit(case.run, end.at) if end.both else None
    if sent is not None:
        yield _ended_by_a_task(case, sent, end.after)
    elif own_job is not None:
        yield _lost_at_time_limit(case, own_job, end)
    else:
        yield _killed(case, end)


@dataclass(frozen=True, kw_only=True)
class _End:
    """How the process of a driver ended, as others saw that.

    Attributes:
        by: The signal that ended it, if one did.
        code: The exit code of a process that ended itself.
        both: Whether its recorder disappeared with it.
        by_kernel: Whether the kernel ended it for memory.
        at: When it ended, or was last seen.
        after: For how long the run had lasted by then.
        ended: What its own host reported of that.
        lost: What its recorder reported of that.
    """

    by: str | None
    code: int | None
    both: bool
    by_kernel: bool
    at: float
    after: str
    ended: DriverEnded | None
    lost: DriverLost | None

    @property
    def itself(self) -> str:
        """Return with which code it ended itself; empty: it did not, or that is not known."""
        return "" if self.by or self.code is None else f" with exit code {self.code}"

    @property
    def was_seen(self) -> bool:
        """Return whether anybody saw that it had ended."""
        return self.by is not None or (self.lost is not None and not self.both)


def _end_of_driver(case: Case) -> _End:
    ended = next(iter(case.run.of(DriverEnded)[-1:]), None)
    lost = next(iter(case.run.of(DriverLost)[-1:]), None)
    by, both = signal_of_driver(case.run), case.state == "lost"
    # Its recorder stays for what the cluster still has to say.
    at = last_sign_of_life(case.run) if lost is None or both else lost.at
    return _End(
        by=by,
        code=exit_code_of_driver(case.run),
        both=both,
        by_kernel=by == "SIGKILL" and _kernel_kills(case, ended, lost) > 0,
        at=at,
        after=duration(max(at - case.run.manifest.started, 0)),
        ended=ended,
        lost=lost,
    )


def _killed(case: Case, end: _End) -> Finding:
    lasted = _scheduler_unresponsive_for(case)
    longest = case.hang.longest if case.hang else None
    memory = _memory_of_killed(case, end)
    waited = end.by in ASKED and _waited_in_vain(case, lasted)
    # `os._exit` with such a code is not reported by a shell, either.
    reported = not case.killed_in_a_shell or _is_reported_by_its_shell(case)
    return DRIVER_KILLED.found(
        f"{_title(end)} after {end.after}{_while(longest)}{_progress(case, end.at)}",
        cause=(
            f"{_how_it_ended(end)} {memory.text}{_then(case)}"
            + _crashed_by_a_task(case, end)
            + _running_tasks(case, longest)
            + _unresponsive(lasted)
            + _blocked_at(case.driver_position)
        ),
        remedy=memory.remedy or _remedy_driver_killed(case, end.by, longest),
        confidence="high" if end.was_seen and reported and not waited else "medium",
        retry_advice="memory"
        if memory.remedy
        else _advice_driver_killed(end.by, waited=waited),
        retry_confidence="high" if end.by_kernel or end.by in CRASHES else None,
        subject=longest.subject if longest else None,
        evidence=(
            *_evidence_driver_killed(end.ended, end.lost),
            *(evidence_of_stack(case, longest) if longest else ()),
            *map(evidence_of_position, filter(None, [case.driver_position])),
        ),
    )


def _waited_in_vain(case: Case, lasted: float | None) -> bool:
    """Return whether nothing came of what a driver waited for.

    A time limit may have been reached, and what the driver waited for is the cause.

    Args:
        lasted: For how long its scheduler had been unresponsive.
    """
    nothing_came = case.hang is not None or lasted is not None or _no_progress(case)
    return nothing_came or not case.recorded_cluster


def _lost_at_time_limit(case: Case, unit: Unit, end: _End) -> Finding:
    """Nobody said so, but the time of the job that both ran in was over."""
    manager = manager_named(unit.manager)
    name = manager.limit if manager is not None else "time limit"
    limit = f"time limit of {duration(limit_of(unit))} of {jobs([unit])}"
    return DRIVER_KILLED.found(
        f"Driver and recorder disappeared together at about the {limit}"
        f"{_progress(case, end.at)}",
        cause=f"{_how_it_ended(end)} At about this time, the {limit} was over, and its "
        "processes are ended then.",
        remedy=f"Raise `{name}` above what the run takes, give the cluster more workers, or "
        "split the work into several jobs.",
        confidence="medium",
        retry_advice="environment",
        evidence=(evidence_of_unit(unit),),
    )


def _is_reported_by_its_shell(case: Case) -> bool:
    """Return whether a shell printed that a signal had ended the driver: `28940 Killed`."""
    pids = {str(each.pid) for each in case.run.of(DriverAttached) if each.pid}
    printed = case.run.logs.filter(pl.col("role") == "driver")["message"]
    said = rf"\b(?:{'|'.join(sorted(pids))})\s+(?:{_SIGNALS_IN_SHELLS})\b"
    return bool(pids) and bool(printed.str.contains(said).any())


def _how_it_ended(end: _End) -> str:
    if end.both:
        return (
            "Neither the driver nor its recorder reported an exit: the machine, pod or "
            "container that ran both was stopped, or could not reach the store any more. "
            f"Their last sign of life came {end.after} after the start, so this happened "
            "then or later."
        )
    ended = f"was ended by {end.by}" if end.by else f"ended{end.itself}"
    return (
        f"The driver's process {ended} {end.after} after the start; it raised no exception "
        "and reported no exit."
    )


def _ended_by_a_task(case: Case, sent: TaskSignalled, after: str) -> Finding:
    at = code_line(sent, " at ")
    sender = capital(code_owner(case, sent.subject))
    to = f"process group {sent.target}" if sent.group else f"process {sent.target}"
    why = (
        " The driver and its workers are in this group: a program that is started without "
        "`start_new_session=True` is in the group of the process that starts it."
        if sent.group
        else ""
    )
    line = code_line(sent, " at ", name_only=True)
    return DRIVER_KILLED.found(
        f"{sender} sent {sent.signal} to the driver's "
        f"{'process group' if sent.group else 'process'}{line}, which ended it after "
        f"{after}",
        cause=f"{sender} sent {sent.signal} to {to}{at}.{why} The driver ended without an "
        "exception.",
        remedy=(
            "Pass `start_new_session=True` when you start the program that should be "
            "ended, and signal its group only; or signal the program itself "
            "(`Popen.terminate`)."
            if sent.group
            else f"Check the process id{at or ' in the task'}: it is the driver's."
        ),
        confidence="high",
        retry_advice="code",
        retry_confidence="medium",
        subject=case.subject(sent.subject),
        evidence=(
            Evidence(
                text=f"{sender} sent {sent.signal} to {to}{at}",
                source="tasks",
                at=sent.at,
            ),
        ),
    )


def _is_the_scheduler(case: Case) -> bool:
    """Return whether the driver was its scheduler's process, whose memory is sampled."""
    own = {each.pid for each in case.run.of(DriverAttached)} - {None}
    return bool(own & {each.pid for each in case.run.of(SchedulerInfo)})


class _Memory(NamedTuple):
    """What is known of the memory of a driver that SIGKILL ended.

    Attributes:
        text: A sentence; may be empty.
        remedy: What to do, where the driver ended for its memory.
    """

    text: str = ""
    remedy: str = ""


def _memory_of_killed(case: Case, end: _End) -> _Memory:
    if end.by_kernel:
        return _Memory(_KERNEL, capital(_MORE_MEMORY))
    # Of others it is not known who sent it.
    if end.by != "SIGKILL" or not _is_the_scheduler(case):
        return _Memory()
    if grown := how_the_scheduler_grew(case.run, much=True):
        text = (
            f"Its memory had {grown}: the kernel probably killed the driver, although no "
            "visible counter shows it. "
        )
        return _Memory(text, _CHECK_HOST + _MORE_MEMORY)
    if grown := how_the_scheduler_grew(case.run, much=False):
        text = (
            f"Its memory had {grown}, its highest value: whatever limits its memory may "
            "have sent the signal. "
        )
        return _Memory(text)
    return _Memory()


def _title(end: _End) -> str:
    if end.both:
        return "Driver and recorder disappeared together"
    if end.by_kernel:
        return "The kernel's out-of-memory killer ended the driver"
    if end.by in CRASHES:
        return f"The driver crashed in native code ({end.by})"
    if end.by:
        sender = sender_of(end.by)
        return f"The driver was ended by {end.by}{f' {sender.how}' if sender else ''}"
    if end.itself:
        return f"The driver's process ended itself{end.itself}"
    return "The driver disappeared"


def _advice_driver_killed(by: str | None, *, waited: bool) -> RetryAdvice | None:
    if by in CRASHES:
        return "code"
    if (sender := sender_of(by)) is not None:
        return sender.retry_advice
    # Of SIGKILL it is open whether it was for memory, which a retry would reach again.
    return "unknown" if waited or by == "SIGKILL" else None


def _crashed_by_a_task(case: Case, end: _End) -> str:
    if end.by not in CRASHES or not _in_the_driver(case):
        return ""
    graphs = case.run.of(GraphUpdated)
    prefixes = list(graphs[-1].prefixes) if graphs else []
    return (
        " Its workers were threads of its own process (`processes=False`), so a "
        f"task{f' of {quoted(prefixes)}' if prefixes else ''} may have crashed it."
    )


def _in_the_driver(case: Case) -> bool:
    """Return whether workers were threads of the driver (`processes=False`)."""
    workers = case.run.workers["address"].to_list()
    return any(str(address).startswith("inproc://") for address in workers)


def _remedy_driver_killed(
    case: Case, by: str | None, longest: HangingTask | None
) -> str:
    if by in CRASHES:
        where = (
            "With worker processes (`processes=True`), only the worker would have "
            "died, and Dask would have named the task. "
            if _in_the_driver(case)
            else "No worker crashed; the driver's own code did. "
        )
        return (
            f"{where}Check the compiled libraries that this code calls: their "
            "versions, and whether they are thread-safe. `python -X faulthandler` "
            "prints the line that crashes."
        )
    if (sender := sender_of(by)) is not None:
        return sender.for_driver or sender.remedy
    slow, what = "If it was stopped for taking too long, look at", ""
    frame = case.driver_position.own_frame if case.driver_position else None
    if longest:
        what = f"{slow} the running tasks. "
    elif frame and _no_progress(case):
        what = f"{slow} {code_line(frame)}: no task had finished meanwhile. "
    if by in ASKED:
        return (
            f"{what}Find who sent {by}: the orchestrator (a timeout or a "
            "cancellation), the platform (an eviction, a scale-down, a shutdown of the "
            "host) or a person."
        )
    return (
        f"{what}Check what the host reports for that time: an out-of-memory kill (exit "
        "code 137, `OOMKilled`), a timeout or a cancellation by the orchestrator, a "
        "lost node. If the driver gathers results, it needs memory for them."
    )


def _unresponsive(lasted: float | None) -> str:
    if not lasted:
        return ""
    return (
        f" By then, the scheduler had been unresponsive for {duration(lasted)}. It was "
        "suspended or unreachable, and everything that waited for it hung."
    )


def _blocked_at(position: DriverPosition | None) -> str:
    """Return at which line of the user's the driver had been, as it reported itself."""
    frame = position.own_frame if position else None
    if position is None or frame is None:
        return ""
    place = f"{frame}{code_of(frame)}"
    return f" The driver had been at {place} for {duration(position.lasted)}."


def _no_progress(case: Case) -> bool:
    """Return whether no task has ended since the driver came to the line where it was."""
    position = case.driver_position
    if position is None:
        return False
    moments = case.run.tasks["stop"].dt.epoch("us") / 1e6
    since = last_sign_of_life(case.run) - position.lasted
    return float(moments.max() or 0.0) < since  # type: ignore[arg-type]


def _scheduler_unresponsive_for(case: Case) -> float | None:
    """Return for how long the scheduler had given no sign, if it was long."""
    own = case.run.metrics.filter(pl.col("source") == "scheduler")
    moments = (own["at"].dt.epoch("us") / 1e6).sort().to_list()
    if not moments:
        return None
    ends = [each.at for each in (*case.run.of(DriverLost), *case.run.of(DriverEnded))]
    end = min(ends, default=last_sign_of_life(case.run))
    # What froze may have gone on by now.
    moments = [at for at in moments if at > end - _RECENT] + [end]
    # From the end of one cluster to the start of the next one there is no scheduler.
    closed = [each.at for each in case.run.of(SchedulerClosing)]
    gaps = pairwise(sorted(moments))
    silent = [b - a for a, b in gaps if not any(a <= at <= b for at in closed)]
    longest = max(silent, default=0.0)
    return longest if longest > _BLOCKED else None


def _kernel_kills(
    case: Case, ended: DriverEnded | None, lost: DriverLost | None
) -> int:
    """Return how often the kernel killed for memory, workers that it killed apart."""
    known = [each.oom_kills for each in (ended, lost) if each is not None]
    counted_kills = next((kills for kills in known if kills), 0)
    return counted_kills - sum(death.signal == "SIGKILL" for death in case.deaths)


def _while(longest: HangingTask | None) -> str:
    if longest is None:
        return ""
    busy = duration(longest.executing_for or 0)
    return f", when '{short(longest.prefix, 40)}' had been running for {busy}"


def _running_tasks(case: Case, longest: HangingTask | None) -> str:
    """Return where the task was for which the driver was waiting, if it was."""
    if longest is None:
        return ""
    return (
        f" {quoted_key(longest.key)} had been executing on "
        f"{case.name_of(longest.worker)} for {duration(longest.executing_for or 0)}"
        f"{last_seen_at(case, longest)}. Whether it hung or was only slow is unknown."
    )


def _waited_for_work(position: DriverPosition | None) -> bool:
    """Return whether the driver had a client, and was where it waits for tasks."""
    stack = position.stack if position else ()
    return any(
        frame.file.endswith("distributed/client.py") and frame.function in _WAITS
        for frame in stack
    )


def _then(case: Case) -> str:
    sentences = []
    if not case.recorded_cluster:
        sentences.append(
            "Its cluster was not recorded: the scheduler did not answer the recorder "
            "either."
            if _waited_for_work(case.driver_position)
            else _not_connected(case)
        )
    if case.deaths:
        sentences.append(f"{counted(len(case.deaths), 'worker')} had died by then.")
    if case.failures:
        keys = quoted([failure.key for failure in case.failures])
        sentences.append(f"Tasks that had failed by then: {keys}.")
    if (stall := case.stall()) is not None:
        sentences.append(stall)
    if last := last_output(case.run):
        sentences.append(f"Its last output: “{short(without_log_prefix(last), 200)}”.")
    return " ".join(sentences) or _nothing_had_failed(case)


def _not_connected(case: Case) -> str:
    reached, until = recorded_until(case.run) - case.run.manifest.started, "yet"
    if case.state == "lost":
        if not reached:  # a few seconds may have been on their way to the store
            return (
                "Nothing of what the driver did had reached the store, so whether it had "
                "connected to a cluster is unknown."
            )
        until = f"by the last recorded event, {duration(reached)} after the start"
    return (
        f"It had not connected to a cluster {until}: if it was in `Client(…)`, check what "
        "listens at that address."
    )


def _nothing_had_failed(case: Case) -> str:
    if case.state != "lost":
        return "No task had failed and no worker had died by then."
    reached = duration(recorded_until(case.run) - case.run.manifest.started)
    return (
        f"The last recorded event is from {reached} after the start. Until then, no "
        "task had failed and no worker had died; nothing later is recorded."
    )


def _evidence_driver_killed(
    ended: DriverEnded | None, lost: DriverLost | None
) -> Iterator[Evidence]:
    if ended is not None:
        text = (
            f"state {ended.state}, exit code {ended.exit_code}, signal {ended.signal}"
        )
        yield Evidence(text=f"The driver ended: {text}.", source="events", at=ended.at)
    if lost is not None:
        facts = [
            f"process {lost.pid}" if lost.pid else "",
            lost.how or "",
            "" if lost.exit_code is None else f"exit code {lost.exit_code}",
            f"{counted(lost.oom_kills, 'out-of-memory kill')} by the kernel"
            if lost.oom_kills
            else "",
        ]
        known = short(", ".join(filter(None, facts)), 200)
        text = f"The recorder lost the driver: {known}".rstrip(": ")
        yield Evidence(text=text, source="events", at=lost.at)


@documented("cluster-orphaned")
def CLUSTER_ORPHANED(case: Case) -> Iterator[Finding]:
    found = {each.scheduler: each for each in case.run.of(ClusterOrphaned)}
    for each in found.values():
        evidence = Evidence(
            text=f"The scheduler at {each.subject} still answered when the driver was gone",
            source="events",
            at=each.at,
        )
        driver = f"The driver of {each.run}" if each.run else "The driver"
        yield CLUSTER_ORPHANED.found(
            f"The recorder closed the cluster at {each.subject}"
            if each.closed
            else f"The cluster at {each.subject} still runs",
            cause=f"{driver} started it and then disappeared"
            f"{'' if each.closed else f'; {each.error}'}.",
            remedy="No action is needed. To keep a cluster after its run, start it "
            "outside the run and pass its address."
            if each.closed
            else f"Close it: {_REAP_COMMAND}.",
            confidence="high",
            severity="notice" if each.closed else None,
            evidence=(evidence,),
        )
    if case.state != "lost":
        return
    owned = {
        each.cluster.owned: each
        for each in case.run.of(DriverAttached)
        if each.cluster is not None and each.cluster.owned
    }
    for scheduler, attached in owned.items():
        kind = attached.cluster
        if kind is None or scheduler in found:
            continue
        yield CLUSTER_ORPHANED.found(
            f"The cluster at {kind.scheduler} may still run",
            cause=(
                f"The driver started it ({kind.kind}), and nothing reports that it was "
                "closed."
            ),
            remedy=f"If it does, close it: {_REAP_COMMAND}.",
            confidence="medium",
            evidence=(
                Evidence(
                    text=f"The driver started {kind.kind} at {kind.scheduler}",
                    source="events",
                    at=attached.at,
                ),
            ),
        )


_REAP_COMMAND = "`dask blackbox reap` closes the clusters of runs whose driver is gone"


# cancelled

_WHO_CLOSES = (
    "Find who closes it: `cluster.close()`, the end of a `with LocalCluster(…)`, or "
    "`client.shutdown()`, in the run itself or in another program. Fetch results first."
)

_CLIENT = "Client.close"
_CLUSTER_CLOSED = "The cluster was closed while the run still needed it"

_CLASSES = ("FutureCancelledError", "CancelledError", "FuturesCancelledError")

_NO_REASON = "unknown"  # Dask's own word

_UNREPORTED = (
    "Find who cancelled it: `future.cancel()`, `client.cancel(…)`, or a future that "
    "was released while another one still needed it. Pass `reason=` to `cancel`, and "
    "it will be shown here."
)


class _Asked(NamedTuple):
    """Who asked the scheduler to cancel something, in sentences; nobody, if that is not known."""

    own: bool = False
    by: str = ""
    reported: str = ""
    remedy: str = _UNREPORTED
    evidence: tuple[Evidence, ...] = ()


_NOBODY = _Asked()


@documented("cancelled")
def CANCELLED(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    if case.blame.failure is not None:
        return
    if case.outcome.kind == "interrupted":
        yield _interrupted(case)
        return
    if stopped_of(case.run) is not None or case.search_exception(ENDED_BY_US):
        # Prefect ends a run by an exception of this name; our own option ends a hang.
        return
    match = case.search_exception(WORK_CANCELLED.pattern)
    if match and match["reason"].strip() in CANCELLED_BY_DASK:
        return  # it is no request of anybody's, and rules of their own say what was lost
    raised = case.raised(*_CLASSES) and not _is_unrelated(case)
    if match or raised or _is_executor_cancellation(case):
        yield _cancelled_futures_finding(case, match)


class _Cancellation(NamedTuple):
    """Why futures were cancelled.

    Attributes:
        title: What happened.
        remedy: What to do.
        retry_advice: Whether a retry would help.
        closing: The call of the driver's that closed what it used.
    """

    title: str
    remedy: str
    retry_advice: RetryAdvice | None
    closing: DriverClosing | None = None


def _cancelled_futures_finding(case: Case, match: re.Match[str] | None) -> Finding:
    reason = match["reason"].strip() if match else _NO_REASON
    key = match["key"] if match else (case.exception.key if case.exception else None)
    asked = _cancelled_by(case, key)
    if not key and asked is not _NOBODY:
        key = _last_cancelled(case)
    after = case.outcome.is_after
    restarted = [each for each in case.run.of(ClusterRestarted) if not after(each.at)]
    why = _why_cancelled(case, reason, asked, restarted=bool(restarted))
    what = f"{quoted_key(key)} was cancelled" if key else "Futures were cancelled"
    given = " without a reason."
    if reason != _NO_REASON:
        given = f" for the reason “{short(reason, 160)}”."
    return CANCELLED.found(
        why.title,
        cause=f"{what}{given}{asked.reported}"
        + (f" {_where_closed(why.closing)}." if why.closing else ""),
        remedy=why.remedy,
        confidence="high" if match else "medium",
        retry_advice=why.retry_advice,
        retry_confidence="medium",
        subject=case.subject(key),
        evidence=(
            *case.exception_evidence(),
            *asked.evidence,
            *_closing_evidence(why.closing),
            *(
                Evidence(text=f"{_WAS_RESTARTED}.", source="events", at=each.at)
                for each in restarted[-1:]
            ),
        ),
    )


_WAS_RESTARTED = "The cluster was restarted"
_RESTARTED = f"{_WAS_RESTARTED} during the run"

_FETCH = "Fetch the results that you need before that call, and submit pending work again after it."
_RESTARTS_ITSELF = (
    "No other client was connected to this cluster, so the job's own code calls "
    f"`client.restart()`, which cancels all futures. {_FETCH}"
)
_RESTARTED_BY_OTHERS = (
    "Find who calls `client.restart()` on this cluster; don't share a cluster "
    "between runs that restart it. Then retry."
)


def _alone_on_cluster(case: Case) -> bool:
    """Return whether only the process that the scheduler runs in could restart its cluster."""
    attached = case.run.of(DriverAttached)
    schedulers = {each.pid for each in case.run.of(SchedulerInfo)} - {None}
    clients = {each.client: each.pid for each in attached if each.client}
    others = {each.subject for each in case.run.of(ClientAdded)} - set(clients)
    return bool(clients) and not others and set(clients.values()) <= schedulers


def _why_cancelled(
    case: Case, reason: str, asked: _Asked, *, restarted: bool
) -> _Cancellation:
    after = case.outcome.is_after
    closed = any(not after(each.at) for each in case.run.of(SchedulerClosing))
    unknown = reason == _NO_REASON
    advice: RetryAdvice | None = None
    if asked.own or (unknown and closed):
        advice = "unknown"
    if reason == "scheduler-restart" or (unknown and restarted):
        by_itself = _restarted_by_itself(case)
        return by_itself or _Cancellation(_RESTARTED, _RESTARTED_BY_OTHERS, advice)
    if unknown and asked is _NOBODY and (closings := closings_of_driver(case)):
        # Of a client and its cluster, the cluster: nothing can continue without it.
        return _closed_by_driver(min(closings, key=lambda each: each.what == _CLIENT))
    if unknown and closed:
        return _Cancellation(_CLUSTER_CLOSED, _WHO_CLOSES, advice)
    why = "" if unknown else f": {short(reason, 60)}"
    return _Cancellation(f"The work was cancelled{asked.by}{why}", asked.remedy, advice)


def _restarted_by_itself(case: Case) -> _Cancellation | None:
    """Return that the run itself restarted its cluster; None if another program may have."""
    after = case.outcome.is_after
    own = [each for each in case.run.of(DriverRestart) if not after(each.at)]
    title, remedy = f"{_RESTARTED}, by the run itself", _RESTARTS_ITSELF
    if own and own[-1].file:
        title += code_line(own[-1], " at ", name_only=True)
        remedy = (
            f"{code_line(own[-1])} calls `client.restart()`, which cancels all futures. "
            f"{_FETCH}"
        )
    elif not own and not _alone_on_cluster(case):
        return None
    return _Cancellation(title, remedy, "code")


def _closed_by_driver(closing: DriverClosing) -> _Cancellation:
    """Return that the driver's own code closed what it used."""
    title = _CLUSTER_CLOSED
    remedy = (
        f"{_where_closed(closing)}: call it only after all results have been fetched."
    )
    if closing.what == _CLIENT:
        title = "The client was closed while the run still needed it"
        remedy += " Don't close the client that `get_client()` returns: other code uses it, too."
    if closing.file:
        title += code_line(closing, ", by the run itself at ", name_only=True)
    return _Cancellation(title, remedy, "unknown", closing)


def _closing_evidence(closing: DriverClosing | None) -> Iterator[Evidence]:
    if closing is not None:
        text = f"{_where_closed(closing)}."
        yield Evidence(text=text, source="events", at=closing.at)


def _where_closed(closing: DriverClosing) -> str:
    place = code_line(closing, " at ")
    function = f", in '{closing.function}'" if closing.function else ""
    return f"The driver called `{closing.what}`{place}{function}"


def _cancelled_by(case: Case, key: str | None) -> _Asked:
    """Return who asked the scheduler to cancel a key, as it logs that."""
    logs = case.run.logs.filter(pl.col("role") == "scheduler")
    done = logs["message"].str.starts_with(f"Scheduler cancels key {key}.")
    if key is not None and not done.any():
        return _NOBODY
    logs = logs.filter(printed_by(CLIENT_CANCELS))
    found = None
    for row in logs.sort("at").tail(1).iter_rows(named=True):
        found = CLIENT_CANCELS.match(row["message"])
    if found is None:
        return _NOBODY
    client, at = found["client"], row["at"].timestamp()
    own = client in {each.client for each in case.run.of(DriverAttached)}
    if own:
        by, who, remedy = _cancelled_by_driver(cancel_of_driver(case, at))
    elif client.startswith("Client-worker-"):
        by, who = " by one of its tasks", f"a client inside a task ({client})"
        remedy = (
            "Find the call of `cancel` in the tasks that use `worker_client` or "
            "`get_client`."
        )
    else:
        by, who = " by another client of the cluster", f"client {client}, another one,"
        remedy = (
            f"Find the owner of client {client}, another program on this cluster or a "
            "second client of the job: it cancelled futures that this run needed"
            " (`client.cancel(…, "
            "force=True)`). Don't share a cluster with it. Then retry."
        )
    number = counted(int(found["number"]), "key")
    evidence = Evidence(text=short(row["message"], 200), source="logs", at=at)
    return _Asked(
        own=own,
        by=by,
        reported=f" {capital(who)} requested this ({number}).",
        remedy=remedy,
        evidence=(evidence,),
    )


def _cancelled_by_driver(call: DriverCancel | None) -> tuple[str, str, str]:
    by = f" by the run's own driver{code_line(call, ' at ', name_only=True)}"
    remedy = (
        "Find `future.cancel()`, `client.cancel(…)` or `shutdown(wait=False)` of an executor "
        "in the job's own code: a watchdog, a time limit, or cleanup after an error."
        " Pass `reason=`; it will be shown here."
    )
    if place := code_line(call):
        remedy = (
            f"Look at {place}, which cancels them: a watchdog, a time limit, or cleanup "
            "after an error."
        )
    return by, "the driver's own client", remedy


def _last_cancelled(case: Case) -> str | None:
    """Return a key that the scheduler cancelled, as it logs that."""
    logs = case.run.logs.filter(pl.col("role") == "scheduler").sort("at")
    keys = logs["message"].str.extract(SCHEDULER_CANCELS.pattern).drop_nulls()
    return str(keys[-1]) if len(keys) else None


def _is_executor_cancellation(case: Case) -> bool:
    """Return whether futures of `client.get_executor()` were cancelled, which carry no word."""
    exception = case.exception
    return (
        exception is not None
        and exception.exception == "concurrent.futures._base.CancelledError"
        and _cancelled_by(case, None) is not _NOBODY
    )


def _is_unrelated(case: Case) -> bool:
    """Return whether it was a timeout, which cancels what it waited for, or nothing of Dask's."""
    if case.exception is None:
        return False
    timeout = class_of(case.exception.exception).endswith(("TimeoutError", "Timeout"))
    # One that is raised `from None` replaces what a call to Dask had raised.
    own = case.outcome.call is None and raised_outside_dask(case.exception.traceback)
    return timeout or own


def _interrupted(case: Case) -> Finding:
    where = code_line(case.exception, " The driver was at ")
    if case.exception is not None and where:
        where += f"{code_of(user_frame(case.exception.traceback))}."
    stalled = f" {stall}" if (stall := case.stall()) is not None else ""
    name = class_of(case.exception.exception) if case.exception else "KeyboardInterrupt"
    if (sent := signal_to_itself(case)) is not None:
        line = code_line(sent, " sent at ", name_only=True)
        at = code_line(sent) or "one of its threads"
        return CANCELLED.found(
            f"The job's own code interrupted the driver ({sent.signal}{line})",
            cause=f"The driver's own process sent {sent.signal} to itself, from {at}, "
            f"which raised {name}.{where}{stalled}",
            remedy=f"Check why the job sends {sent.signal}, from {at}: it may have a time limit "
            "of its own, or a wrong process id. If it is a time limit, give the run more time "
            "or less work.",
            confidence="high",
            retry_advice="unknown",
            evidence=case.exception_evidence(),
        )
    return CANCELLED.found(
        "The driver was interrupted (Ctrl-C or SIGINT)",
        cause=f"The driver raised {name}: a person or the host stopped "
        f"it.{where}{stalled}",
        remedy="If no person did it, check which timeout of the host sends SIGINT.",
        confidence="high",
        evidence=case.exception_evidence(),
    )


# stopped-by-host

_TIME_MARGIN = 1.5

_LOOP = "event-loop"

_REMEDY_CANCELLED_BY_LOOP = (
    "Fix the earlier failure. When one coroutine fails, `asyncio.run` and "
    "`asyncio.TaskGroup` cancel those that are still running; with `asyncio.gather(…, "
    "return_exceptions=True)`, all of them run to their end."
)

_LONG = 5.0


@documented("stopped-by-host")
def STOPPED_BY_HOST(case: Case) -> Iterator[Finding]:
    stopped = stopped_of(case.run)
    if not case.failed or stopped is None:
        return
    if stopped.reason == "suspended":
        yield _suspended(case, stopped)
    elif stopped.reason not in TIME_LIMITS:
        yield _stopped(case, stopped)
    elif not (case.standstill and case.standstill.long) and not case.blame.deaths:
        # What was blocked, or died again and again, is why the time was not enough.
        yield _out_of_time(case, stopped)


def _stopped(case: Case, stopped: Stopped) -> Finding:
    host = _host(stopped)
    after, progress = _then_after(case)
    why = _in_brackets(stopped)
    said = why_stopped(case.run, stopped)
    detail = f" {host} reports: “{short(said, 300).rstrip('.')}”." if said else ""
    person = stopped.reason in BY_A_PERSON
    # Whether a retry would hang as well is unknown; running tasks may only take long.
    hang = case.standstill
    hung = hang is not None and hang.long
    blocked = hung and hang is not None and not hang.executing
    remedy = (
        "Find why the host ended the process: an eviction, a deployment, a scale-down, a spot "
        "notice. Then rerun it."
    )
    if stopped.by == _LOOP:
        remedy = _REMEDY_CANCELLED_BY_LOOP
    elif person:
        remedy = (
            "If this was intended, no fix is needed: rerun it when you need the result."
        )
    return STOPPED_BY_HOST.found(
        f"{host} stopped this {case.dialect.run} after {after}{why}{progress}",
        cause=(
            f"{host} ended the run{why} {after} after its start{progress}.{detail} "
            f"{case.stall() if hung else 'No failure had been recorded by then.'}"
            f"{_where_it_was(case)}"
        ),
        remedy=remedy,
        confidence="high",
        retry_advice="unknown" if person or blocked else "transient",
        evidence=_evidence_stopped_by_host(case, stopped),
    )


def _then_after(case: Case) -> tuple[str, str]:
    """Return after which time the host ended a run, and how far its work had come by then."""
    at = _moment(case)
    after = duration(max(at - case.run.manifest.started, 0))
    return after, _progress(case, at)


def _where_it_was(case: Case) -> str:
    """Return a sentence with the line that a signal of the host's interrupted."""
    own = case.exception
    if own is None or own.file is None or own.line is None:
        return ""
    seconds = blocked_seconds(case.run, own.file, own.line)
    since = f", and had been there for {duration(seconds)}" if seconds else ""
    return f" The driver was at {code_line(own)}{since}."


def _suspended(case: Case, stopped: Stopped) -> Finding:
    host, where = _host(stopped), code_line(case.exception, " at ")
    after, progress = _then_after(case)
    return STOPPED_BY_HOST.found(
        f"Suspended after {after}{progress}",
        cause=(
            f"{host} suspended this {case.dialect.run}{where}, {after} after its "
            f"start{progress}. This ended its process, the "
            "clusters that it had started, and all tasks on them."
        ),
        remedy=(
            f"No fix is needed. Resume it in {host} when it may continue. A new "
            "attempt then starts from the first line, on a new cluster; only persisted "
            "results are not computed again."
        ),
        confidence="high",
        retry_advice="unknown",
        evidence=_evidence_stopped_by_host(case, stopped),
    )


def _out_of_time(case: Case, stopped: Stopped) -> Finding:
    pace, started = pace_of(case), _cluster_start(case)
    where = _position_at_limit(case, joined=started is not None)
    whose = "run" if stopped.reason == "run-timeout" else case.dialect.run
    limit = f" of {duration(stopped.limit)}" if stopped.limit else ""
    name = stopped.setting or "time limit"
    title = f"Reached its {name}{limit}"
    needs: float | None = None
    enough: float | None = None
    if pace is not None:
        needs, enough = _time_needed(case, stopped, pace)
        rest = f", at this rate {duration(needs)}"
        title += f" with {pace.done:,} of {counted(pace.sent, 'task')} done"
        title += " and more to submit" if pace.submitting else rest
    title += _AT_LIMIT[where]
    if where == "closing":
        title += _progress(case, _moment(case))
    slow = where in _WITHOUT_CLUSTER
    more = ""
    if started is not None:
        more = f" Its cluster took {duration(started)} to start."
        if started > max(_LONG, 0.1 * (stopped.limit or 0.0)):
            slow = True
            title += f"; cluster start took {duration(started)}"
    progress = "" if pace is None else f" {pace.sentence}."
    line = _where_it_was(case) if where in _WITHOUT_CLUSTER else ""
    remedy = _remedy_stopped_by_host(case, name, enough, pace, slow=slow)
    if where in _DELAYED:
        remedy = (
            f"Find out what delays the {_DELAYED[where]} of the cluster, or raise "
            f"`{name}`."
        )
    return STOPPED_BY_HOST.found(
        title,
        cause=f"{_host(stopped)} ended the {whose.lower()} at its {name}{limit}."
        f"{progress}{more}{line}",
        remedy=remedy,
        confidence="high" if pace is not None else "medium",
        # It would reach the same limit again, unless nothing is known of its pace.
        retry_advice="unknown" if needs is None else "environment",
        evidence=_evidence_stopped_by_host(case, stopped),
    )


def _time_needed(case: Case, stopped: Stopped, pace: Pace) -> tuple[float, float]:
    """Return what the work needs at its pace, and what is enough, in seconds of its limit.

    The limit may be that of something that began earlier, such as a run of several tasks.
    """
    own = max(_moment(case) - case.run.manifest.started, 0)
    before = max((stopped.limit or 0.0) - own, 0)
    whole = own + pace.rest
    return before + whole, before + _TIME_MARGIN * whole


_Position = Literal["starting", "unconnected", "closing", "working"]
"""Where a driver was when its time was over."""

_AT_LIMIT: Mapping[_Position, str] = {
    "starting": " while its cluster was starting",
    "unconnected": " before it had connected to a cluster",
    "closing": " while its cluster was closing",
    "working": "",
}
_WITHOUT_CLUSTER: Container[_Position] = ("starting", "unconnected")
_DELAYED: Mapping[_Position, str] = {"unconnected": "start", "closing": "closing"}
"""What took the time, where no setting of the cluster says how long it may take."""


def _position_at_limit(case: Case, *, joined: bool) -> _Position:
    if not joined and _was_in(case, _IN_CLUSTER):
        return "starting"
    if case.clusterless:
        return "unconnected"
    return "closing" if _was_in(case, _CLOSING_CLUSTER) else "working"


_IN_CLUSTER = "/distributed/deploy/"
"""Where the driver was interrupted while it made, or closed, a cluster object."""
_CLOSING_CLUSTER = (
    rf"(?m){_IN_CLUSTER}\S+, line \d+, in (?:close|_close|__exit__|__aexit__)$"
)


def _was_in(case: Case, place: str) -> bool:
    """Return whether the driver was at such a place when it was interrupted."""
    trace = "" if case.exception is None else case.exception.traceback
    return bounded(place).search(trace) is not None


def _remedy_stopped_by_host(
    case: Case, name: str, enough: float | None, pace: Pace | None, *, slow: bool
) -> str:
    raised = ""
    if enough and pace:
        more = f" to more than {duration(enough)}"
        raised = more if pace.submitting else f" to {duration(enough)} or more"
        line = case.dialect.time_limit(name, enough)
        raised += f" (`{line}`)" if line else ""
    sooner = "; start its cluster earlier, or keep one running" if slow else ""
    return (
        f"Raise `{name}`{raised}, give the cluster more workers, or split the work into "
        f"several tasks{sooner}."
    )


def _cluster_start(case: Case) -> float | None:
    """Return how long it took until the first worker had joined, seconds."""
    joined = case.run.workers["joined"].drop_nulls()
    if not len(joined):
        return None
    first: datetime = joined.sort()[0]
    return max(first.timestamp() - case.run.manifest.started, 0.0)


def _progress(case: Case, moment: float) -> str:
    """Return how far the work had come at a moment, in a clause; nothing if there was none."""
    graphs = (each for each in case.run.of(GraphUpdated) if each.at <= moment)
    sent = sum(map(new_tasks, graphs))
    if not sent:
        return ""
    done = min(finished_by(case.run, moment)["key"].n_unique(), sent)
    unheard = _unheard_for(case, moment)
    least = when = ""
    if unheard is not None and unheard > _LONG:
        when = f" when the scheduler last answered, {duration(unheard)} before"
    elif unheard is not None and 0 < done < sent:
        least = "at least "  # what was done since it last answered is not known
    return f"; {least}{done:,} of {counted(sent, 'task')} {were(sent)} done{when}"


def _unheard_for(case: Case, moment: float) -> float | None:
    """Return for how long nothing had come from the schedulers, if the end is missing."""
    ending = case.run.ending
    sources = ending.sources.items() if ending is not None else ()
    if not any(each.error for name, each in sources if name.startswith("scheduler ")):
        return None
    own = case.run.metrics.filter(pl.col("source") == "scheduler")["at"]
    if not len(own):
        return 0.0  # not known
    last: datetime = own.sort()[-1]
    return max(moment - last.timestamp(), 0.0)


def _moment(case: Case) -> float:
    at = case.outcome.decided_at
    assert at is not None  # noqa: S101 - who is stopped has ended
    return at


def _host(stopped: Stopped) -> str:
    names = {
        "person": "A person",
        "host": "The host",
        "timeout": "`timeout`, with which the command was started,",
        _LOOP: "The event loop",
    }
    return names.get(stopped.by, stopped.by.capitalize())


def _in_brackets(stopped: Stopped) -> str:
    """Return why a run was stopped, in words; empty if that is not known."""
    reason = stopped.setting or STOP_WORDS.get(stopped.reason, stopped.reason)
    return f" ({reason})" if reason else ""


def _evidence_stopped_by_host(case: Case, stopped: Stopped) -> tuple[Evidence, ...]:
    said = why_stopped(case.run, stopped)
    detail = f": {short(said, 200)}" if said else ""
    return (
        Evidence(
            text=f"{_host(stopped)} ended the run{_in_brackets(stopped)}{detail}",
            source="driver",
            at=_moment(case),
        ),
        *_evidence_of_own_job(case),
        *case.exception_evidence(),
    )


def _evidence_of_own_job(case: Case) -> Iterator[Evidence]:
    """Yield what a cluster manager says of the job that the driver ran in, if that ended it."""
    unit = units_of(case.run).of_driver
    if unit is not None and unit.ending is not None:
        yield evidence_of_unit(unit)
