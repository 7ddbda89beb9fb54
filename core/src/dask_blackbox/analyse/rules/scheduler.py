"""Schedulers that were lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TypeVar

import msgspec

from dask_blackbox.analyse.blame import (
    closed_connection_to,
    timed_out_waiting,
)
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import raised_by_a_check, raised_on_purpose
from dask_blackbox.analyse.progress import new_tasks
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.side_effects import program_exit_text
from dask_blackbox.analyse.signals import signal_in
from dask_blackbox.analyse.signatures.distributed import SCHEDULER_CONNECTION_LOST
from dask_blackbox.analyse.worker_memory import how_the_scheduler_grew
from dask_blackbox.events import (
    ClientAdded,
    ClientDisconnected,
    ClientRemoved,
    DriverAttached,
    DriverCallFailed,
    DriverLost,
    DriverSignalled,
    GatewayCluster,
    GraphUpdated,
    ProgramFailed,
    RecordingStarted,
    SchedulerClosing,
    SchedulerInfo,
    SchedulerLost,
    SchedulerResponded,
    SchedulerUnresponsive,
)
from dask_blackbox.finding import Evidence, Finding, RetryAdvice
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    duration,
    short,
    size,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED

# scheduler-lost
#
# Everything that follows (cancelled futures, closed connections by the thousand, workers that
# leave) is a consequence.

_OPEN = "although its port is still open"

_SILENT = (
    "Check what its process and its host were doing then: an event loop that is "
    "blocked (a graph with large literals, a plugin), a machine that swaps or was "
    "suspended, a lost network. Nothing shows that the scheduler died. If it is still "
    "blocked, a retry will hang, too."
)

_OUTLIVED = 3.0  # seconds

_MORE_MEMORY = (
    "Check how its process or pod ended (out of memory: exit code 137, `OOMKilled`), "
    "and what it held: graphs with large literals (`client.scatter` them, or load them "
    "in tasks), very many tasks, futures that are never released. Then give it a "
    "quarter more memory than it still needs."
)

_CANCELLED = r"cancelled for reason: unknown"

_CONNECTING = "in _ensure_connected"

_OF_CANCELLED = bounded(r"CancelledError|cancelled")
"""How a driver's own exception names results that were cancelled."""

LOST = "The scheduler was lost"
"""How the title of this finding begins."""

_CLASSES = ("CommClosedError", "ClosedClientError", "FatalCommClosedError")

_End = SchedulerLost | SchedulerClosing | DriverLost | ClientDisconnected
_EndT = TypeVar("_EndT", bound=_End)


@documented("scheduler-lost")
def SCHEDULER_LOST(case: Case) -> Iterator[Finding]:
    if case.state == "succeeded":
        yield from _unnoticed(case)
    elif case.failed and case.blame.failure is None:
        yield from _behind_the_failure(case)


def _behind_the_failure(case: Case) -> Iterator[Finding]:
    if _lost_worker_connection(case) or _was_never_there(case):
        return
    received = _received(case)
    reported = _is_reported(case, received)
    lost: Sequence[SchedulerLost | DriverLost] = case.run.of(SchedulerLost)
    closing: Sequence[SchedulerClosing] = case.run.of(SchedulerClosing)
    if not reported:  # a driver that it was reported to before did not close it itself
        lost, closing = _unfinished(case, lost), _unfinished(case, closing)
    if not lost and not closing and _closed_its_own_client(case):
        return
    reported = reported or _is_behind_a_wait(case, lost, closing)
    # A recording made in the scheduler has no driver that reports it.
    if case.run.manifest.host_kind == "scheduler":
        # What its recorder lost then was no driver.
        lost = lost or case.run.of(DriverLost)
        ends = [*lost, *closing]
        if _client_left_first(case, ends):
            return
        reported = reported or bool(ends)
    if reported:
        yield _finding(
            case, reported=True, received=received, lost=lost, closing=closing
        )
    elif lost and _gave_no_reason(case, lost):
        yield _finding(case, reported=False, received=received, lost=lost, closing=())


def _unfinished(case: Case, ends: Sequence[_EndT]) -> list[_EndT]:
    """Return the ends of schedulers that the driver was not done with."""
    return [end for end in ends if not _is_over(case, end)]


