"""What had gone wrong with workers, programs and processes, and what the driver's code had done."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import (
    MOST,
    SHOWN,
    Earlier,
    Program,
    ended_with,
    handled_failure,
    joined_at,
)
from dask_blackbox.analyse.causes.kinds import RAISED
from dask_blackbox.analyse.driver_output import PrintedFailure, printed_failures
from dask_blackbox.analyse.exception_context import (
    setup_failed_before,
    thread_that_blocked_the_driver,
)
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import (
    raised_at_end,
    raised_by_a_check,
    user_frame,
)
from dask_blackbox.analyse.retry_advice import Advice, advice_on_text
from dask_blackbox.analyse.side_effects import (
    cancel_of_driver,
    death_timeout_of,
    failed_programs,
    is_related,
    program_exit_text,
    reused_keys_of,
)
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    CANCELLED_BY_DASK,
    CLIENT_CANCELS,
    CONNECT_TIMED_OUT,
    FUNCTION_RUN_FAILED,
    SCHEDULER_CANCELS,
    WORK_CANCELLED,
)
from dask_blackbox.analyse.symptoms import is_leftover, lacks_something
from dask_blackbox.analyse.wording import words_of_lines, words_of_processes
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.events import (
    CallsMerged,
    ClusterRestarted,
    DriverAttached,
    DriverRaised,
    ProgramFailed,
    WorkerRemoved,
)
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import (
    class_of,
    code_line,
    quoted,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED

_OF_A_COMMAND = bounded(r"/(?:dask/cli|distributed/cli/\w+)\.py")


_WORKERS_COMMAND = bounded(r"\bdask[ -](?:worker|spec)\b")

_LOST = CANCELLED_BY_DASK - {"scheduler-connection-lost"}


def failed_setups(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what had failed to set up on the worker whose task lacked something."""
    failure = case.blame.failure
    unset = None if failure is None else setup_failed_before(case, failure)
    if unset is not None and ended_with(case, lacks_something):
        yield Earlier(
            at=unset.evidence.at or 0.0,
            words=Words(text=unset.sentence, headline=unset.title),
            message=unset.title,
            source="logs",
            grade="given",
            rule="worker-start-failed",
        )


