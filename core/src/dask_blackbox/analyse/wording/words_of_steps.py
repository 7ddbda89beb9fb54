"""Words for the steps of the chain from a root to the outcome."""

from __future__ import annotations

import re
from typing import NamedTuple

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import last_output, without_log_prefix
from dask_blackbox.analyse.exit_causes import ExitCause
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.missing_modules import missing_module
from dask_blackbox.analyse.run_state import exit_code_of_driver, signal_of_driver
from dask_blackbox.analyse.signals import signal_in
from dask_blackbox.analyse.wording.words_of_exits import who_sent, who_stopped
from dask_blackbox.analyse.worker_memory import (
    memory_need,
    retained_memory_of,
    startup_memory_of,
)
from dask_blackbox.finding import Change, Evidence
from dask_blackbox.formatting import class_of, counted, duration, short, size
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded

_NUMBER = bounded(r"(?P<number>[\d,.]+) ?(?P<unit>[kKMGTP]?i?B\b)?")


_DID = {
    "kernel-oom": "was killed by the kernel's OOM killer",
    "worker-abort": "aborted",
    "worker-cancelled": "was ended: its job was cancelled, or its pod deleted",
    "worker-evicted": "was ended: its pod was evicted",
    "worker-heartbeat-timeout": "sent no heartbeats and was removed",
    "worker-host-lost": "disappeared together with its nanny",
    "worker-job-memory": "was killed: its job or pod used too much memory",
    "worker-lifetime": "reached the end of its lifetime",
    "worker-memory-limit": "was killed at its memory limit",
    "worker-node-failed": "was lost: its node failed",
    "worker-preempted": "was terminated by its host",
    "worker-segfault": "crashed",
    "worker-time-limit": "was ended at the time limit of its job or pod",
}
"""What a worker did that ended of a cause, where the cause says it."""


class Step(NamedTuple):
    """What a step says, and what shows it."""

    text: str
    evidence: tuple[Evidence, ...] = ()


def of_change(change: Change) -> str:
    """Return a change in a few words: `input 3.4 times larger (…)`."""
    before, after = change.before or "absent", change.after or "absent"
    sides = f"{short(before, 40)} → {short(after, 40)}"
    if change.kind == "code":
        # A commit only says that something changed: what it explains says what.
        of_commit = change.what == "git commit" and change.explains
        named = change.explains[0] if of_commit else change
        _, _, places = (named.after or "").partition(" (")
        where = f" ({short(places.removesuffix(')'), 80)})" if places else ""
        return f"code of {short(named.what, 60)} changed{where}"
    if change.kind != "input-size":
        return f"{change.kind} {short(change.what, 60)}: {sides}"
    numbers = [_NUMBER.match(side) for side in (before, after)]
    old, new = (_amount(each) if each else 0.0 for each in numbers)
    if min(old, new) <= 0:
        return f"input {sides}"
    more = (
        f"{new / old:.1f}\N{MULTIPLICATION SIGN} larger"
        if new > old
        else f"{old / new:.1f}\N{MULTIPLICATION SIGN} smaller"
    )
    return f"input {more} ({sides})"


def _amount(found: re.Match[str]) -> float:
    """Return a size in bytes, or a number of partitions."""
    from dask.utils import parse_bytes  # imports all of dask

    number = found["number"].replace(",", "")
    return float(parse_bytes(f"{number}{found['unit'] or ''}"))


def what_took_memory(
    case: Case, prefix: str | None, deaths: tuple[WorkerExit, ...]
) -> str | None:
    """Return what used the memory of workers that ran out of it, if that is known."""
    need = memory_need(case, deaths)
    # Dask's own limit was reached; the kernel's was somewhere above what was sampled.
    own = case.blame.cause == "worker-memory-limit"
    had = (need.limit if own else None) or need.seen
    if not had:
        return None
    used = f"over {size(had)}" if own else f"{size(had)} or more"
    if need.held:
        return f"results took {size(need.held)} or more of {size(had)} on each worker"
    used_before = _used_before(case, deaths, had)
    if used_before:
        return used_before
    if need.at_once > 1:
        return f"{need.at_once} tasks at once needed {used}"
    number = len(need.too_large)
    if prefix and number > 1:
        return f"{number} tasks of '{short(prefix, 40)}' needed {used} each"
    who = f"one task of '{short(prefix, 40)}'" if prefix else "a worker"
    return f"{who} needed {used}"


def _used_before(case: Case, deaths: tuple[WorkerExit, ...], limit: int) -> str | None:
    """Return what had used the memory before the tasks that ran at the end, if that is known."""
    retained = retained_memory_of(case, deaths[-1])
    if retained:
        return (
            f"{counted(retained.tasks, 'task')} retained {size(retained.kept)} or more"
        )
    early = startup_memory_of(case, deaths)
    if early:
        return (
            f"a worker used {size(early.used)} of {size(limit)} before its first task"
        )
    return None


