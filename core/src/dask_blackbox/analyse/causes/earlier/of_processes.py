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
    remedy_of_deaths,
)
from dask_blackbox.analyse.causes.kinds import RAISED
from dask_blackbox.analyse.death_texts import how_died, name_of
from dask_blackbox.analyse.driver_output import PrintedFailure, printed_failures
from dask_blackbox.analyse.exception_context import (
    setup_failed_before,
    thread_that_blocked_the_driver,
)
from dask_blackbox.analyse.explanations import message_text, printed_error
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import raised_at_end, user_frame
from dask_blackbox.analyse.offers import several_workers
from dask_blackbox.analyse.retry_advice import Advice, advice_on_text
from dask_blackbox.analyse.side_effects import (
    UNIQUE_KEYS,
    brief_command,
    cancel_of_driver,
    code_owner,
    death_timeout_of,
    failed_programs,
    how_retired,
    is_related,
    program_exit_text,
    sentence_on_reused,
    why_cancelled,
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
from dask_blackbox.events import (
    ClusterRestarted,
    DriverAttached,
    DriverRaised,
    KeyReused,
    ProgramFailed,
    WorkerRemoved,
)
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    quoted,
    short,
    short_with_paths,
    uncapitalised,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED

_SET_UP_AGAIN = (
    "Data that exists only in a worker's process (set by `client.run`, in a global "
    "variable or an attribute of the worker) is lost when the process is replaced: "
    "create it in `setup` of a worker plugin (`client.register_plugin`), which runs in "
    "each new process, or pass it to the tasks."
)

_NOT_RELEASED = (
    "its task did not release what it held or finish what it had begun (a lock, a file)"
)

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
            text=unset.sentence,
            message=unset.title,
            source="logs",
            headline=unset.title,
            grade="given",
            rule="worker-start-failed",
        )