def ended_threads(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the end of the thread for which the driver then waited in vain, in no call to Dask."""
    blocked = thread_that_blocked_the_driver(case)
    if blocked is None or case.exception is not None:
        return
    thread, _ = blocked
    printed = case.output_evidence(thread)
    yield Earlier(
        at=thread.at,
        words=words_of_processes.of_ended_thread(verdict, thread, printed.text),
        message=thread.message,
        source=printed.source,
        see=printed.see,
        grade="given",
        advice=advice_on_text(thread.exception, thread.message, (), thread.traceback),
    )


def reused_keys(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the first key that was given to two tasks, where the failure is about its result."""
    reused = sorted(reused_keys_of(case.run), key=lambda each: each.at)
    if (failure := case.blame.failure) is not None:
        tasks = case.run.tasks.filter(pl.col("key") == failure.key)
        used = {failure.key, *tasks["last_input"].drop_nulls()}
        reused = [each for each in reused if each.key in used]
    if not reused:
        return
    keys = list(dict.fromkeys(each.key for each in reused))
    yield Earlier(
        at=reused[0].at,
        words=words_of_processes.of_reused_key(keys, reused[0]),
        message=f"key-reused {keys[0]}",
        source="driver",
        advice=Advice("code", "high"),
        line=code_line(reused[0]),
        grade="probable",
    )


def merged_calls(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield equal calls of a function that draws random numbers, before the job checked results."""
    exception = case.exception
    if exception is None or not raised_by_a_check(exception.traceback):
        return
    last = {each.task: each for each in case.run.of(CallsMerged)}
    for each in last.values():
        yield Earlier(
            at=each.at,
            words=words_of_processes.of_merged_calls(each),
            message=f"calls-merged {each.task}",
            source="driver",
            advice=Advice("code", "high"),
            line=code_line(each),
            grade="probable",
        )


def earlier_processes(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the exceptions that had ended earlier processes of the command.

    A shell, or a driver that does not look at an exit code, starts the next step all the same.
    """
    # The exit code of a program tells its parent nothing of its exception.
    ignored = set[int]()
    if verdict.rule in RAISED:
        ignored = {each.program_pid or 0 for each in case.run.of(ProgramFailed)}
    for each in _unrelated_processes(case, ignored):
        of_command = _OF_A_COMMAND.search(each.traceback or "")
        if verdict.rule == "worker-start-failed" and of_command:
            continue  # a `dask worker` that did not start: what the verdict is about
        name, message = class_of(each.exception or ""), each.message or ""
        root = _task_that_raised(case, name, message)
        yield Earlier(
            at=each.at,
            name=name,
            words=words_of_processes.of_earlier_process(
                each, root, by_driver=each.pid in ignored
            ),
            message=message,
            source="driver",
            advice=advice_on_text(each.exception or "", message, each.bases),
            line=code_line(each),
            root=root,
        )


def _task_that_raised(case: Case, name: str, message: str) -> TaskFailure | None:
    """Return the first failed task with such an exception."""
    return next(
        (
            each
            for each in case.failures
            if class_of(each.exception) == name and each.message == message
        ),
        None,
    )


def _unrelated_processes(case: Case, ignored: set[int]) -> Iterator[DriverRaised]:
    """Yield the exceptions of processes that are not those of the last one that raised.

    Args:
        ignored: Programs whose exit code says nothing of their exception.
    """
    raised = sorted(case.run.of(DriverRaised), key=lambda each: each.at)
    for each in raised[:-1]:
        last = raised[-1]
        above = last.pid in {each.pid, *each.parents} and each.pid not in ignored
        if (
            each.pid is not None
            and not above
            and each.pid not in {last.pid, *last.parents}
        ):
            yield each


def deaths_before(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the deaths of workers whose successor lacked something, or met what was begun.

    What a process had been given (`client.run`, a global of a module) ends with it; what its
    task had begun or held (a file, a lock until its lease is over) does not.
    """
    failure = case.blame.failure
    if failure is None:
        return
    lacks, meets = (ended_with(case, t) for t in (lacks_something, is_leftover))
    own = case.run.tasks.filter(
        (pl.col("prefix") == failure.prefix)
        & pl.col("worker").eq_missing(failure.worker)
        & FINISHED
    )
    joined = joined_at(case, failure.worker)
    for death in case.deaths:
        met = meets and failure.prefix in map(case.prefix_of, death.executing)
        lost = lacks and joined >= death.at and not len(own)
        # Of a task that was itself tried again, the verdict says so.
        if failure.key in death.executing or not (met or lost):
            continue
        cause = case.cause_of(death)
        yield Earlier(
            at=death.at,
            words=words_of_processes.of_death_before(case, death, met=met),
            message=f"{death.address} died {cause.died}",
            source="workers",
            root=failure,
            rule=cause.slug if cause.slug != "unknown" else "",
        )


def lost_data(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the loss of scattered data without which the driver's calls were cancelled."""
    if left := _first_loss(case):
        deaths = [e for e in case.deaths if e.address == left.subject]
        yield Earlier(
            at=left.at,
            words=words_of_processes.of_lost_data(case, left, deaths),
            message=f"lost: {quoted(left.lost_scattered, most=3)}",
            source="workers",
            rule="data-lost",
        )


def _first_loss(case: Case) -> WorkerRemoved | None:
    """Return the first departure with scattered data, if calls were cancelled for such a loss."""
    cancelled = (
        (e.at, WORK_CANCELLED.search(e.message)) for e in case.outcome.survived
    )
    called = [at for at, found in cancelled if found and found["reason"] in _LOST]
    losses = (
        each
        for each in case.run.of(WorkerRemoved)
        if each.lost_scattered and called and each.at <= max(called) + CLOCKS
    )
    return next(losses, None)


def restarts_of_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the driver's own restart of the workers, where a task then lacked something.

    Tasks like it had finished on the processes before.
    """
    failure = case.blame.failure
    if failure is None or not ended_with(case, lacks_something):
        return
    joined = joined_at(case, failure.worker)
    finished = case.run.tasks.filter((pl.col("prefix") == failure.prefix) & FINISHED)
    stops = finished["stop"].dt.epoch("us") / 1e6
    for restart in case.run.of(ClusterRestarted):
        if restart.at <= joined and (stops < restart.at).any():
            yield Earlier(
                at=restart.at,
                words=words_of_processes.of_restart(),
                message="client.restart",
                source="events",
            )


def cancellations(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield that the driver's own client had cancelled tasks, as the scheduler logs that."""
    own = {each.client for each in case.run.of(DriverAttached)}
    logs = case.run.logs.filter(pl.col("role") == "scheduler")
    keys = logs["message"].str.extract(SCHEDULER_CANCELS.pattern).drop_nulls()
    prefixes = sorted({case.prefix_of(str(key)) for key in keys.head(MOST)})
    for row in logs.filter(printed_by(CLIENT_CANCELS)).sort("at").iter_rows(named=True):
        found = CLIENT_CANCELS.match(row["message"])
        if found is None or found["client"] not in own or not prefixes:
            continue
        at = row["at"].timestamp()
        yield Earlier(
            at=at,
            words=words_of_processes.of_cancellation(
                int(found["number"]), prefixes, cancel_of_driver(case, at)
            ),
            message=row["message"],
            source="logs",
            rule="cancelled",
        )


def failed_functions(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what functions raised that the driver ran on its workers (`client.run`)."""
    logs = case.run.logs.filter(
        (pl.col("role") == "worker") & printed_by(FUNCTION_RUN_FAILED)
    )
    for row in logs.sort("at").head(SHOWN).iter_rows(named=True):
        found = FUNCTION_RUN_FAILED.search(row["message"])
        raised = raised_at_end(row["message"])
        if found is None or raised is None:
            continue
        name, message = class_of(raised[0]), raised[1]
        yield Earlier(
            at=row["at"].timestamp(),
            name=name,
            words=words_of_processes.of_failed_function(
                found["function"], name, message
            ),
            message=message,
            source="logs",
            advice=advice_on_text(raised[0], message),
            line=code_line(user_frame(row["message"])),
        )


def printed_exceptions(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what Python printed of exceptions, of driver, programs and commands."""
    of_tasks = {
        (class_of(f.exception), f.message.partition("\n")[0]): f for f in case.failures
    }
    for each in case.run.once(printed_failures):
        frame = user_frame(each.traceback)
        if each.traceback and frame is None:
            continue
        failure = of_tasks.get((each.exception, each.message))
        if failure is not None and failure is not case.blame.failure:
            had_printed = words_of_lines.had_printed(words_of_lines.DRIVER)
            yield handled_failure(failure, had_printed, each.text)
            continue
        of_worker = _ended_a_worker(case, each)
        yield Earlier(
            at=each.at,
            name=each.exception,
            words=words_of_processes.of_printed_exception(each, of_worker=of_worker),
            message=each.message,
            source="logs",
            advice=advice_on_text(each.exception, each.message),
            line=code_line(frame),
            rule="worker-start-failed" if of_worker else "",
        )


def _patience(program: ProgramFailed) -> str:
    """Return for how long a command of a worker waits for a scheduler, if it ends then."""
    given = death_timeout_of(program.command)
    return given if given and _WORKERS_COMMAND.search(program.command) else ""


def _ended_a_worker(case: Case, printed: PrintedFailure) -> bool:
    """Return whether an exception ended a command that was to start workers."""
    return _OF_A_COMMAND.search(printed.traceback) is not None and any(
        _WORKERS_COMMAND.search(each.command) for each in failed_programs(case)
    )


def programs_that_failed(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield programs whose exit codes the driver, or a task, had ignored."""
    unreached = verdict.rule == "workers-never-arrived" and any(
        CONNECT_TIMED_OUT.search(each.message)
        for each in case.run.once(printed_failures)
    )
    for each in failed_programs(case):
        of_workers = _WORKERS_COMMAND.search(each.command)
        if of_workers and (unreached or verdict.rule == "worker-start-failed"):
            continue  # that it exited is what the verdict is about
        related = is_related(each, case.blame.failure)
        yield Program(
            program=each,
            at=each.at,
            words=words_of_processes.of_program(case, each, _patience(each)),
            message=each.error or f"{each.command} {program_exit_text(each)}",
            source="driver" if each.subject == "driver" else "tasks",
            grade="possible" if related else "evidence",
        )