def _gave_no_reason(case: Case, lost: Sequence[_End]) -> bool:
    """Return whether a driver that lost its scheduler reports nothing of why it ended."""
    return case.exception is None and (
        case.state == "failed" or _before_the_driver(case, lost)
    )


def _was_never_there(case: Case) -> bool:
    """Return whether the driver met no scheduler, or one that refused it."""
    connecting = bool(case.search_exception(_CONNECTING))
    return connecting and not (case.recorded_cluster and _ended_before(case))


def _is_reported(case: Case, received: Sequence[DriverCallFailed]) -> bool:
    """Return whether a report of the loss ended the driver, or the results that were lost."""
    if received or case.search_exception(SCHEDULER_CONNECTION_LOST.pattern):
        return True
    if case.raised(*_CLASSES) and not case.search_exception("trying to connect"):
        return True
    return _lost_under_the_work(case)


def _is_behind_a_wait(
    case: Case,
    lost: Sequence[SchedulerLost | DriverLost],
    closing: Sequence[SchedulerClosing],
) -> bool:
    """Return whether the driver ended by something that follows from the loss."""
    # A driver that gives up closes its own cluster: that is asked for.
    ended = bool(lost) or any(each.reason != "terminate" for each in closing)
    # A caller with a timeout learns only that it is over.
    if ended and case.exception is not None and timed_out_waiting(case.exception):
        return True
    # And who held futures, or sends new ones, only that these are cancelled.
    cancelled = bool(case.search_exception(_CANCELLED))
    return cancelled and _closed_without_request(closing)


def _unnoticed(case: Case) -> Iterator[Finding]:
    """Yield the loss of a scheduler that had work to do, which the driver did not report.

    Dask cancels what the client waits for; code that leaves out cancelled results then does
    not fail.
    """
    begun = [e.at for e in (*case.run.of(GraphUpdated), *case.run.of(ClientAdded))]
    last, closed = max(begun, default=0.0), case.teardown.since
    lost = [
        each
        for each in case.run.of(ClientDisconnected)
        if each.pending and last <= each.at and not _is_over(case, each)
    ]
    if closed is not None:  # its cluster may run anywhere
        lost = [each for each in lost if each.at < closed]
    if not lost:
        return
    found = _finding(
        case,
        reported=True,
        received=(),
        lost=lost,
        closing=case.run.of(SchedulerClosing),
    )
    left = f"with {lost[-1].pending:,} of {counted(lost[-1].futures, 'future')} pending"
    yield msgspec.structs.replace(
        found,
        title=f"{LOST} {left}{found.title.removeprefix(LOST)}",
        cause=f"{found.cause} The driver exited with 0 all the same: Dask cancelled its "
        f"futures ({left}), and its code treats cancelled futures as done.",
        remedy=f"{found.remedy} Have the driver fail if a future is cancelled, as "
        "`future.result()` does.",
        severity="warning",
    )


def _of_scheduler(how: str) -> str:
    """Return how the scheduler was lost, as the beginning of a sentence."""
    return f"The scheduler{how[2:]}" if how.startswith("it ") else capital(how)


def _finding(
    case: Case,
    *,
    reported: bool,
    received: Sequence[DriverCallFailed],
    lost: Sequence[SchedulerLost | DriverLost | ClientDisconnected],
    closing: Sequence[SchedulerClosing],
) -> Finding:
    reason = _reason(case, closing)
    how, advice, remedy = _how_it_was_lost(case, reason)
    briefly = how
    # Of one that said why it closed, its memory says nothing.
    memory = _memory(case) if reason is None and advice != "memory" else ""
    if (action := _act_of_the_script(case, [*closing, *lost])) is not None:
        at = code_line(action, " at ")
        how, advice = f"the run's own script ended it ({action.signal}{at})", "code"
        briefly = how.replace(at, code_line(action, " at ", name_only=True))
        remedy = (
            f"Check why the script stops its scheduler{at} before the work is done."
        )
    seen = (
        lost
        or closing
        or action is not None
        or case.search_exception(SCHEDULER_CONNECTION_LOST.pattern)
        or any(SCHEDULER_CONNECTION_LOST.search(each.message) for each in received)
    )
    return SCHEDULER_LOST.found(
        f"{LOST}: {briefly}",
        cause=(
            "The driver lost its connection to the scheduler, and with it all futures. "
            f"{_of_scheduler(how)}{_asked_by(closing)}.{memory} Lost workers and closed "
            "connections after that are consequences."
        ),
        remedy=remedy,
        confidence="high" if reported and seen else "medium",
        retry_advice=advice,
        evidence=(
            *case.exception_evidence(),
            *_reported_by("The scheduler closed", closing),
            *_reported_by(
                "The scheduler did not answer", case.run.of(SchedulerUnresponsive)
            ),
            *_reported_by(
                "The recorder lost the connection",
                [each for each in lost if not isinstance(each, ClientDisconnected)],
            ),
            *_disconnected(case),
            *_exit_of_scheduler(case),
            *_state_at_gateway(case, [*lost, *closing]),
        ),
    )


