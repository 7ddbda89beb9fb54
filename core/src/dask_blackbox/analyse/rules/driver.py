"""What the driver itself raised, and what nothing explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import msgspec
import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.analyse.death_texts import evidence_of
from dask_blackbox.analyse.driver_output import (
    NOISE,
    PrintedFailure,
    last_output,
    without_log_prefix,
)
from dask_blackbox.analyse.driver_position import (
    DriverPosition,
    evidence_of_position,
    wait_before,
)
from dask_blackbox.analyse.exception_context import (
    ended_thread,
    exit_text,
    thread_that_blocked_the_driver,
    thread_that_was_missed,
    what_ran,
)
from dask_blackbox.analyse.explanations import (
    advice_in,
    driver_exception_text,
    explained_exception,
    failure_text,
    hint_on,
    plain_message,
)
from dask_blackbox.analyse.facts.ray_tasks import RayFailure, failure_on_ray
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import (
    at_frame,
    came_from_a_local_task,
    code_of,
    end_of,
    raised_at_end,
    raised_by_a_check,
    raised_by_a_library,
    raised_on_purpose,
    raised_outside_dask,
    root_of_chain,
    untangled,
    user_frame,
)
from dask_blackbox.analyse.missing_files import remedy_for_missing_file
from dask_blackbox.analyse.progress import Pace, pace_of
from dask_blackbox.analyse.retry_advice import UNKNOWN as OF_UNKNOWN
from dask_blackbox.analyse.retry_advice import Advice, advice_on_text
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.run_state import seconds_of
from dask_blackbox.analyse.side_effects import submits_after
from dask_blackbox.analyse.symptoms import number_of_failures
from dask_blackbox.dialect import PLAIN
from dask_blackbox.events import (
    ClientRemoved,
    ClusterRestarted,
    CommandNotStarted,
    DriverCallFailed,
    DriverForked,
    GraphUpdated,
    PartFailed,
    Span,
    WorkerInternalError,
    WorkerRemoved,
)
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice, Subject
from dask_blackbox.formatting import (
    as_code,
    capital,
    class_of,
    code_line,
    counted,
    duration,
    listed,
    need_of_time,
    quoted,
    quoted_key,
    short,
    short_with_paths,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.run_tables import FINISHED, RunTables

# driver-exception

_ERROR, _NOT_FOUND = 40, 127

_CONFIGURATION = "dask_blackbox.errors.ConfigurationError"
"""What this package and its hosts' raise of arguments and settings that cannot work."""

_RESULT = "dask_blackbox.errors.UnstorableResultError"
"""What its hosts' raise of a result, after the job's work."""

_MISTAKES = frozenset((
    "AttributeError", "IndexError", "NameError", "NotImplementedError", "TypeError",
    "UnboundLocalError", "ZeroDivisionError",
))  # fmt: skip
"""What Python raises of code that is wrong; by hand, it means the same."""


_SPAWN = (
    "If that process uses the client, create a client in it (`Client(address)`), or "
    "start it with `multiprocessing.get_context('spawn')`; otherwise find what it "
    "waited for."
)


