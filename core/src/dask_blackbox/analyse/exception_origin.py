"""What the driver's exception leads to: which of the tasks that failed reached it.

A driver may catch, wrap and raise again: the chain of its exception, what it was handling, or
a message quoted in it, still leads back to the task.
"""

from __future__ import annotations

import re
from collections import Counter

from dask_blackbox.analyse.facts.end_of_work import EndOfWork
from dask_blackbox.analyse.facts.outcome import Outcome
from dask_blackbox.analyse.failures import TaskFailure, blamed_key
from dask_blackbox.analyse.frames import (
    came_from_a_task,
    classes_of,
    lacked_a_program,
    lost_by_client,
    raised_in_a_wait_for_dask,
    raised_in_user_code,
    raised_on_purpose,
    raised_outside_dask,
    user_frame,
)
from dask_blackbox.analyse.symptoms import is_symptom, number_of_failures
from dask_blackbox.formatting import class_of
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

_WRAPPERS = ("prefect.", "airflow.")
_MISSING = ("FileNotFoundError", "NoSuchKey", "NoSuchKeyError", "KeyNotFoundError")
_NO_EXCEPTIONS = ("CancelledError", "GeneratorExit", "KeyboardInterrupt", "SystemExit")
_QUOTABLE = 12
_SOON = 5.0
# Workers give times by the scheduler's clock, whose offset Dask estimates from heartbeats.
_ESTIMATE = 0.5
_SEVERAL = 3  # tasks of a kind that all failed
_FAILED = bounded(
    r"\b(?:fail(?:ed|ures?|s)?|errors?|errored|exceptions?)\b", re.IGNORECASE
)


def failures_that_count(
    failures: tuple[TaskFailure, ...],
    outcome: Outcome,
    finished: frozenset[str] = frozenset(),
) -> tuple[TaskFailure, ...]:
    """Return the failures that may have ended the driver's work.

    Not those that came after that was decided, nor, where no exception ended it, those that the
    driver had received and handled: but where no task of their kind finished, it handled nothing
    else, and exited.

    Args:
        finished: Prefixes of which a task finished.
    """
    kinds = Counter(each.prefix for each in failures)
    reached = {each.key for each in outcome.received if each.key}
    # What reached the driver came before it got there, whatever the clocks say.
    in_time = [
        each
        for each in failures
        if each.key in reached or not outcome.is_after(_earliest(each))
    ]
    if outcome.exception is not None:
        return tuple(in_time)
    return tuple(
        each
        for each in in_time
        if (kinds[each.prefix] >= _SEVERAL and each.prefix not in finished)
        or not outcome.has_handled(each.key, each.exception, each.message)
    )


def _earliest(failure: TaskFailure) -> float:
    """Return the earliest time at which a task can have failed, epoch seconds."""
    # That workers died at it is the scheduler's own decision.
    return failure.at if failure.killed else failure.at - _ESTIMATE


def failure_behind(end: EndOfWork) -> tuple[TaskFailure | None, bool]:
    """Return the failure that reached the driver, and whether that is proven."""
    exception = end.exception
    if exception is None:
        return _failure_without_an_exception(end), False
    if names_killed_worker(exception):
        return _killed_task(exception, end.failures), True
    leading = _leading_failure(exception, end)
    if leading is not None:
        # Another task may only have got it from this one, and raised it again.
        first = (each for each in end.failures if passed_on(each, leading))
        return next(first, leading), True
    return _missed_failure(exception, end) or _failure_presumed(exception, end), False


def _failure_without_an_exception(end: EndOfWork) -> TaskFailure | None:
    """Return the last failure of a command that ended with an exit code alone.

    Of one that was stopped, it is what its client had lost: then it waits forever.
    """
    if end.state == "failed":
        return next(iter(end.failures[-1:]), None)
    return next((each for each in end.failures if is_lost(each)), None)


def _killed_task(
    exception: DriverException, failures: tuple[TaskFailure, ...]
) -> TaskFailure | None:
    """Return the killed task that an exception names, else the last one."""
    key = exception.key or blamed_by(exception)
    dead = [failure for failure in failures if failure.killed]
    same = [failure for failure in dead if failure.key == key]
    return next(iter((same or dead)[-1:]), None)


def _leading_failure(exception: DriverException, end: EndOfWork) -> TaskFailure | None:
    """Return the failure that the driver's exception itself leads to, by the surest way."""
    in_user_code = raised_in_user_code(exception.traceback)
    handled = end.outcome.handled
    candidates = [
        each
        for each in end.failures
        if not in_user_code
        or _passes(exception, each)
        or _holds(exception, each)
        or str(each) in handled
    ]
    # A task that asked for others' work with a client of its own got their error, too.
    candidates.sort(key=lambda failure: came_from_a_task(failure.traceback))
    found = (f for leads in _LEADS for f in candidates if leads(exception, f))
    return next(found, None)


def _missed_failure(exception: DriverException, end: EndOfWork) -> TaskFailure | None:
    """Return the failed task whose result the driver lacked; it received no exception of it."""
    lacked = next((f for f in end.failures if f.key in end.unreceived), None)
    if lacked is None or not _missed_something(exception, end):
        return None
    return lacked