def _disconnected(case: Case) -> Iterator[Evidence]:
    for each in case.run.of(ClientDisconnected)[-1:]:
        yield Evidence(
            text=f"A client of the driver lost the scheduler: {each.pending:,} of its "
            f"{counted(each.futures, 'future')} were pending, and Dask cancelled them.",
            source="driver",
            at=each.at,
        )


def _state_at_gateway(case: Case, ends: Sequence[_End]) -> Iterator[Evidence]:
    """Yield what the gateway of a cluster said of it after its scheduler was lost."""
    since = min((end.at for end in ends), default=inf)
    for each in case.run.of(GatewayCluster)[-1:]:
        if each.state and each.at >= since:
            yield Evidence(
                text=f"The gateway reported its cluster {each.name} as {each.state}.",
                source="driver",
                at=each.at,
            )


def _exit_of_scheduler(case: Case) -> Iterator[Evidence]:
    if (program := _program_of_scheduler(case)) is not None:
        yield Evidence(
            text=f"Process {program.program_pid}, the scheduler, {program_exit_text(program)}; the "
            f"driver had started it{code_line(program, ' at ')}.",
            source="driver",
            at=program.at,
        )


def _ended_before(case: Case) -> bool:
    """Return whether a scheduler had ended when the outcome was decided."""
    ends = [*case.run.of(SchedulerLost), *case.run.of(SchedulerClosing)]
    return any(not case.outcome.is_after(end.at) for end in ends)


def _received(case: Case) -> tuple[DriverCallFailed, ...]:
    """Return what notified the driver of it, where it handled that and ended because of it.

    It counted its failed futures, or only noticed that nothing came any more; a driver that
    had gone on with its work ended of something else.
    """
    calls = tuple(
        each
        for each in case.outcome.received_before(case.teardown.since)
        if class_of(each.exception) in _CLASSES
        or SCHEDULER_CONNECTION_LOST.search(each.message)
    )
    done = case.run.tasks.filter(FINISHED)["stop"]
    last = float((done.dt.epoch("us") / 1e6).max() or 0.0)  # type: ignore[arg-type]
    if not calls or last > calls[-1].at:
        return ()
    exception = case.exception
    on_purpose = exception is not None and raised_on_purpose(exception.traceback)
    return calls if case.gave_no_reason or on_purpose else ()


def _lost_under_the_work(case: Case) -> bool:
    """Return whether it was lost before the driver ended any of its cluster, with work to do.

    Such a driver counts the results that it has, and ends with a text of its own; no call
    to Dask need have raised anything.
    """
    exception = case.exception
    if exception is None or _shares_the_drivers_process(case):
        return False
    of_results = raised_by_a_check(exception.traceback) or _OF_CANCELLED.search(
        exception.message
    )
    if not of_results or not _left_work(case):
        return False
    acts = [each.at for each in case.teardown.actions]
    return any(
        not case.outcome.is_after(end.at) and not any(at <= end.at for at in acts)
        for end in case.run.of(SchedulerLost)
    )


def _left_work(case: Case) -> bool:
    """Return whether tasks that clients had requested were not done."""
    asked = sum(map(new_tasks, case.run.of(GraphUpdated)))
    return case.run.tasks.filter(FINISHED)["key"].n_unique() < asked


