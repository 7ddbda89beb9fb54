"""Which task, and which deaths, the failure of a run comes from.

Dask blames the task that was on a worker once too often; the guilty one is the task that
was *executing* each time.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from dask_blackbox.analyse.exception_origin import (
    blamed_by,
    failure_behind,
    names_killed_worker,
)
from dask_blackbox.analyse.exit_causes import ExitCause
from dask_blackbox.analyse.facts.end_of_work import Deaths, EndOfWork
from dask_blackbox.analyse.facts.suspects import (
    TaskAtExit,
    suspects_of,
    tasks_at_exit,
)
from dask_blackbox.analyse.facts.worker_exit import WINDOW, WorkerExit
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import (
    classes_of,
    raised_by_a_library,
    raised_in_a_wait_for_dask,
    raised_on_purpose,
    raised_outside_dask,
)
from dask_blackbox.analyse.signatures.distributed import COMM_CLOSED
from dask_blackbox.analyse.standstills import ENDED_BY_US
from dask_blackbox.finding import Confidence
from dask_blackbox.formatting import class_of, prefix_of
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

_WAITED = ("TimeoutError", "Timeout")
_STOPPED = ("CancelledRun", "TerminationSignal", "AirflowTaskTerminated")
_DEADLINE_WORDS = bounded(
    r"time[ds]?[ _-]?out|deadline|(?:gave|giving) up|no progress|took too long|"
    r"not (?:yet )?(?:done|finished|completed?|ready)\b|still (?:running|pending|waiting)|"
    r"did(?: not|n't) (?:finish|end|arrive|complete|come)\b",
    re.IGNORECASE,
)
_LONG_BEFORE = 120.0
_OF_TASKS = (
    "worker-memory-limit",
    "kernel-oom",
    "worker-segfault",
    "worker-abort",
    "worker-exit",
)
"""Causes of death that a task of the worker brings about."""


@dataclass(frozen=True, kw_only=True)
class Blame:
    """Where the failure of a run comes from.

    Attributes:
        failure: The task whose failure reached the driver.
        proven: Whether the driver's exception itself leads to it (or to the deaths).
        blamed: The key that Dask blames for killing workers.
        guilty: The key that was executing at most of the deaths.
        always: Whether it was executing at every one of them.
        deaths: The deaths that explain the failure, by time.
        cause: What most of them died of: a slug, `unknown` if nothing is proven.
        confidence: How sure the cause is.
        tied: Prefixes of other tasks that may be guilty as well: the evidence does not
            distinguish them from the guilty one.
        evidence: What is known of each task that ran at the last death, if several did.
    """

    failure: TaskFailure | None = None
    proven: bool = False
    blamed: str | None = None
    guilty: str | None = None
    always: bool = False
    deaths: tuple[WorkerExit, ...] = ()
    cause: str | None = None
    confidence: Confidence = "low"
    tied: tuple[str, ...] = ()
    evidence: tuple[TaskAtExit, ...] = ()


def blame_of(end: EndOfWork) -> Blame:
    """Return where a failure comes from."""
    failure, proven = failure_behind(end)
    # Else the exception is not known to have ended it.
    proven = proven and not end.outcome.stopped_after
    exception = end.exception
    if (failure is not None and failure.killed) or names_killed_worker(exception):
        key = blamed_by(exception) if failure is None else failure.key
        return _blame_for_killed(end.dead, key, failure, proven=proven)
    if failure is not None:
        unplaced = class_of(failure.exception) == "NoWorkerError"
        if end.last_worker_died and unplaced:
            return _blame_for_deaths(end.dead, None, failure=None, proven=proven)
        return Blame(failure=failure, proven=proven)
    if cut_off := _deaths_that_cut_off(exception, end.dead):
        return _blame_for_deaths(cut_off, None, failure=None, proven=True)
    relevant = tuple(
        pair for pair in end.dead if end.no_worker_left or pair[0] not in end.recovered
    )
    if not relevant or not _ended_waiting(end):
        return Blame()
    return _blame_for_deaths(relevant, None, failure=None, proven=False)


def _ended_waiting(end: EndOfWork) -> bool:
    """Return whether the driver ended while it waited for what may never have come."""
    exception = end.exception
    if exception is None:
        ended = end.blocked or end.state in ("aborted", "lost")
        waited = end.no_worker_left
    else:
        ended = True
        # Others answer late as well; or it is the job's own time limit, which it checks between
        # two looks at its futures.
        of_dask = not raised_outside_dask(exception.traceback)
        waited = only_waited(exception) and (of_dask or end.blocked)
    return ended and (waited or end.killed_repeatedly or end.gave_up)


def _blame_for_killed(
    dead: Deaths, key: str | None, failure: TaskFailure | None, *, proven: bool
) -> Blame:
    """Return the blame for a task that Dask gave up because workers died at it."""
    chosen = _deaths_of_key(dead, key, None if failure is None else failure.at)
    first = _blame_for_deaths(chosen, key, failure=failure, proven=proven)
    if first.guilty is None:
        return first
    alike = tuple(
        pair
        for pair in dead
        if pair in chosen or _is_alike(pair, first.guilty, first.cause)
    )
    return _blame_for_deaths(alike, key, failure=failure, proven=proven)


def _is_alike(pair: tuple[WorkerExit, ExitCause], key: str, cause: str | None) -> bool:
    """Return whether a death has the same cause, at a task of the same prefix."""
    death, own = pair
    prefixes = {prefix_of(other) for other in death.executing}
    return own.slug == cause and prefix_of(key) in prefixes


def _deaths_that_cut_off(exception: DriverException | None, dead: Deaths) -> Deaths:
    """Return the deaths behind a closed connection that the driver learned of, or behind an MPI job's end.

    `Client.run` asks all workers, apart from tasks: who dies of that is named by its
    address alone, and others die of it at the same time.  MPI ends all ranks when one ends.
    """
    first = tuple(pair for pair in dead if pair[0].rank is not None)
    if first:
        return first
    address = None if exception is None else closed_connection_to(exception)
    moments = [d.at for d, _ in dead if d.address == address]
    return tuple(
        pair for pair in dead if any(abs(pair[0].at - at) <= WINDOW for at in moments)
    )


def only_waited(exception: DriverException) -> bool:
    """Return whether the driver only noticed that nothing came any more, or was stopped."""
    return (
        timed_out_waiting(exception)
        or _is_any_of(exception, _STOPPED)
        or _user_code_gave_up(exception)
        or raised_in_a_wait_for_dask(exception.traceback)
    )


def _user_code_gave_up(exception: DriverException) -> bool:
    """Return whether the user's own code looked at the clock, and raised what it likes to."""
    text = f"{class_of(exception.exception)}: {exception.message}"
    return bool(_DEADLINE_WORDS.search(text)) and raised_on_purpose(exception.traceback)


