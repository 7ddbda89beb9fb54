"""Who waited for whom, when nothing moved and no other rule knows why?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import ENDED_BY_US, AtWork, Hang
from dask_blackbox.analyse.hang_evidence import (
    evidence_of_hang,
    evidence_of_stack,
    how_it_ended,
)
from dask_blackbox.analyse.obituary import name_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, quoted, short
from dask_blackbox.finding import Finding, Subject

__all__ = ["STALLED"]

_SHARED = {
    "distributed/lock.py": ("a `Lock`", "give it back"),
    "distributed/multi_lock.py": ("a `MultiLock`", "give it back"),
    "distributed/semaphore.py": ("a `Semaphore`", "give a lease of it back"),
    "distributed/queues.py": ("a `Queue`", "put something into it, or take it out"),
    "distributed/event.py": ("an `Event`", "set it"),
    "distributed/variable.py": ("a `Variable`", "set it"),
}
"""What tasks share through the scheduler: where they wait for it, and what ends that."""


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or not hang.wanted:
        if not case.explained and case.said(ENDED_BY_US):
            yield _of_our_own_end(case)
        return
    longest = hang.executing[0] if hang.executing else None
    shared = _shared(longest)
    # A driver that vanished while a task was at work need not have had a hang.
    if longest and not shared and case.exception is None:
        return
    told = longest or (hang.tasks[0] if hang.tasks else None)
    yield STALLED.found(
        (
            f"'{short(longest.prefix, 40)}' waited for {shared[0]} for "
            f"{duration(longest.executing_for or 0)}, and nothing ended"
            if longest and shared
            else f"Nothing ended but '{short(longest.prefix, 40)}' was at work for "
            f"{duration(longest.executing_for or 0)}"
            if longest
            else f"No worker was left, and {counted(hang.wanted, 'task')} waited"
            if not hang.workers and case.deaths
            else f"Nothing moved for {duration(hang.lasted)}: "
            f"{counted(hang.wanted, 'task')} waited, none was executing"
        ),
        cause=f"{_who_waits_for_whom(case, hang)} {how_it_ended(case, hang)}",
        remedy=_remedy(longest, nobody=not hang.workers),
        # A task that executes may just be slow; one that waits for others is not.
        confidence="low" if longest and not shared else "medium",
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
    for frame in task.beyond if task else ():
        for file, told in _SHARED.items():
            if frame.file.endswith(file):
                return told
    return None


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


def _who_waits_for_whom(case: Case, hang: Hang) -> str:
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
            sentences.append(f"It waited for {shared[0]}; nobody came to {shared[1]}.")
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


def _remedy(longest: AtWork | None, *, nobody: bool) -> str:
    if nobody:
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
            f"{look}find who was to {shared[1]}, and whether that task could run at all (did it "
            "fail, or wait for the same thread?). Use `with` for what must be given back, and "
            "give the wait a timeout."
        )
    return (
        f"{look}does it wait for something that has no timeout (a connection, a lock, a "
        "service)? Dask has no timeout for tasks: give it one of its own. If it is only "
        "slow, give the run more time, or the task less to do."
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
            "which line, what waited for what. Low confidence if a task was executing, as it "
            "may only be slow, unless it waited for a lock, queue or event of Dask's. Silent "
            "on runs that succeeded, on failures with another cause, and on a driver that "
            "vanished while a task was at work."
        ),
        remedy="Look at the task that it names; give what it waits for a timeout.",
        before="requests.get(url)",
        after="requests.get(url, timeout=30)",
    ),
)