def _missed_something(exception: DriverException, end: EndOfWork) -> bool:
    """Return whether the driver lacked something, and did not only wait for tasks.

    Other things fail too: of what its own code raises, only what comes soon counts.
    """
    name, text = class_of(exception.exception), exception.traceback
    if lacked_a_program(text):
        return False  # no task makes it
    if not end.blocked and name.endswith("TimeoutError"):
        return True  # of a `Variable`, a `Queue` or an `Event`
    return name in _MISSING or (
        end.is_soon_after(_SOON)
        and is_symptom(name, exception.message)
        and raised_outside_dask(text)
        and not raised_in_a_wait_for_dask(text)
    )


def passed_on(first: TaskFailure, failure: TaskFailure) -> bool:
    """Return whether a task raised what a client inside of it had got from another task."""
    return (
        first.key != failure.key
        and (first.exception, first.message) == (failure.exception, failure.message)
        and first.frame is not None
        and first.frame == failure.frame
        and came_from_a_task(failure.traceback)
        and not came_from_a_task(first.traceback)
    )


def _failure_presumed(exception: DriverException, end: EndOfWork) -> TaskFailure | None:
    """Return the failure that most likely reached the driver, if nothing proves it."""
    failures = end.failures
    counted = number_of_failures(exception.message)
    if not failures or (counted and counted == end.printed != len(failures)):
        return None  # it counts errors of its own
    lost = lost_by_client(exception)
    if lost or exception.exception.startswith(_WRAPPERS):
        return failures[-1]
    # What a call had raised is known, and is none of these.
    if end.outcome.call is not None or not _counts_failures(exception, end):
        return None
    return _counted_in(exception.message, failures)


def _counted_in(message: str, failures: tuple[TaskFailure, ...]) -> TaskFailure:
    """Return the first failure of those that a message counts: of a kind that is as frequent."""
    number = number_of_failures(message)
    if number in {None, len(failures)}:
        return failures[0]
    prefixes = Counter(each.prefix for each in failures)
    raised = Counter(each.raised.name for each in failures)
    return next(
        (f for f in failures if number in (prefixes[f.prefix], raised[f.raised.name])),
        failures[0],
    )


def _counts_failures(exception: DriverException, end: EndOfWork) -> bool:
    """Return whether the driver looked at its futures, and raised because some had failed.

    Other things fail, too: it names what did, tells how many, or raises soon after.
    """
    message = exception.message
    if not _FAILED.search(message) or not raised_on_purpose(exception.traceback):
        return False
    names = {each for f in end.failures for each in (f.prefix, f.raised.name) if each}
    return (
        any(name in message for name in names)
        or number_of_failures(message) is not None
        or end.outcome.decided_at is None
        or end.is_soon_after(_SOON)
    )


def _is_named(exception: DriverException, failure: TaskFailure) -> bool:
    return exception.key is not None and failure.key == exception.key


def _is_quoted(exception: DriverException, failure: TaskFailure) -> bool:
    enough = len(failure.message) >= _QUOTABLE
    return enough and failure.message in exception.message


def _is_chained(exception: DriverException, failure: TaskFailure) -> bool:
    names = {class_of(name) for name in classes_of(exception)}
    if class_of(failure.exception) not in names:
        return False
    if failure.message == exception.message:
        return True
    if failure.message:
        return failure.message in exception.traceback
    # A bare `assert`, or `next()` of nothing, says nothing: only the line shows it.
    return _passes(exception, failure)


def _holds(exception: DriverException, failure: TaskFailure) -> bool:
    """Return whether the message of the driver's exception holds a task's traceback."""
    return bool(failure.traceback) and failure.traceback in exception.message


def _passes(exception: DriverException, failure: TaskFailure) -> bool:
    """Return whether the driver's traceback goes through the line at which a task raised."""
    frame = failure.frame
    line = f'File "{frame.file}", line {frame.line}, in' if frame else ""
    return bool(line) and line in exception.traceback


def _is_unread(exception: DriverException, failure: TaskFailure) -> bool:
    """Return whether the driver got a failure's pickle: it does not have the class."""
    if not exception.message.startswith(("b'\\x80", 'b"\\x80')):
        return False
    frame = user_frame(exception.traceback)
    return (
        frame is not None
        and failure.frame is not None
        and ((frame.file, frame.line) == (failure.frame.file, failure.frame.line))
    )


def _is_lost(exception: DriverException, failure: TaskFailure) -> bool:
    return is_lost(failure) and lost_by_client(exception)


def is_lost(failure: TaskFailure) -> bool:
    """Return whether Dask's client loses this one: it listens for `Exception` alone."""
    if "BaseException" in failure.bases:  # else the list was cut
        return "Exception" not in (failure.exception, *failure.bases)
    return failure.raised.name in _NO_EXCEPTIONS


def _is_handled(exception: DriverException, failure: TaskFailure) -> bool:
    """Return whether the driver was handling this one when it raised `from None`."""
    what = f"{failure.exception}: {failure.message}"
    return any(
        reported == what[: len(reported)] for reported in exception.handled if reported
    )


_LEADS = (_is_named, _is_chained, _is_quoted, _is_unread, _is_lost, _is_handled)
"""The ways in which the driver's exception may lead to a task, the surest first."""


def names_killed_worker(exception: DriverException | None) -> bool:
    """Return whether the driver got, or wrapped, that workers died at a task."""
    if exception is None:
        return False
    return any(class_of(name) == "KilledWorker" for name in classes_of(exception))


def blamed_by(exception: DriverException | None) -> str | None:
    """Return the key that Dask blames for that, if the exception tells it."""
    if exception is None:
        return None
    return blamed_key(exception.message) or blamed_key(exception.traceback)