def _is_over(case: Case, end: _End) -> bool:
    """Return whether the driver was done with a scheduler when that ended.

    It closed it itself, or went on with another one.
    """
    address, known = _address(case, end), case.run.of(SchedulerInfo)
    later = any(each.subject != address and each.at > end.at for each in known)
    return later or case.teardown.includes(address, end.at)


def _act_of_the_script(case: Case, ends: Sequence[_End]) -> DriverSignalled | None:
    """Return how the script itself ended the scheduler, if it did."""
    moments = [(_address(case, end), end.at) for end in ends]
    decided = case.outcome.decided_at
    if not moments and decided is not None:
        # The driver itself lost it before the recorder did.
        moments = [(each.subject, decided) for each in case.run.of(SchedulerInfo)]
    actions = (case.teardown.action_on(address, at) for address, at in moments)
    # The recorder is on the driver's machine: what it had lost before was not ended by it.
    before = [each.at for each in ends if isinstance(each, SchedulerLost)]
    last = min(before, default=inf)
    return next((e for e in actions if e is not None and e.at <= last), None)


def _address(case: Case, end: _End) -> str:
    """Return which scheduler an event is about; older recordings knew one scheduler, and named none."""
    known = [each.subject for each in case.run.of(SchedulerInfo)]
    named = (
        end.scheduler
        if isinstance(end, SchedulerClosing | ClientDisconnected)
        else None
    )
    return named or end.subject or next(iter(known[-1:]), "")


def _how_it_was_lost(case: Case, reason: str | None) -> tuple[str, RetryAdvice, str]:
    """Return how it went, whether trying again helps, and what to do."""
    how, advice, remedy = _how(reason)
    program = _program_of_scheduler(case)
    if reason is None and program is not None:
        how = f"its process {program_exit_text(program)}"
    silent = len(case.run.of(SchedulerUnresponsive))
    if reason is None and silent > len(case.run.of(SchedulerResponded)):
        # It was frozen, blocked, or cut off, rather than dead.
        return f"it stopped answering, {_OPEN}", advice, _SILENT
    grown = how_the_scheduler_grew(case.run) if reason is None else ""
    if grown:
        return f"{how}, when its memory had {grown}", "memory", _MORE_MEMORY
    return how, advice, remedy


def _program_of_scheduler(case: Case) -> ProgramFailed | None:
    """Return the end of the scheduler's process, where the job itself had started it."""
    pids = {each.pid for each in case.run.of(SchedulerInfo)} - {None}
    ended = (each for each in case.run.of(ProgramFailed) if each.program_pid in pids)
    return next(ended, None)


def _lost_worker_connection(case: Case) -> bool:
    """Return whether the connection that was closed was one to a worker."""
    if case.exception is None:
        return False
    address = closed_connection_to(case.exception)
    return address is not None and address in case.run.workers["address"].to_list()


def _client_left_first(case: Case, ends: Sequence[_End]) -> bool:
    """Return whether the client of an always-on recording was the first to go."""
    client = case.run.manifest.host.get("client")
    left = [each.at for each in case.run.of(ClientRemoved) if each.subject == client]
    return bool(left and ends) and min(left) < min(end.at for end in ends)


def _before_the_driver(case: Case, lost: Sequence[_End]) -> bool:
    """Return whether the driver outlived it: a driver takes its own cluster along."""
    if _shares_the_drivers_process(case):
        return False  # what froze or ended one did so to both
    gone = [each.at for each in case.run.of(DriverLost)]
    if case.outcome.kind == "signal" and case.outcome.decided_at is not None:
        gone.append(case.outcome.decided_at)
    return bool(
        case.state == "aborted" and lost and gone and gone[-1] - lost[0].at > _OUTLIVED
    )


def _shares_the_drivers_process(case: Case) -> bool:
    schedulers = case.run.of(SchedulerInfo)
    lost = {each.pid for each in case.run.of(DriverLost)} - {None}
    if lost & {each.pid for each in schedulers}:
        return True
    # The process that connected may be one that the driver, a command, has started.
    processes = {(each.boot, each.pid) for each in case.run.of(DriverAttached)}
    return any(each.boot and (each.boot, each.pid) in processes for each in schedulers)