def of_death(case: Case, death: WorkerExit, *, alone: bool) -> Step:
    """Return the step for the death of a worker.

    Args:
        alone: No other worker died of it.
    """
    cause = case.cause_of(death)
    who = f"worker {death.name}" if death.name and alone else "a worker"
    did = _by_whom(death) or _DID.get(cause.slug) or _how_it_ended(death, cause)
    evidence = Evidence(
        text=f"{case.name_of(death.address)}: {cause.because}.",
        source="workers",
        at=death.at,
    )
    return Step(f"{who} {did}", (evidence,))


def _by_whom(death: WorkerExit) -> str | None:
    """Return what ended a worker, where neither Dask, its host nor the worker itself did."""
    if death.frozen_for is not None and (who_stopped(death) or death.was_stopped):
        by = f" by {who_stopped(death)}" if who_stopped(death) else ""
        return f"was stopped{by} (SIGSTOP), sent no heartbeats and was removed"
    asked = signal_in(death.closing)
    name = asked or death.signal
    if death.sent_from is not None and name:
        return f"was ended by {who_sent(death)} ({name})"
    if asked and asked != "SIGTERM":
        return f"was stopped from outside ({asked})"
    return None


def _how_it_ended(death: WorkerExit, cause: ExitCause) -> str:
    module = missing_module(cause.because)
    if module is not None:
        return f"could not import '{short(module, 40)}' and closed"
    if cause.slug == "environment-mismatch" and death.signal is None:
        return "could not deserialize a message and closed"
    if death.signal is not None:
        return f"was ended by {death.signal}"
    if death.exit_code is not None:
        return f"exited with code {death.exit_code}"
    return "exited"


def times(text: str, number: int) -> str:
    """Return a step that happened several times in a row."""
    return f"{text}, {counted(number, 'time')}" if number > 1 else text


def of_killed_task(case: Case) -> Step:
    failure = case.blame.failure
    if failure is None:
        return Step("")
    called = short(failure.prefix or case.prefix_of(failure.key), 40)
    return Step(f"Dask gave up on '{called}'", (failure.evidence(300),))


def of_no_workers(_: Case) -> Step:
    return Step("no worker was left")


def of_stall(case: Case) -> Step:
    hang = case.standstill
    if hang is None:
        return Step("")
    waiting = f"{counted(hang.wanted, 'task')} waiting."
    evidence = Evidence(text=waiting, source="events", at=hang.since)
    return Step(f"no task finished for {duration(hang.lasted)}", (evidence,))


def of_outcome(case: Case) -> Step:
    evidence = case.exception_evidence() if case.run.ending is not None else ()
    return Step(_outcome_text(case), evidence)


_ENDED = {"aborted": "the run was aborted", "lost": "the recording ends"}


def raised_in_driver(exception: DriverException) -> str:
    """Return how the title of a finding on an exception of the driver's begins."""
    return f"{class_of(exception.exception)} in the driver"


def end_of_run(case: Case) -> str:
    """Return how the run ended, apart from the driver's exception."""
    code = exit_code_of_driver(case.run)
    if code:
        if code < 0:
            return _ENDED.get(case.state, "the run failed")
        output = last_output(case.run)
        if output and _repeats(output, case.exception):
            output = ""
        exited = f"the driver exited with code {code}"
        return (
            f"{exited}: “{short(without_log_prefix(output), 120)}”"
            if output
            else exited
        )
    return _ENDED.get(case.state, "the run failed")


def _repeats(output: str, exception: DriverException | None) -> bool:
    """Return whether the last line of output is one of the exception's own message."""
    return exception is not None and output.strip() in (
        line.strip()
        for line in f"{exception.exception}: {exception.message}".splitlines()
    )


_TIME_WAS_UP = bounded("Time(?:d)?[Oo]ut")


def _outcome_text(case: Case) -> str:
    exception, by = case.exception, signal_of_driver(case.run)
    stopped = case.outcome.by
    if stopped is not None and exception is None:
        return "the driver was stopped"
    if case.raised("KeyboardInterrupt"):
        return "the driver was interrupted"
    then = case.outcome.then
    exits = then is None or then.exception.endswith("SystemExit")
    exits = exits and case.outcome.reason is not None
    if exception is not None and not exits:
        return _raised_text(case, exception)
    if by is not None:
        return f"the driver was ended by {by}"
    if case.state == "aborted":
        return "the driver disappeared"
    return end_of_run(case)


def _raised_text(case: Case, exception: DriverException) -> str:
    # What a task raised comes out of the driver's wait; the wait itself did not end.
    of_task = any(
        (each.exception, each.message) == (exception.exception, exception.message)
        for each in case.failures
    )
    last = case.outcome.passed_on or case.outcome.then or exception
    name = class_of(last.exception)
    failure = case.blame.failure
    did = "raised"
    if of_task and failure is not None and failure.killed:
        did = "received"  # it may only have waited for that task
    elif case.only_waited and not of_task and _TIME_WAS_UP.search(name):
        did = "gave up waiting:"
    return f"the driver {did} {name}"