@documented("driver-exception")
def DRIVER_EXCEPTION(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    if case.exception is not None:
        if _CONFIGURATION in (case.exception.exception, *case.exception.bases):
            yield _configuration_finding(case, case.exception)
        elif (thread := thread_that_was_missed(case, case.exception)) is not None:
            yield _thread_finding(case, case.exception, thread)
        elif not case.raised("KilledWorker"):
            yield _exception_finding(case, case.exception)
        return
    ending = case.run.ending
    for fact in case.run.of(CommandNotStarted):
        yield _command_not_started_finding(fact)
        return
    if (blocked := thread_that_blocked_the_driver(case)) is not None:
        yield _blocked_finding(blocked[1])
        return
    if case.state != "failed" or case.killed_in_a_shell:
        return
    if ending is not None and ending.exit_code is not None:
        yield _exit_code_finding(case, ending.exit_code)


def _configuration_finding(case: Case, exception: DriverException) -> Finding:
    message = " ".join(exception.message.split())
    begun = "" if case.run.of(GraphUpdated) else " No Dask work had begun."
    return DRIVER_EXCEPTION.found(
        f"Configuration error: {short(message, 100)}",
        cause=(
            "The run was started with an invalid argument or setting: "
            f"{_sentence(short(message, 400))}{begun}"
        ),
        remedy=(
            "Correct it in the definition of the run. The job's own code is not the "
            "cause, and a retry fails in the same way."
        ),
        confidence="high",
        evidence=_evidence(case, exception),
        retry_advice="code",
        retry_confidence="high",
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def _exception_finding(case: Case, exception: DriverException) -> Finding:
    name, message = _named(exception)
    waited = name.endswith("TimeoutError") or name == "Timeout"
    trace = exception.traceback
    pace = _pace_then(case, exception, waited=waited)
    doubts = _caveats(case, exception, waited=waited)
    doubt = waited or case.unhandled_failures or case.deaths or doubts
    advice, certainty = _advice_here(case, exception, waited=waited)
    wait = _wait_until_then(case, exception)
    forked = _fork_before(case, wait)
    place = _place_of(case, exception)
    remedy = place.remedy or _SPAWN
    if forked is None and not place.remedy:
        remedy = _remedy(
            case.run,
            exception,
            name,
            advice,
            waited=waited and not raised_outside_dask(trace),
            pace=pace,
            hosts=case.dialect.remedy(exception.message),
            released=_has_released(case),
        )
    summary = short_with_paths(message, 80) or _line_of(exception)
    found = DRIVER_EXCEPTION.found(
        f"{name} in {place.who}: {summary}".rstrip(": "),
        cause=". ".join(
            [
                *_raised_text(exception, name, message),
                place.then,
                *_progress_text(case, pace, waited=waited),
                *_waited_text(wait, forked),
                *doubts,
            ]
        )
        + ".",
        remedy=remedy,
        confidence="low" if not place.known else "medium" if doubt else "high",
        evidence=_evidence(case, exception),
        retry_advice=advice,
        retry_confidence=certainty,
    )
    return msgspec.structs.replace(found, rule=place.rule, subject=place.subject)


class _Place(NamedTuple):
    """In which part of a run an exception was raised.

    Attributes:
        then: What was known of its tasks by then, a sentence without a full stop.
        known: Whether it is known that no task of a cluster raised it.
        who: What raised it, as far as is known.
        rule: The rule whose finding it is.
        subject: Which task it was, if that is known.
        remedy: What to do, where the exception's own line is no help.
    """

    then: str
    known: bool = True
    who: str = "the driver"
    rule: str = "driver-exception"
    subject: Subject = Subject()
    remedy: str = ""


def _place_of(case: Case, exception: DriverException) -> _Place:
    local = not case.recorded_cluster and came_from_a_local_task(exception.traceback)
    returned = _RESULT in exception.bases
    ending = case.run.ending
    on_ray = failure_on_ray(None if ending is None else ending.exception)
    if on_ray is not None:
        return _place_on_ray(on_ray)
    if local:
        then = _RETURNED if returned else _RAN_LOCALLY
        return _Place(then, who=_LOCAL_TASK, rule="task-exception")
    if returned:
        return _Place(_RETURNED)
    if not case.recorded_cluster and raised_outside_dask(exception.traceback):
        return _Place(_WITHOUT_DASK)
    return _Place(_tasks_then(case), known=case.recorded_cluster)


def _place_on_ray(failure: RayFailure) -> _Place:
    if failure.by_ray:
        return _Place(
            _LOST_BY_RAY, known=False, who=_RAYS_TASK, remedy=_READ_LOGS_OF_RAY
        )
    key = (
        f"It was task {quoted_key(failure.key, 80)}" if failure.key else "It was a task"
    )
    return _Place(
        f"{key} of Dask on Ray",
        who=_RAYS_TASK,
        rule="task-exception",
        subject=Subject(key=failure.key or None),
    )


def _advice_here(case: Case, exception: DriverException, *, waited: bool) -> Advice:
    """Return whether a retry would help, by the exception and by what its host knows of it."""
    if _has_released(case) and _checked(exception):
        return Advice("code", "medium")  # nothing will hold the futures next time
    found = _advice(exception, waited=waited)
    hosts = case.dialect.remedy(exception.message)
    # Its host knows what it is: no service that is down.
    return OF_UNKNOWN if hosts and found.advice == "transient" else found


def _has_released(case: Case) -> bool:
    """Return whether the driver released futures, and no task failed."""
    return not case.failures and bool(_released(case))


def _fork_before(case: Case, wait: DriverPosition | None) -> DriverForked | None:
    """Return the fork of a driver that waited for the process it had forked."""
    if wait is None or not wait.in_multiprocessing:
        return None
    return next(iter(case.run.of(DriverForked)[-1:]), None)


def _line_of(exception: DriverException) -> str:
    """Return the user's line that raised, for an exception without a message."""
    frame = user_frame(exception.traceback)
    if frame is None or not frame.code or frame.code.startswith("raise"):
        return ""
    return f"{as_code(short(frame.code, 60))}{code_line(frame, ' at ', name_only=True)}"


def _raised_text(exception: DriverException, name: str, message: str) -> Iterator[str]:
    """Yield what the driver raised, where, and what that began with."""
    raised = f"The driver raised {name}: {short(message, 300)}".rstrip(": ")
    if exception.file:
        raised += f", at {code_line(exception)} in {exception.function}"
    yield raised
    root = root_of_chain(exception.traceback)
    if root and class_of(root[0]) != name:
        text = f"{class_of(root[0])}: {short(root[1], 200)}".rstrip(": .")
        yield f"Original exception: {text}"


def _wait_until_then(case: Case, exception: DriverException) -> DriverPosition | None:
    """Return where the driver had waited until its own code raised, at another line."""
    decided = case.outcome.decided_at
    if decided is None or not raised_on_purpose(exception.traceback):
        return None
    wait = wait_before(case.run, decided)
    frame = None if wait is None else wait.own_frame
    if frame is None or (frame.file, frame.line) == (exception.file, exception.line):
        return None
    # Another process of the command may have been blocked meanwhile.
    return wait if f'File "{frame.file}"' in exception.traceback else None


def _waited_text(
    wait: DriverPosition | None, forked: DriverForked | None
) -> Iterator[str]:
    if wait is None:
        return
    place = f"{wait.own_frame}{code_of(wait.own_frame)}"
    waiting = " waiting for a process that it had started" if wait.for_a_process else ""
    yield f"Until then, it had been{waiting} at {place} for {duration(wait.lasted)}"
    if forked is not None:
        yield (
            f"The driver had forked a process at {code_line(forked)} while it had a "
            "Dask client. A client does not work in a forked process: its calls never "
            "return there"
        )


def _pace_then(case: Case, exception: DriverException, *, waited: bool) -> Pace | None:
    """Return the progress of the work that the driver gave up waiting for."""
    trace = exception.traceback
    # The driver's own clock, or a signal's handler, may raise anything in a wait.
    in_a_wait = case.outcome.call is not None and raised_on_purpose(trace)
    in_a_wait = in_a_wait and not case.unhandled_failures
    asked = in_a_wait or (waited and not raised_by_a_library(trace))
    return pace_of(case) if asked else None


def _progress_text(case: Case, pace: Pace | None, *, waited: bool) -> Iterator[str]:
    if waited and (stall := case.stall()) is not None:
        yield stall.rstrip(".")
    if pace is not None:
        yield pace.sentence


def _caveats(case: Case, exception: DriverException, *, waited: bool) -> list[str]:
    """Return what may have led to an exception, or why it shows little of its cause."""
    found = []
    logged = next(_logged_errors(case), None)
    if logged is not None and logged.raised and not waited:
        found.append(
            "An earlier exception had only been logged, and this failure may be its "
            f"consequence: {logged.raised}"
        )
    thread = ended_thread(case, exception)
    if thread is not None:
        found.append(
            f"Earlier, {thread.place} of the driver had ended with "
            f"{short(thread.text, 200)}"
        )
    if _is_a_check_of_results(case, exception):
        found.append(
            "This is a check in the job's own code: it reports what is wrong, not why"
        )
    return found


def _is_a_check_of_results(case: Case, exception: DriverException) -> bool:
    """Return whether the driver's own code raised this once tasks had finished.

    Such a line reports what is wrong, and not what made it wrong.
    """
    if class_of(exception.exception) in _MISTAKES:
        return False
    return (
        raised_by_a_check(exception.traceback)
        and case.outcome.call is None
        and case.outcome.source != "test"
        and "finished" in case.run.tasks["outcome"]
    )


def _how_printed(thread: PrintedFailure) -> str:
    if thread.task is not None:
        return (
            "Nothing awaited it, so Python printed the exception only when the task "
            "was freed"
        )
    return f"{'Dask' if thread.callback else 'Python'} only prints such an exception"


def _thread_finding(
    case: Case, exception: DriverException, thread: PrintedFailure
) -> Finding:
    frame = user_frame(thread.traceback)
    at, where = at_frame(frame), code_line(exception, " at ")
    look = code_line(frame) or "the traceback of that thread"
    name, message = _named(exception)
    advice, certainty = advice_on_text(
        thread.exception, thread.message, (), thread.traceback
    )
    printed = case.output_evidence(thread)
    if thread.task:
        # When Python prints that of an asyncio task is not when it happened.
        printed = msgspec.structs.replace(printed, at=None)
    return DRIVER_EXCEPTION.found(
        f"{thread.exception} in {thread.place} of the driver: "
        f"{short_with_paths(thread.message, 80)}",
        cause=(
            f"{capital(thread.place)} of the driver ended with {short(thread.text, 300)}"
            f"{at}. {_how_printed(thread)}; the driver continued, and then raised "
            f"{f'{name}: {short(message, 200)}'.rstrip(': ')}{where}."
        ),
        remedy=(
            f"Look at {look}. Store the exception and raise it again where the driver "
            "waits (`concurrent.futures` does this for threads)."
        ),
        confidence="medium",
        evidence=(printed, *_evidence(case, exception)),
        retry_advice=advice,
        retry_confidence=certainty,
    )


def _blocked_finding(position: DriverPosition) -> Finding:
    own = position.own_frame
    where = f" at {own}{code_of(own, 60)}" if own else ""
    return DRIVER_EXCEPTION.found(
        f"The driver was blocked{position.blocked_for}"
        f"{code_line(own, ' at ', name_only=True)}",
        cause=f"The driver waited{position.blocked_for}{where} until it was stopped, in no "
        "call to Dask.",
        remedy="Add a timeout to that wait, so that it raises.",
        confidence="medium",
        evidence=(evidence_of_position(position),),
    )


def _named(exception: DriverException) -> tuple[str, str]:
    """Return class and message; of what Dask dispatched to a backend, the original one."""
    name, message, _ = untangled(exception.exception, exception.message)
    _, _, original = message.partition("Original Message: ")
    message = plain_message(exception, original or message)
    return name, driver_exception_text(exception, message)


_RAN_LOCALLY = (
    "Dask ran the tasks in threads or processes of the driver, without a cluster, so none of "
    "them is recorded"
)

_RAYS_TASK = "a task of Dask on Ray"

_LOST_BY_RAY = (
    "Ray itself reports this of a task of Dask, and not the task's own code; what happened to "
    "Ray's worker is unknown, because Ray's own logs are not recorded"
)

_READ_LOGS_OF_RAY = (
    "Read the ends of Ray's own logs on the node (`/tmp/ray/session_latest/logs`: `raylet.out`, "
    "`python-core-worker-*.log`): they say how the worker ended, for memory or otherwise."
)

_UNRECORDED = "No cluster was recorded: the error may have come from a task"

_WITHOUT_DASK = "No cluster was recorded, and no call to Dask had a part in the error"

_LOCAL_TASK = "a task of Dask's local scheduler"

_RETURNED = "The job's function had returned by then"


def _tasks_then(case: Case) -> str:
    if not case.recorded_cluster:
        return _UNRECORDED
    if not case.run.of(GraphUpdated) and not len(case.run.tasks):
        return "No graph had reached a scheduler yet"
    if failures := case.unhandled_failures:
        return (
            f"{counted(len(failures), 'task')} had failed before"
            f"{', the last of them ' if len(failures) > 1 else ': '}"
            f"{quoted_key(failures[-1].key, 60)} with {short(str(failures[-1]), 120)}"
        )
    if case.failures:
        return "The driver had handled the errors of all failed tasks"
    if released := _released(case):
        return released
    # Hosts have tasks of their own, one of which may have failed.
    kind = "task" if case.dialect is PLAIN else "Dask task"
    return f"No {kind} had failed{_ran_again(case)}"


def _handled_evidence(case: Case) -> Iterator[Evidence]:
    """Yield what a driver had handled that no failed task ended, by class."""
    kinds = Counter((f.raised.name, f.prefix) for f in case.failures).most_common()
    named = [f"{n:,} with {name} in '{of}'" for (name, of), n in kinds if name]
    if named and not case.unhandled_failures:
        yield Evidence(
            text=f"The driver had handled the errors of these tasks: {listed(named)}.",
            source="errors",
        )


def _ran_again(case: Case) -> str:
    """Return that tasks were executed twice, as workers left with their results.

    What such tasks append to a file or insert into a table is there twice.
    """
    lost = sum(each.lost_computed or 0 for each in case.run.of(WorkerRemoved))
    tasks = case.run.tasks
    again = (
        tasks.filter(FINISHED)
        .group_by("key", "prefix", maintain_order=True)
        .len()
        .filter(pl.col("len") > 1)
    )
    if not lost or not len(again):
        return ""
    return (
        f", but {counted(len(again), 'task')} ({quoted(sorted(set(again['prefix'])))}) "
        "ran twice, because workers that held results left or were restarted: data "
        "that such a task appends to a file or inserts into a table is there twice"
    )


def _released(case: Case) -> str:
    """Return a sentence on tasks that were forgotten before they finished, while the client was there.

    Dask does so once there is no future of a task or of its dependents; a
    restart releases all tasks, even with futures.
    """
    if case.run.of(ClusterRestarted):
        return ""
    left = [each.at for each in case.run.of(ClientRemoved)]
    last = {
        each.subject: each
        for each in case.run.of(Span)
        if each.at <= min(left, default=each.at)
    }
    states = sum((Counter(each.states) for each in last.values()), Counter[str]())
    sent = Counter[str]()
    for graph in case.run.of(GraphUpdated):
        sent.update({prefix: new.tasks for prefix, new in graph.new.items()})
    known = case.run.tasks
    # By execution: a key that is submitted again is forgotten again.
    ran = known.filter(FINISHED)
    if states.total() == states["forgotten"]:
        never, names = states["forgotten"] - len(ran), list(sent)
    else:  # the results of others are still there
        executed = Counter(ran["prefix"].to_list())
        rest = {p: n - executed[p] for p, n in sent.items() if n > executed[p]}
        never, names = sum(rest.values()), list(rest)
        kept = states["forgotten"] + states["memory"]
        all_kept = kept == states.total() == sent.total()
        if not all_kept or never > states["forgotten"]:
            return ""
    if never <= 0:
        return ""
    return (
        f"{never} of {counted(states.total(), 'task')} ({quoted(names)}) were released "
        "before they had finished because no client needed them any more; no task had "
        "failed"
    )


_NO_PATH = ", and check that the path exists where the driver runs."
_TOO_LARGE = (
    ". The driver itself needed that much memory at once: reduce the data on the "
    "workers, process it in pieces, use a smaller or a sparse type, or give the "
    "driver's host or container more memory."
)
_MISSING = {
    "ModuleNotFoundError": ". Install the module in the environment of the Python that runs "
    "the command, or run the command with the Python that has it.",
    "FileNotFoundError": _NO_PATH,
    "NotADirectoryError": _NO_PATH,
    "MemoryError": _TOO_LARGE,
    "_ArrayMemoryError": _TOO_LARGE,
}
"""What to do in the driver about what it lacks, by the exception's class."""


def _remedy(
    run: RunTables,
    exception: DriverException,
    name: str,
    advice: RetryAdvice,
    *,
    waited: bool,
    pace: Pace | None,
    hosts: str | None,
    released: bool,
) -> str:
    look = f"Look at {code_line(exception) or 'its traceback'}"
    if to_do := _asked_of_function(exception):
        return to_do
    fix = _fix(run, exception)
    # An exception that is explained has not come of tasks that was no longer needed.
    if released and not fix:
        return (
            f"{look}, and keep the futures that `submit` and `map` return until their "
            "tasks are done, or pass them to `fire_and_forget`. Dask cancels tasks "
            "whose futures nobody holds."
        )
    if pace is not None:
        return (
            f"{look}: the timeout was too short for {counted(pace.sent, 'task')}. "
            f"Raise it by {need_of_time(1.5 * pace.rest)} or more, add workers, or "
            "compute less at a time."
        )
    if waited:
        return (
            f"{look}: the driver waited for something that did not arrive in time. "
            "Check what the workers were doing; raise the timeout only if they were "
            "making progress."
        )
    hint = hosts or fix or hint_on(exception.message) or advice_in(exception.message)
    if hint:
        return f"{look}. {hint}"
    more = "."
    if name in _MISSING:
        more = _MISSING[name]
    elif _checked(exception):
        more = (
            ": the job's own code raises this, so whether a retry helps depends on its "
            "input."
        )
    elif advice == "transient":
        more = (
            ", and at the service that it calls, which may have been unavailable "
            "for a moment."
        )
    return look + more


def _fix(run: RunTables, exception: DriverException) -> str:
    """Return what to do about what an exception means; empty if that is not known."""
    known = explained_exception(exception)
    if known is None:
        return ""
    if known.missing_file:
        return remedy_for_missing_file(run, known.missing_file, subject="driver")
    return known.fix or ""


def _asked_of_function(exception: DriverException) -> str | None:
    """Return what an integration requires of the user's function.

    "work returned something lazy, a Delayed: call .compute(), as …".
    """
    name = (exception.function or "").rpartition(".")[2]
    if not (_is_of_integration(exception) and name and exception.file):
        return None
    subject, _, to_do = exception.message.partition(": ")
    if not (to_do and subject.startswith(f"{name} ")):
        return None
    return f"In `{name}` ({code_line(exception)}), {to_do.rstrip('.')}."


def _is_of_integration(exception: DriverException) -> bool:
    return exception.exception.partition(".")[0].endswith("_dask_blackbox")


def _advice(exception: DriverException, *, waited: bool) -> Advice:
    if waited:
        return OF_UNKNOWN
    reported = advice_on_text(
        exception.exception, exception.message, exception.bases, exception.traceback
    )
    # What the job's own code checks may be otherwise the next time.
    own = reported.advice in ("code", "data") and _checked(exception)
    return OF_UNKNOWN if own else reported


def _checked(exception: DriverException) -> bool:
    """Return whether the job's own code raised it, of what it had found."""
    if class_of(exception.exception) in _MISTAKES:
        return False
    if _is_of_integration(exception):
        return False  # an integration raised it, of how it was called
    return raised_on_purpose(exception.traceback)


def _evidence(case: Case, exception: DriverException) -> tuple[Evidence, ...]:
    tail = end_of(exception.traceback)
    more = (Evidence(text=tail[:1500], source="driver"),) if tail else ()
    return (
        *case.exception_evidence(),
        *more,
        *_handled_evidence(case),
        *_logged_before(case),
    )


class _Logged(NamedTuple):
    """An error that the driver's process had logged.

    Attributes:
        text: Its first line, and what was raised.
        raised: Class and message of the exception that was logged; empty: there was none.
        at: When, in epoch seconds.
        role: Whose log it is in.
    """

    text: str
    raised: str
    at: float
    role: str


def _logged_before(case: Case) -> Iterator[Evidence]:
    """Yield the last error that the driver itself had logged: of a callback, perhaps."""
    for each in _logged_errors(case):
        yield Evidence(
            text=f"The driver had logged: {each.text}",
            source="logs",
            at=each.at,
            see=case.show_command("logs", "--role", each.role),
        )


def _logged_errors(case: Case) -> Iterator[_Logged]:
    """Yield the last error in the driver's log, if there is one."""
    # With a `LocalCluster`, the scheduler and the driver's client share one process.
    own = (pl.col("role") == "driver") | (
        (pl.col("role") == "scheduler") & (pl.col("logger") == "distributed.client")
    )
    errors = case.run.logs.filter(own & (pl.col("level") >= _ERROR))
    if len(errors):
        errors = errors.filter(~pl.col("message").str.contains_any(list(NOISE)))
    for row in errors.sort("at").tail(1).iter_rows(named=True):
        message = row["message"]
        end = raised_at_end(message)
        if end is not None and _is_of_the_end(case, *end):
            continue  # its host has logged what it raised then, and nothing came before
        text = short(message.partition("\n")[0], 200)
        raised = ""
        if end is not None and "\n" in message:
            raised = f"{class_of(end[0])}: {short(end[1], 200)}"
            text += f" … {raised}"
        yield _Logged(text, raised, row["at"].timestamp(), row["role"])


def _is_of_the_end(case: Case, name: str, message: str) -> bool:
    """Return whether an error that was logged is the one that ended the driver."""
    exception = case.exception
    if exception is None or class_of(name) != class_of(exception.exception):
        return False
    logged, raised = " ".join(message.split()), " ".join(exception.message.split())
    return logged == raised or bool(logged and raised.startswith(logged))


def _exit_code_finding(case: Case, code: int) -> Finding:
    place = code_line(case.outcome.exit)
    what = what_ran(case)
    last = last_output(case.run)
    recorded = f" (`{case.show_command('logs')}`)" if last else ""
    handled = _last_handled(case)
    counts = _counts_errors(case, code, last)
    because = _exit_because(case, last, handled, counts=counts)
    title, advice, failed = _exit_title(case), OF_UNKNOWN, None
    if handled is not None and because:
        failed = _failed_task(case, handled)
        title = f"The {what} exited with code {code} after {_in_task(case, handled)}"
        advice = advice_on_text(handled.exception, handled.message)
    elif (
        handled is not None
        and not counts
        and handled not in case.outcome.missed
        and _received_nothing(case, handled)
    ):
        called = title.removesuffix(", without an exception")
        title = f"{called} after {_in_task(case, handled)}"
    found = DRIVER_EXCEPTION.found(
        title,
        cause=_exit_cause(case, code, because or _tasks_then(case), last),
        remedy=(
            f"Look at {f'{place}, and at ' if place else ''}the last lines that the "
            f"{what} printed{recorded}. If it raises an exception instead, the card shows "
            "its traceback."
            if code
            else "Return instead of calling `sys.exit(0)`: the host counts a function "
            "that exits as failed, whatever its exit code."
        ),
        confidence="medium" if place or because or counts else "low",
        retry_advice=advice.advice,
        retry_confidence=advice.confidence,
        evidence=(
            Evidence(
                text=f"Exit code {code}.", source="driver", at=case.outcome.decided_at
            ),
            *_handled_before(handled),
            *_handled_evidence(case),
        ),
    )
    if failed is None:
        return found
    # What the job prints as it exits is why it exits, as if it had raised it again.
    return msgspec.structs.replace(found, rule="task-exception", subject=failed.subject)


def _last_handled(case: Case) -> DriverCallFailed | None:
    """Return the last error that the driver received and survived, if there is one."""
    survived = case.outcome.survived
    # What depends on a failed task is cancelled, which says nothing of why.
    reasons = [
        each
        for each in survived
        if not class_of(each.exception).endswith("CancelledError")
    ]
    reasons = [each for each in reasons if each not in case.outcome.unrelated]
    survived = tuple(e for e in survived if e not in case.outcome.unrelated)
    missed = [each for each in reasons if each in case.outcome.missed]
    return next(iter((missed or reasons or survived)[-1:]), None)


def _exit_because(
    case: Case, last: str | None, handled: DriverCallFailed | None, *, counts: bool
) -> str | None:
    """Return what shows that the driver exited because of the error that it had received."""
    if handled is None:
        return None
    if _is_of(last, handled):
        return "Its last output was an error that it had received"
    # A job that counts its failures as it exits does so because of them.  If it counted those
    # of its tasks, the verdict begins with them (`with_first_cause`).
    of_tasks = number_of_failures(last or "") == len(case.failures)
    if counts and not of_tasks:
        return "It had reported as many failures as it had received errors"
    return None


def _received_nothing(case: Case, handled: DriverCallFailed) -> bool:
    """Return whether an error was all that the driver received of the last it submitted.

    `compute` calls `Client.gather`, too.  Who asks for results one by one may do without some.
    """
    return handled.call == "Client.gather" and not submits_after(case, handled.at)


def _exit_title(case: Case) -> str:
    text = capital(exit_text(case))
    return text if code_line(case.outcome.exit) else f"{text}, without an exception"


def _exit_cause(case: Case, code: int, then: str, last: str | None) -> str:
    took = "" if case.run.ending is None else f" after {duration(seconds_of(case.run))}"
    exit_call = case.outcome.exit
    place = code_line(exit_call)
    how = (
        f"its own code called `sys.exit({code})` or raised `SystemExit({code})`, or "
        "it failed before the recorder was attached"
    )
    if place and exit_call is not None:
        how = f"{place} called `{exit_call.call}({code})`"
    output = short(without_log_prefix(last or ""), 200)
    printed = f" Its last output: “{output}”." if output else ""
    return (
        f"The driver ended with exit code {code}{took} without an exception: "
        f"{how}. {then}.{printed}"
    )


def _counts_errors(case: Case, code: int, last: str | None) -> bool:
    """Return whether the exit code, or the last output, is the number of errors received."""
    handled = {each.key or each.identity for each in case.outcome.survived}
    numbers = {len(handled), len(case.failures)} - {0}
    return (code > 1 and code in numbers) or number_of_failures(last or "") in numbers


def _is_of(line: str | None, handled: DriverCallFailed) -> bool:
    """Return whether a line that was printed is an exception that the driver had received."""
    message, printed = (" ".join(t.split()) for t in (handled.message, line or ""))
    raised = f"{class_of(handled.exception)}: {message}"
    return bool(message) and printed.endswith(raised)


def _failed_task(case: Case, handled: DriverCallFailed) -> TaskFailure | None:
    """Return the task whose exception a call to Dask raised in the driver, or None."""
    raised = (handled.exception, handled.message)
    return next(
        (each for each in case.failures if (each.exception, each.message) == raised),
        None,
    )


def _in_task(case: Case, handled: DriverCallFailed) -> str:
    """Return an exception and the prefix of its task, for a headline."""
    failure = _failed_task(case, handled)
    if failure is not None:  # the key that the driver asked for may be another one
        prefix, message = failure.called, failure_text(case.run, failure)
    else:
        prefix, message = case.prefix_of(handled.key or ""), handled.message
    task = f" in '{short(prefix, 40)}'" if prefix else ""
    text = f"{class_of(handled.exception)}{task}: {short_with_paths(message, 80)}"
    return text.rstrip(": ")


def _handled_before(handled: DriverCallFailed | None) -> Iterator[Evidence]:
    if handled is not None:
        raised = f"{class_of(handled.exception)}: {short(handled.message, 120)}"
        of = f" (of {quoted_key(handled.key, 60)})" if handled.key else ""
        text = f"Earlier, the driver had received and handled {raised.rstrip(': ')}{of}"
        yield Evidence(text=text, source="driver", at=handled.at)


def _command_not_started_finding(fact: CommandNotStarted) -> Finding:
    """Return that the command could not be started at all."""
    name = next(iter(fact.argv), "")
    what = f"could not be started: {fact.error}"
    remedy = "Check that the file is a program, and that this user may execute it."
    if fact.exit_code == _NOT_FOUND:
        what = "was not found"
        remedy = (
            "Check how the command is spelled, and that the program is on the PATH of this "
            "environment."
        )
    if name.endswith(".py"):
        remedy = (
            f"If that is a script of Python, begin the command with `python {name}`."
        )
    return DRIVER_EXCEPTION.found(
        f"The command {short(repr(name), 80)} {what}",
        cause=f"`dask blackbox run` could not start {name!r}: {fact.error}.",
        remedy=remedy,
        confidence="high",
        retry_advice="environment",
        evidence=(Evidence(text=f"{name}: {fact.error}", source="driver", at=fact.at),),
    )


@documented("part-failed")
def PART_FAILED(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    for part in case.run.of(PartFailed)[-1:]:
        what = f"{part.what or 'part'} '{short(part.name, 60)}'"
        yield PART_FAILED.found(
            f"{capital(what)} failed: {short(part.title, 160)}",
            cause=(
                f"This run ended with the exception of its {what}, which has a "
                f"recording of its own. {part.cause}"
            ),
            remedy=part.remedy,
            confidence=_one_of(part.confidence, Confidence, "low"),
            retry_advice=_one_of(part.retry_advice, RetryAdvice, "unknown"),
            retry_confidence=_one_of(part.retry_confidence, Confidence, "low"),
            evidence=(
                Evidence(
                    text=f"Verdict of the {what}: {part.title} ({part.rule})",
                    source="driver",
                    at=part.at,
                    see=part.url or None,
                ),
                *case.exception_evidence(),
            ),
        )


def _one_of(word: str, words: object, otherwise: object) -> Any:
    return word if word in get_args(words) else otherwise


@documented("unknown")
def UNKNOWN(case: Case) -> Iterator[Finding]:
    if not case.failed:
        return
    known, wanted = _known_facts(case), _missing_data_text(case)
    blame = case.blame
    what = "The run failed, and the recording does not say why"
    if blame.deaths or case.raised("KilledWorker"):
        times = f" {len(blame.deaths)} times" if len(blame.deaths) > 1 else ""
        what = f"Workers died{times}, cause unknown"
    yield UNKNOWN.found(
        what,
        cause=" ".join([*known, wanted]),
        remedy=(
            "Check the host's records of that time (its log of the task, the events of "
            "pods and nodes). "
            + (
                "Run workers with a nanny, so that their exit codes are recorded."
                if blame.deaths
                else "If it fails again, compare the two recordings."
            )
        ),
        confidence="low",
        subject=case.subject(blame.guilty),
        evidence=(
            *case.exception_evidence(),
            *(evidence_of(case, blame.deaths) if blame.deaths else ()),
            *_last_errors(case),
        ),
    )


def _known_facts(case: Case) -> list[str]:
    sentences = [f"The run ended as {case.state}."]
    if case.exception is not None:
        name, message = class_of(case.exception.exception), case.exception.message
        raised = f"The driver raised {name}: {short(message, 240)}".rstrip(": .")
        sentences.append(f"{raised}.")
    if case.deaths:
        last = case.deaths[-1]
        sentences.append(
            f"{counted(len(case.deaths), 'worker')} died. Cause of the last death: "
            f"{case.cause_of(last).because}."
        )
    sentences.extend(_inside_dask(case))
    return sentences


def _inside_dask(case: Case) -> Iterator[str]:
    """Yield that Dask's own code failed in a worker, which it logs before it gives up."""
    for last in case.run.of(WorkerInternalError)[-1:]:
        message = last.message
        text = message.get("exception_text") if isinstance(message, dict) else message
        yield (
            f"Dask's own code failed in {case.name_of(last.subject)}, and the worker "
            f"closed: {short(str(text), 240)}."
        )


def _missing_data_text(case: Case) -> str:
    wanted = []
    if case.run.ending is None:
        wanted.append("how the run ended (the recording is truncated)")
    elif case.exception is None:
        wanted.append("the driver's exception")
    uncertified = sum(
        death.exit_code is None and not death.closing for death in case.deaths
    )
    if uncertified:
        wanted.append(f"the exit codes of {counted(uncertified, 'worker')}")
    if case.raised("KilledWorker") and not case.deaths:
        wanted.append("the worker deaths that Dask reported")
    if not len(case.run.logs):
        wanted.append("log lines")
    for source, sentences in missing_from(case.run).items():
        wanted.extend(f"{sentence} ({source})" for sentence in sentences[:2])
    if not wanted:
        return "Everything that dask-blackbox can record was recorded."
    return f"Not recorded: {'; '.join(wanted)}."


def _last_errors(case: Case) -> Iterator[Evidence]:
    errors = case.run.logs.filter(case.run.logs["level"] >= _ERROR).tail(3)
    for row in errors.iter_rows(named=True):
        yield case.line_evidence(row, "--level", "ERROR")
