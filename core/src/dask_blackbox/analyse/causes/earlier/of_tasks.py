"""What tasks had failed of, and whether that may have led to what ended the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import (
    AT_ONCE,
    MOST_TEXTS,
    Earlier,
    Grade,
    ended_with,
    handled_last,
    of_task,
)
from dask_blackbox.analyse.causes.earlier.of_lines import ERROR_WORDS
from dask_blackbox.analyse.driver_output import last_output
from dask_blackbox.analyse.exception_context import ended_thread, errors_before
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.facts.suspects import suspects_of
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import (
    raised_by_a_check,
    raised_on_purpose,
    user_frame,
)
from dask_blackbox.analyse.hang_texts import not_released_by
from dask_blackbox.analyse.retry_advice import Advice, advice_on_text
from dask_blackbox.analyse.rule import read_page
from dask_blackbox.analyse.side_effects import ended_by_driver_at, removed_by_itself
from dask_blackbox.analyse.symptoms import (
    is_absence,
    is_incomplete,
    is_leftover,
    is_of_a_system,
    is_symptom,
    is_wait,
    number_of_failures,
)
from dask_blackbox.analyse.wording import words_of_tasks
from dask_blackbox.events import DriverRestart, DriverSkipped, GraphUpdated, TestFailed
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of, code_line
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch

_DELAY = 0.05
"""Seconds by which a worker's estimate of its scheduler's clock may be off."""


def failed_tasks(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the kinds of failures of tasks, but those that another test may expect.

    What a task held when it failed, others wait for, what it had begun, the job's next
    attempt meets, and a job that one failed cancels others, or closes its cluster; else tasks
    have their own reasons.
    """
    failed = [
        each
        for each in case.failures
        if not each.killed
        and each is not case.blame.failure
        and (case.outcome.source != "test" or each.key in case.unreceived)
    ]
    numbers = Counter((each.prefix, each.exception) for each in failed)
    by_time = sorted(failed, key=lambda each: each.at)
    for (prefix, exception), number in numbers.items():
        kind = (prefix, exception)
        first = next(f for f in by_time if (f.prefix, f.exception) == kind)
        grade, about = _grade_of(case, verdict, first, {number, len(failed)})
        yield of_task(
            first,
            words=words_of_tasks.of_failed_tasks(case, first, number),
            source="tasks",
            root=first if about else None,
            grade=grade,
            prefix=prefix or "",
            number=number,
        )


def _grade_of(
    case: Case, verdict: Finding, failure: TaskFailure, numbers: set[int]
) -> tuple[Grade, bool]:
    """Return how sure it is that a failed task led to a verdict, and whether that is about it.

    Args:
        numbers: How many tasks had failed as it did, and in all.
    """
    # What tasks were to deliver is not there: that follows from one that failed.
    lacked = case.blame.failure is None and ended_with(case, is_absence)
    about = lacked or _is_met_again(case, failure)
    if verdict.rule == "stalled":
        left_out = failure.key in case.unreceived
        about = about or (left_out and _ran_beside_the_hang(case, failure))
        return _possible(lacked or left_out), about
    if _is_why_cancelled(case, verdict, failure):
        return "possible", True
    if _led_to_the_end(case, failure):
        return "proved", True
    if _is_missed(case, failure, numbers) or _ended_upon(case, failure):
        return "probable", True
    if not ended_with(case, is_wait):
        return _possible(about), about
    return "possible", about or _ended_thread(case, failure)


def _possible(possible: bool) -> Grade:  # noqa: FBT001 - its only argument
    return "possible" if possible else "evidence"


def _is_why_cancelled(case: Case, verdict: Finding, failure: TaskFailure) -> bool:
    """Return whether the driver cancelled its work, or closed its cluster, after a failure.

    A driver that sends more work after a failure cancels it for another reason.
    """
    ended = ended_by_driver_at(case) if verdict.rule == "cancelled" else None
    if ended is None or failure.at >= ended + _DELAY:
        return False
    graphs = case.run.of(GraphUpdated)
    return not any(failure.at < each.at < ended for each in graphs)


def _led_to_the_end(case: Case, failure: TaskFailure) -> bool:
    """Return whether the driver's code ties a failure that it had handled to what ended it."""
    if case.exception is None or case.outcome.reason is not None:
        return False  # such an error is the outcome itself
    return case.outcome.led_to_the_end(failure.key, failure.exception, failure.message)


def _ran_beside_the_hang(case: Case, failure: TaskFailure) -> bool:
    """Return whether a task failed while one that then hung was already running.

    Tasks that run at the same time and exchange something are made to: one that starts after
    a failure may have nothing to do with it.
    """
    hang = case.hang
    return hang is not None and any(
        hang.until - (task.executing_for or 0.0) < failure.at for task in hang.executing
    )


