"""Who waited for whom, when nothing moved and no other rule knows why?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.awaited import awaited
from dask_blackbox.analyse.blame import ran_out_of_patience
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import ENDED_BY_US, AtWork, Hang
from dask_blackbox.analyse.hang_evidence import (
    evidence_of_hang,
    evidence_of_stack,
    how_it_ended,
)
from dask_blackbox.analyse.obituary import name_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.standing import (
    evidence_of_standing,
    shared_in,
    standing_in,
)
from dask_blackbox.analyse.state import ASKED, signal_of_driver
from dask_blackbox.analyse.waits import idle_share
from dask_blackbox.analyse.words import counted, duration, quoted, short
from dask_blackbox.finding import Finding, Subject

__all__ = ["STALLED"]


_HELD = ("a `Lock`", "a `MultiLock`", "a `Semaphore`")


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or not hang.wanted:
        if not case.explained and case.said(ENDED_BY_US):
            yield _of_our_own_end(case)
        elif case.failed and not case.explained and case.blame.failure is None:
            yield from _of_the_driver(case)
        return
    longest = hang.executing[0] if hang.executing else None
    shared = _shared(longest)
    idle = idle_share(case, hang, longest) if longest and not shared else None
    # A driver that vanished while a task was at work need not have had a hang: whoever
    # stopped it may just have lost patience with a task that waits, not with one that works.
    waits = shared or (idle is not None and signal_of_driver(case.run) in ASKED)
    if longest and not waits and case.exception is None:
        return
    told = longest or (hang.tasks[0] if hang.tasks else None)
    yield STALLED.found(
        (
            f"'{short(longest.prefix, 40)}' waited for {shared[0]} for "
            f"{duration(longest.executing_for or 0)}, and nothing ended"
            if longest and shared
            else f"'{short(longest.prefix, 40)}' waited{_place(longest)} for "
            f"{duration(longest.executing_for or 0)}, and nothing ended"
            if longest and idle is not None
            else f"Nothing ended but '{short(longest.prefix, 40)}' was at work for "
            f"{duration(longest.executing_for or 0)}"
            if longest
            else f"No worker was left, and {counted(hang.wanted, 'task')} waited"
            if not hang.workers and case.deaths
            else f"Nothing moved for {duration(hang.lasted)}: "
            f"{counted(hang.wanted, 'task')} waited, none was executing"
        ),
        cause=f"{_who_waits_for_whom(case, hang, idle)} {how_it_ended(case, hang)}",
        remedy=_remedy(hang, longest),
        # A task that executes may just be slow; one that waits for others is not.
        confidence="low" if longest and not shared and idle is None else "medium",
        subject=Subject(
            key=told.key if told else None,
            prefix=told.prefix if told else None,
            worker=told.worker if told else None,
        ),
        evidence=(
            *(evidence_of_stack(case, longest) if longest else ()),
            *evidence_of_hang(case, hang),
        ),
    )


def _shared(task: AtWork | None) -> tuple[str, str] | None:
    """Return what a task waits for that tasks share, and what would end its wait."""
    return shared_in(task.beyond) if task else None


def _others_of(hang: Hang) -> list[AtWork]:
    """Return tasks that wait for something shared at other lines than the longest."""
    found: dict[str, AtWork] = {}
    for task in hang.executing:
        if _shared(task):
            found.setdefault(str(task.own_frame), task)
    return list(found.values())[1:]


def _place(task: AtWork) -> str:
    frame = task.own_frame
    return f" at {frame.file.rpartition('/')[2]}:{frame.line}" if frame else ""


def _line(task: AtWork) -> str:
    frame = task.own_frame
    return f" (`{short(frame.code, 80)}`)" if frame and frame.code else ""


def _idled(task: AtWork, idle: float) -> str:
    """Return a sentence on a task that waited for something outside of Dask."""
    frame = task.own_frame
    line = f" in `{short(frame.code, 80)}`" if frame and frame.code else ""
    innermost = task.stack[-1]
    into = f" (below it: {innermost.function} of {innermost.file.rpartition('/')[2]})"
    return (
        f"It waited{line}{into if innermost != frame else ''} rather than computed: its "
        f"worker used {idle:.0%} of a core meanwhile."
    )


def _of_the_driver(case: Case) -> Iterator[Finding]:
    """Yield that the driver itself waited for something of Dask's, and no task was wanted."""
    stood, exception = case.driver_stood, case.exception
    if stood is None and exception is not None and ran_out_of_patience(exception):
        end = case.run.ending.ended if case.run.ending else case.run.manifest.started
        stood = standing_in(exception.traceback, end)
    if stood is None or not case.saw_the_cluster:
        return
    wait = awaited(stood)
    if wait is None:
        return
    frame = stood.own_frame
    at = f", at {frame}" if frame else ""
    line = f" (`{short(frame.code, 100)}`)" if frame and frame.code else ""
    ended = "was stopped" if exception is None else "gave up"
    yield STALLED.found(
        f"The driver waited {wait.what}{stood.so_long}, and no task was wanted",
        cause=(
            f"The driver had been waiting {wait.what}{stood.so_long}{at}{line} when it "
            f"{ended}. No task was left to be done by then: {wait.because}."
        ),
        remedy=(f"Look at {frame.file}:{frame.line}: " if frame else "") + wait.remedy,
        confidence="medium",
        evidence=(evidence_of_standing(stood), *case.exception_evidence()),
    )