def closed_connection_to(exception: DriverException) -> str | None:
    """Return the address at the far end of a closed connection that ended the driver."""
    if not _is_any_of(exception, ("CommClosedError",)):
        return None
    named = COMM_CLOSED.search(exception.message)
    return named["address"] if named else None


def timed_out_waiting(exception: DriverException) -> bool:
    """Return whether the driver had waited for as long as it was to wait."""
    if ENDED_BY_US in exception.message:
        return True
    return _is_any_of(exception, _WAITED) and not raised_by_a_library(
        exception.traceback
    )


def _is_any_of(exception: DriverException, endings: tuple[str, ...]) -> bool:
    return any(class_of(name).endswith(endings) for name in classes_of(exception))


def _deaths_of_key(dead: Deaths, key: str | None, moment: float | None) -> Deaths:
    """Return the deaths of workers that had a key, else those near the moment."""
    had_it = tuple(
        pair for pair in dead if key in pair[0].executing or key in pair[0].processing
    )
    if had_it:
        return had_it
    if key is not None:
        prefix = prefix_of(key)
        alike = tuple(
            pair
            for pair in dead
            if any(prefix_of(other) == prefix for other in pair[0].running_on)
        )
        if alike:
            return alike
    if moment is not None:
        return tuple(
            pair
            for pair in dead
            if moment - _LONG_BEFORE <= pair[0].at <= moment + WINDOW
            and (key is None or not pair[0].running_on)  # else it was another's
        )
    return dead


def _blame_for_deaths(
    dead: Deaths, key: str | None, *, failure: TaskFailure | None, proven: bool
) -> Blame:
    deaths = tuple(death for death, _ in dead)
    suspects = [dict.fromkeys(suspects_of(death)) for death in deaths]
    guilty, times = _most_suspect(suspects, key)
    at_it = tuple(pair for pair in dead if guilty in pair[0].executing)
    cause, confidence = _cause_of_all(at_it or dead)
    tied = _tied(suspects, guilty)
    unsure = not proven or (bool(tied) and cause in _OF_TASKS)
    several = [death for death in deaths if len(death.running) > 1]
    return Blame(
        failure=failure,
        proven=proven,
        blamed=key,
        guilty=guilty or key,
        always=bool(deaths) and times == len(deaths),
        deaths=deaths,
        cause=cause,
        confidence="medium" if unsure and confidence == "high" else confidence,
        tied=tied,
        evidence=tasks_at_exit(several[-1]) if several else (),
    )


def _most_suspect(
    suspects: list[dict[str, None]], key: str | None
) -> tuple[str | None, int]:
    """Return the key that was suspect at most deaths, and at how many; None: there is none.

    Of like tasks, the one that Dask names is as guilty as any.
    """
    running = Counter(name for each in suspects for name in each)
    if not running:
        return None, 0
    guilty, times = running.most_common(1)[0]
    if key is None or key not in running:
        return guilty, times
    if running[key] == times or prefix_of(key) == prefix_of(guilty):
        return key, running[key]
    return guilty, times


def _tied(suspects: list[dict[str, None]], guilty: str | None) -> tuple[str, ...]:
    """Return the other prefixes that were suspect at as many deaths as the guilty one's.

    By their names alone: the prefix of keys that never finished was not recorded.
    """
    if guilty is None:
        return ()
    prefixes = [dict.fromkeys(map(prefix_of, each)) for each in suspects]
    times = Counter(prefix for each in prefixes for prefix in each)
    own = prefix_of(guilty)
    return tuple(sorted(p for p, n in times.items() if p != own and n >= times[own]))


def _cause_of_all(dead: Deaths) -> tuple[str | None, Confidence]:
    """Return the cause of most deaths; deaths without a known cause are not counted."""
    known = [cause for _, cause in dead if cause.slug != "unknown"]
    if not known:
        return ("unknown" if dead else None), "low"
    votes = Counter(cause.slug for cause in known)
    most = max(votes.values())
    # Of two causes that are equally frequent, the later one ended it.
    slug = [cause.slug for cause in known if votes[cause.slug] == most][-1]
    chosen = [cause for cause in known if cause.slug == slug]
    sure = all(cause.confidence == "high" for cause in chosen)
    if sure and 2 * len(chosen) > len(dead):
        return slug, "high"
    return slug, "medium"