def _ended_thread(case: Case, failure: TaskFailure) -> bool:
    """Return whether a thread of the driver's ended with the exception of a failed task."""
    exception = case.exception
    thread = None if exception is None else ended_thread(case, exception)
    return (
        thread is not None
        and thread.exception == class_of(failure.exception)
        and thread.message == failure.message.partition("\n")[0].strip()
    )


def killed_tasks(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the deaths of workers whose tasks the driver gave up, and then continued."""
    killed = sorted((f for f in case.failures if f.killed), key=lambda each: each.at)
    if not killed or case.blame.failure is killed[0]:
        return
    first = _most_suspect(case, killed)
    deaths = [each for each in case.deaths if first.key in each.executing]
    if not deaths or not _may_miss(case, verdict, first, len(killed)):
        return
    slug = case.cause_of(deaths[-1]).slug
    words = words_of_tasks.of_killed_task(case, first, deaths)
    yield Earlier(
        at=deaths[0].at,
        words=words,
        message=f"{first.key} {words.headline}",
        source="workers",
        advice=Advice(read_page(slug)[0].retry_advice, "medium"),
        root=first,
        rule=slug,
        grade="probable",
    )


def _most_suspect(case: Case, killed: list[TaskFailure]) -> TaskFailure:
    """Return the killed task that may have ended its workers, else one that ran, else the first.

    Dask gives up on all that a worker held: it need not have run, or be what ended the worker.
    """
    ran = {key for death in case.deaths for key in death.executing}
    suspects = {key for death in case.deaths for key in suspects_of(death)}
    return min(killed, key=lambda each: (each.key not in suspects, each.key not in ran))


def _may_miss(case: Case, verdict: Finding, killed: TaskFailure, number: int) -> bool:
    """Return whether the run may have missed the results of so many killed tasks later."""
    return (
        _is_lacked_later(case, killed)
        or _is_missed(case, killed, {number})
        or _is_restarted_after(case, verdict, killed)
        or _ended_upon(case, killed)
        or _led_to_the_end(case, killed)
        or any(killed.key in each.keys for each in _calls_that_skipped(case))
    )


def _is_lacked_later(case: Case, earlier: TaskFailure) -> bool:
    """Return whether what the run then lacked may be what a killed task was to make.

    Of a task that lacked it, only if no task of its kind had run before: else its own input
    is as likely.
    """
    if not ended_with(case, is_absence):
        return False
    of_key = case.run.tasks.filter(FINISHED & (pl.col("key") == earlier.key))
    if len(of_key):
        return False  # it was done after all
    failure = case.blame.failure
    if failure is None:
        return not case.outcome.call
    return _began_after(case, failure, earlier)


def is_unrelated(case: Case, earlier: Earlier) -> bool:
    """Return whether the driver ended on purpose, and its code ties no failed task to that."""
    failure, exception = earlier.root, case.exception
    if failure is None or exception is None or case.blame.failure is not None:
        return False
    exits = exception.exception.endswith("SystemExit")
    on_purpose = exits or raised_by_a_check(exception.traceback)
    return on_purpose and case.outcome.is_unrelated(
        failure.key, failure.exception, failure.message
    )


def _began_after(case: Case, failure: TaskFailure, earlier: TaskFailure) -> bool:
    """Return whether no task like one that failed had run before another one failed."""
    alike = case.run.tasks.filter(pl.col("prefix") == failure.prefix)
    began = (alike["start"].dt.epoch("us") / 1e6).min()
    return isinstance(began, float) and earlier.at <= began + CLOCKS


def _ended_upon(case: Case, failure: TaskFailure) -> bool:
    """Return whether a failure that the driver handled was the last it had of its cluster.

    It then submits nothing more, and lacks something a moment later.
    """
    decided = case.outcome.decided_at
    received = [
        each.at
        for each in case.outcome.survived
        if each.key == failure.key or each.message == failure.message
    ]
    if decided is None or not received or case.exception is None:
        return False  # an exit code alone says nothing of what had been handled
    if case.blame.failure is not None:
        return False
    went_on = any(each.at > received[-1] for each in case.run.of(GraphUpdated))
    at_once = decided - received[-1] <= AT_ONCE
    return at_once and not went_on and ended_with(case, is_symptom)


def _is_restarted_after(case: Case, verdict: Finding, earlier: TaskFailure) -> bool:
    """Return whether data was lost by a restart that the driver asked for after a failure."""
    return verdict.rule == "data-lost" and any(
        earlier.at - CLOCKS <= each.at for each in case.run.of(DriverRestart)
    )


def _is_missed(case: Case, failure: TaskFailure, numbers: set[int]) -> bool:
    """Return whether the driver's own code met, or counted, what failed tasks did not return.

    Where no call received their exception, the driver continued without their results, and an
    exception that reports too few of something follows; a check that names how many failed
    reports these.
    """
    exception, received = case.exception, case.blame.failure
    if received is not None:  # of a task that was given what there was
        left_out = failure.key in case.unreceived and _began_after(
            case, received, failure
        )
        return left_out and ended_with(case, is_incomplete)
    if case.outcome.call:
        return False
    if exception is None:
        # A `SystemExit` with a message: only what it prints is known.
        last = last_output(case.run) if case.outcome.kind == "exit-code" else None
        return number_of_failures(last or "") in numbers
    if failure.key in case.unreceived and ended_with(case, is_incomplete):
        return True
    return raised_on_purpose(exception.traceback) and any(
        bounded(rf"(?<![\d.,]){number}(?![.,]?\d)").search(exception.message)
        and (
            number > 1
            or bounded(rf"{ERROR_WORDS}|\b1 of \d").search(exception.message)
            is not None
        )
        for number in numbers
    )


def _is_met_again(case: Case, earlier: TaskFailure) -> bool:
    """Return whether what a failed task's attempt had left unfinished was met again.

    By a task of its kind, or by the driver, which had received that failure and tried again.
    """
    failure = case.blame.failure
    if failure is None and earlier.key in case.unreceived:
        return False
    kind = failure is None or failure.prefix == earlier.prefix
    return kind and case.exception is not None and ended_with(case, is_leftover)


def earlier_attempts(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what the first attempt of a task raised, where the last met what it had begun.

    Or lacked what that attempt had removed.
    """
    failure = case.blame.failure or handled_last(case)
    if failure is not None:
        yield from attempts_of(case, failure)


def holding_attempts(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield attempts that failed with the lock for which others waited ever since."""
    retried = case.run.errors.filter(pl.col("outcome") == "retried").sort("at")
    columns = ("key", "exception", "message", epoch("at"), "traceback")
    for key, exception, message, at, trace in (
        retried.select(columns).head(MOST_TEXTS).iter_rows()
    ):
        held = not_released_by(case, at, trace or "")
        if held and exception:
            name, prefix = class_of(exception), case.prefix_of(key)
            yield Earlier(
                at=at,
                name=name,
                words=words_of_tasks.of_holding_attempt(
                    key, prefix, name, message or "", held
                ),
                message=message or "",
                source="tasks",
                advice=advice_on_text(exception, message or ""),
                line=code_line(user_frame(trace or "")),
                grade="probable",
            )


def attempts_of(case: Case, failure: TaskFailure) -> Iterator[Earlier]:
    """Yield what the first attempt of a task raised, if the last met or lacked what it did."""
    if not is_leftover(*failure.raised[:2]) and not removed_by_itself(case, failure):
        return
    for exception, message, at, traceback in errors_before(case, failure)[:1]:
        name = class_of(exception)
        yield Earlier(
            at=at,
            name=name,
            words=words_of_tasks.of_attempt(failure.called, name, message),
            message=message,
            source="tasks",
            advice=advice_on_text(exception, message),
            line=code_line(user_frame(traceback)),
            root=failure,
            grade="probable",
        )


def left_out_results(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the failed tasks whose results the driver left out by `gather(…, errors="skip")`.

    Any exception about values may follow, as there are fewer of them; one of a system, or of
    a service, has another reason.
    """
    failure = case.blame.failure
    for call in _calls_that_skipped(case):
        failed = [each for each in case.failures if each.key in call.keys]
        if not failed:  # they needed the results of tasks that had failed
            before = (each for each in case.failures if each.at <= call.at)
            failed = [each for each in before if each.key in case.unreceived]
        # What had failed by then does not follow; deaths say more than `KilledWorker`.
        if not failed or failure in failed or all(each.killed for each in failed):
            continue
        first = min(failed, key=lambda each: each.at)
        yield of_task(
            first,
            words=words_of_tasks.of_left_out(first, call),
            source="driver",
            root=first,
            grade="probable",
        )


def _calls_that_skipped(case: Case) -> Iterator[DriverSkipped]:
    """Yield the calls whose missing results the driver may have failed for."""
    if ended_with(case, is_of_a_system):
        return
    failure, decided = case.blame.failure, case.outcome.decided_at
    ended = decided if failure is None else failure.at
    # What is only gathered while the run ends does not count.
    latest = float("inf") if ended is None else ended + case.outcome.clocks
    for call in case.run.of(DriverSkipped):
        # Another test expects what it leaves out.
        if call.at <= latest and not _is_of_another_test(case, call.function):
            yield call


def _is_of_another_test(case: Case, function: str | None) -> bool:
    """Return whether a function is a test, and none of those that failed; fixtures are none."""
    tests = case.run.of(TestFailed) if case.outcome.source == "test" else ()
    if not tests or not (function or "").startswith("test"):
        return False
    return not any(
        each.test.partition("[")[0].endswith(function or "") for each in tests
    )