def _of_our_own_end(case: Case) -> Finding:
    """Return what is left to say if nothing told what the run hung on."""
    ended = next(iter(case.run.details("stall-ended-run")[-1:]), {})
    stood = f" for {duration(float(ended['lasted']))}" if ended.get("lasted") else ""
    return STALLED.found(
        f"No task had ended{stood}, so `blackbox.stall.end-run` ended the run",
        cause=(
            f"No task had ended{stood}, and our own option cancelled what was wanted. "
            "What it hung on was not recorded."
        ),
        remedy=(
            "Set `blackbox.stall.after` below `blackbox.stall.end-run`, so that the next "
            "recording tells who waits for whom; if the tasks are only slow, raise the latter."
        ),
        confidence="low",
        evidence=case.exception_evidence(),
    )


def _who_waits_for_whom(case: Case, hang: Hang, idle: float | None) -> str:
    sentences = []
    if hang.executing:
        longest = hang.executing[0]
        at = f", at {longest.own_frame}" if longest.own_frame else ""
        sentences.append(
            f"'{short(longest.key, 80)}' had been executing on "
            f"{case.name_of(longest.worker)} for "
            f"{duration(longest.executing_for or 0)} when last looked at{at}."
        )
        if shared := _shared(longest):
            sentences.append(
                f"It waited for {shared[0]}{_line(longest)}; nobody came to {shared[1]}."
            )
            sentences += [
                f"'{short(other.key, 60)}' waited as well, at {other.own_frame}"
                f"{_line(other)}."
                for other in _others_of(hang)[:2]
            ]
        elif idle is not None:
            sentences.append(_idled(longest, idle))
    held = [task for task in hang.tasks if task.executing_for is None]
    if held:
        first = held[0]
        on = [f"{key} ({state})" for key, state in first.waits_for]
        sentences.append(
            f"{counted(len(held), 'task')} had been given to workers and did not start, such "
            f"as '{short(first.key, 60)}' on {case.name_of(first.worker)}"
            + (f", in state {first.state} there" if first.state else "")
            + (f", which waits for {quoted(on, most=2, longest=80)}" if on else "")
            + "."
        )
    if hang.waiting:
        key, on_keys = hang.waiting[0]
        on = [f"{name} ({state})" for name, state in on_keys]
        sentences.append(
            f"'{short(key, 60)}' waited for {quoted(on, most=2, longest=80)}."
        )
    states = ", ".join(f"{number} {state}" for state, number in hang.states.items())
    were = "There was" if hang.workers == 1 else "There were"
    paused = f", {len(hang.paused)} of them paused" if hang.paused else ""
    sentences.append(
        f"{were} {counted(hang.workers, 'worker')}{paused}; unfinished tasks: {states}."
    )
    if not hang.workers and case.deaths:
        last = case.deaths[-1]
        sentences.append(
            f"The last, {name_of(case, last)}: {case.cause_of(last).because}."
        )
    return " ".join(sentences)


def _remedy(hang: Hang, longest: AtWork | None) -> str:
    if not hang.workers:
        return (
            "See what became of the workers, and why nothing starts new ones: a nanny, a "
            "cluster manager (`cluster.adapt(minimum=1)`), the host that they ran on. "
            "`distributed.scheduler.no-workers-timeout` makes such tasks fail soon."
        )
    if longest is None:
        return (
            "No task was at work, so waiting longer would not have helped. Look at the "
            "workers named here; if it happens again with the newest Dask, it is worth a "
            "report to its authors, with this recording."
        )
    frame = longest.own_frame
    look = f"Look at {frame.file}:{frame.line}: " if frame else ""
    if shared := _shared(longest):
        return (
            f"{look}find who was to {shared[1]} (another task, or the driver), and whether it "
            "could (did it fail, or wait for the same thread?). Use `with` for what must be given back, and "
            f"give the wait a timeout.{_crosswise(longest, _others_of(hang))}"
        )
    return (
        f"{look}does it wait for something that has no timeout (a connection, a lock, a "
        "service)? Dask has no timeout for tasks: give it one of its own. If it is only "
        "slow, give the run more time, or the task less to do."
    )


def _crosswise(task: AtWork, others: list[AtWork]) -> str:
    mine = _shared(task)
    if mine is None or mine[0] not in _HELD or mine not in map(_shared, others):
        return ""
    return (
        " If each of them holds what another one wants, they wait for ever: let all tasks "
        "take such things in the same order."
    )


STALLED = Rule(
    slug="stalled",
    title="Nothing moved any more",
    question="Who waited for whom, when no task had ended for a long time?",
    severity="failure",
    retry_advice="unknown",
    ask=_ask,
    page=Page(
        detects=(
            "No task had ended for longer than `blackbox.stall.after`, the driver ran out of "
            "patience, and none of the known kinds of hang fits."
        ),
        evidence=(
            "The stall detector's last account: what was executing, for how long and at "
            "which line, what waited for what; or, where no task was wanted, the driver's own "
            "wait for something that is shared through the scheduler. Low confidence if a task "
            "was executing, as it may only be slow, unless it waited: for a lock, queue or "
            "event of Dask's, or in a call that waits while its worker used next to no "
            "processor. Silent on runs that succeeded, on failures with another cause, and on a "
            "driver that vanished while a task was at work."
        ),
        remedy="Look at the task that it names; give what it waits for a timeout.",
        before="requests.get(url)",
        after="requests.get(url, timeout=30)",
    ),
)