def _closed_without_request(closing: Sequence[SchedulerClosing]) -> bool:
    """Return whether it closed because it had no work, or because its host asked it to."""
    reasons = [each.reason for each in closing]
    return any("idle" in each or signal_in(each) for each in reasons)


def _closed_its_own_client(case: Case) -> bool:
    """Return whether the driver continued with a client that it had closed before."""
    own = {each.subject for each in case.run.of(RecordingStarted)}
    gone = {each.subject for each in case.run.of(ClientRemoved)}
    return case.raised("ClosedClientError") and bool(own & gone - {""})


def _reported_by(
    what: str, events: Sequence[_End | SchedulerUnresponsive]
) -> Iterator[Evidence]:
    for event in events[-1:]:
        if isinstance(event, SchedulerClosing):
            text = event.reason
        else:
            text = getattr(event, "error", None) or ""
        yield Evidence(
            text=f"{what}: {short(text or event.subject, 200)}",
            source="events",
            at=event.at,
        )


def _reason(case: Case, closing: Sequence[SchedulerClosing]) -> str | None:
    """Return why the scheduler closed, as it says; None if it never said that it did."""
    logs = case.run.logs.filter(case.run.logs["role"] == "scheduler")
    idle = logs["message"].str.extract(_IDLE_AT_GATEWAY).drop_nulls().to_list()
    if idle:
        return f"{_GATEWAY_IDLE}{idle[-1]}"
    logged = logs["message"].str.extract(r"Closing scheduler\. Reason: (\S+)")
    reasons = [each.reason for each in closing if each.reason]
    reasons += logged.drop_nulls().tail(1).to_list()
    if not reasons and not closing:
        return None
    return next((each for each in reasons if each != "unknown"), "")


_IDLE_AT_GATEWAY = r"^Cluster has been idle for (\d{1,9})\.\d\d seconds, shutting down"
"""What a scheduler of dask-gateway logs before it has its gateway stop the cluster."""
_GATEWAY_IDLE = "gateway-idle-"


def _asked_by(closing: Sequence[SchedulerClosing]) -> str:
    clients = [each.by for each in closing if each.by]
    return f", at the request of {clients[-1].partition('://')[2]}" if clients else ""


_CLOSED = (
    "Find the code that closed it: `client.shutdown()` or `cluster.close()`, in this run or "
    "in another one that shares the cluster."
)


def _how(reason: str | None) -> tuple[str, RetryAdvice, str]:
    if reason is None:
        remedy = (
            "Check how its process or pod ended, then retry: a lost node, a signal, or its "
            "memory limit (exit code 137, `OOMKilled`), although no sample of its memory "
            "points to that."
        )
        return "it disappeared without logging a reason", "transient", remedy
    if name := signal_in(reason):
        remedy = (
            "Find what stopped it: a deleted pod, a spot notice, a walltime. Run the "
            "scheduler on a host that is not preempted, then retry."
        )
        return f"it was terminated from outside ({name})", "transient", remedy
    if "idle" in reason:
        return _how_idle(reason)
    if reason == "terminate":
        return "a client shut it down", "unknown", _CLOSED
    if reason:
        return f"it closed ({short(reason, 60)})", "unknown", _CLOSED
    return "it closed in an orderly way and gave no reason", "unknown", _CLOSED


def _how_idle(reason: str) -> tuple[str, RetryAdvice, str]:
    if not reason.startswith(_GATEWAY_IDLE):
        remedy = (
            "Raise `distributed.scheduler.idle-timeout` above the longest pause of the run; "
            "where the cluster ends with the run, none is needed "
            "(`distributed.scheduler.idle-timeout: null`)."
        )
        return "it closed after being idle for too long", "environment", remedy
    idle = duration(float(reason.removeprefix(_GATEWAY_IDLE)))
    remedy = (
        "Raise the gateway's `c.ClusterConfig.idle_timeout`, or the cluster option that sets it, "
        "above the longest pause of the run; or create the cluster after the pause."
    )
    how = f"its gateway ended it because it had been idle for more than {idle}"
    return how, "environment", remedy


def _memory(case: Case) -> str:
    own = case.run.metrics.filter(case.run.metrics["source"] == "scheduler")
    last = own.sort("at")["memory"].drop_nulls().tail(1).to_list()
    return f" Its last memory sample was {size(last[0])}." if last else ""