def ended_threads(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the end of the thread for which the driver then waited in vain, in no call to Dask."""
    blocked = thread_that_blocked_the_driver(case)
    if blocked is None or case.exception is not None:
        return
    thread, _ = blocked
    frame, printed = user_frame(thread.traceback), case.output_evidence(thread)
    at = f", at {frame}" if frame else ""
    where = f"in {thread.place} of the driver"
    look = code_line(frame) or "the traceback of that thread"
    advice, certainty = advice_on_text(
        thread.exception, thread.message, (), thread.traceback
    )
    yield Earlier(
        at=thread.at,
        text=printed.text,
        message=thread.message,
        source=printed.source,
        see=printed.see,
        headline=f"{thread.exception} {where}: {short_with_paths(thread.message, 80)}",
        grade="given",
        advice=Advice(advice, certainty),
        account=f"{capital(thread.place)} of the driver ended with "
        f"{short(thread.text, 300)}{at}. Python only prints such an exception; "
        f"{uncapitalised(verdict.cause)} Probably it waited for what that thread was to do.",
        fix=f"Look at {look}. Store the exception and raise it again where the driver waits "
        "(`concurrent.futures` does this for threads), and add a timeout to that wait.",
    )


def reused_keys(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the first key that was given to two tasks, where the failure is about its result."""
    reused = sorted(case.run.of(KeyReused), key=lambda each: each.at)
    if (failure := case.blame.failure) is not None:
        tasks = case.run.tasks.filter(pl.col("key") == failure.key)
        used = {failure.key, *tasks["last_input"].drop_nulls()}
        reused = [each for each in reused if each.key in used]
    if not reused:
        return
    keys = list(dict.fromkeys(each.key for each in reused))
    yield Earlier(
        at=reused[0].at,
        text=f"The key {sentence_on_reused(reused[0])}",
        message=f"key-reused {keys[0]}",
        source="driver",
        headline=f"Different tasks had the same key, {quoted(keys, most=1)}: Dask returned "
        "the first result for both",
        advice=Advice("code", "high"),
        line=code_line(reused[0]),
        grade="probable",
        remedy=UNIQUE_KEYS,
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
        where = f" in '{short(root.called, 40)}'" if root is not None else ""
        line = code_line(each)
        by_driver = each.pid in ignored
        process = "a program of the driver" if by_driver else "an earlier process"
        yield Earlier(
            at=each.at,
            name=name,
            text=(
                f"Process {each.pid} of the command had ended with {name}: "
                f"{short(message, 120)}{f' at {line}' if line else ''}, and the process that "
                "started it had continued"
            ),
            message=message,
            source="driver",
            headline=f"{name}{where}: {message_text(name, message)} in {process}",
            advice=advice_on_text(each.exception or "", message, each.bases),
            line=line,
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
        prefixes = dict.fromkeys(case.prefix_of(key) for key in death.executing)
        met = meets and failure.prefix in prefixes
        lost = lacks and joined >= death.at and not len(own)
        # Of a task that was itself tried again, the verdict says so.
        if failure.key in death.executing or not (met or lost):
            continue
        how, cause = how_died(case, [death]), case.cause_of(death)
        running = f" while running {quoted(prefixes)}" if prefixes else ""
        yield Earlier(
            at=death.at,
            text=(
                f"{capital(name_of(case, death))} had died{how}{running}; "
                + (
                    _NOT_RELEASED
                    if met
                    else "the data that only its process held was lost"
                )
            ),
            message=f"{death.address} died{how}",
            source="workers",
            headline=f"A worker died{how}{running}",
            root=failure,
            rule=cause.slug if cause.slug != "unknown" else "",
            remedy=f"{remedy_of_deaths(case, [death])} {'' if met else _SET_UP_AGAIN}".strip(),
        )


def lost_data(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the loss of scattered data without which the driver's calls were cancelled."""
    if left := _first_loss(case):
        lost = quoted(left.lost_scattered, most=3)
        deaths = [e for e in case.deaths if e.address == left.subject]
        how = how_died(case, deaths) if deaths else f", {how_retired(case, left)}"
        slug = case.cause_of(deaths[-1]).slug if deaths else "unknown"
        fix = f" Also see `dask blackbox rules {slug}`." if slug != "unknown" else ""
        yield Earlier(
            at=left.at,
            text=(
                f"{capital(case.name_of(left.subject))}, which held the only copy of "
                f"{lost}, had {'died' if deaths else 'left'}{how}; Dask cannot recompute "
                "scattered data, and cancels tasks that need it"
            ),
            message=f"lost: {lost}",
            source="workers",
            headline=f"Data that could not be recomputed was lost with its worker{how}",
            rule="data-lost",
            remedy=f"Load the data in a task instead of scattering it{_copies(case)}.{fix}",
        )


def _copies(case: Case) -> str:
    if not several_workers(case):
        return ""
    return ", or scatter it with `broadcast=True`, so that losing one worker does not matter"


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
                text="The driver had restarted all workers (`client.restart`); the data that "
                "only their processes held was lost",
                message="client.restart",
                source="events",
                headline="The driver restarted all workers (`client.restart`)",
                remedy=_SET_UP_AGAIN,
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
        what = f"{counted(int(found['number']), 'task')} ({quoted(prefixes)})"
        what += why_cancelled(cancel_of_driver(case, at))
        yield Earlier(
            at=at,
            text=f"The driver's own client had cancelled {what}",
            message=row["message"],
            source="logs",
            headline=f"The job's own code cancelled {what}",
            rule="cancelled",
            remedy="Find `future.cancel()` or `client.cancel(…)` in the job's own "
            "code: a watchdog, a time limit, or cleanup after an error. A cancelled "
            "future has no result.",
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
            text=f"{name}: {short(message, 120)} had been raised by "
            f"'{found['function']}', which the driver had run on its workers "
            "(`client.run`)",
            message=message,
            source="logs",
            headline=f"{name} in '{short(found['function'], 40)}' on a worker (`client.run`): "
            f"{message_text(name, message)}",
            advice=advice_on_text(raised[0], message),
            line=code_line(user_frame(row["message"])),
        )


def printed_exceptions(case: Case, verdict: Finding) -> Iterator[Earlier]:
    of_tasks = {
        (class_of(f.exception), f.message.partition("\n")[0]): f for f in case.failures
    }
    for each in case.run.once(printed_failures):
        frame = user_frame(each.traceback)
        if each.traceback and frame is None:
            continue
        failure = of_tasks.get((each.exception, each.message))
        if failure is not None and failure is not case.blame.failure:
            yield handled_failure(failure, "The driver had printed", each.text)
            continue
        of_worker = _ended_a_worker(case, each)
        where = (
            f"{each.place} of the driver"
            if each.place
            else "a command that should have started a worker"
            if of_worker
            else "a program of the driver"
        )
        at = f", at {code_line(frame)}" if of_worker and frame else ""
        yield Earlier(
            at=each.at,
            name=each.exception,
            text=f"{short(each.text, 160)} had been raised in {where}{at}",
            message=each.message,
            source="logs",
            headline=f"{printed_error(each)} in {where}",
            advice=advice_on_text(each.exception, each.message),
            line=code_line(frame),
            rule="worker-start-failed" if of_worker else "",
        )


def _patience(program: ProgramFailed) -> str:
    """Return for how long a command of a worker waits for a scheduler, if it ends then."""
    given = death_timeout_of(program.command)
    if given is None or not _WORKERS_COMMAND.search(program.command):
        return ""
    return (
        f"; with `--death-timeout {given}`, a worker exits when no scheduler "
        "has answered for that long"
    )


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
        how = program_exit_text(each)
        had = f"had {how.replace('was ended', 'been ended', 1)}"
        owner = code_owner(case, each.subject)
        name = f"Program “{short(brief_command(each.command), 60)}” of {owner} {how}"
        related = is_related(each, case.blame.failure)
        yield Program(
            program=each,
            at=each.at,
            text=f"A program of {owner}, {short_with_paths(each.command, 160)}, {had}"
            f"{_patience(each)}",
            message=each.error or f"{each.command} {how}",
            source="driver" if each.subject == "driver" else "tasks",
            headline=name,
            grade="possible" if related else "evidence",
        )
