"""Why no task finished, where nothing raised an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec
import polars as pl

from dask_blackbox.analyse.blame import timed_out_waiting
from dask_blackbox.analyse.case import Case, dask_setting
from dask_blackbox.analyse.death_texts import name_of
from dask_blackbox.analyse.driver_position import (
    DriverPosition,
    evidence_of_position,
    position_in,
    shared_object_in,
    wait_before,
)
from dask_blackbox.analyse.exception_context import thread_that_was_missed
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.frames import at_frame, code_of
from dask_blackbox.analyse.frozen_workers import (
    FrozenWorker,
    LoopBlocker,
    frozen_in,
    loop_blocker,
    native_evidence,
    remedy_of_frozen,
    what_froze,
)
from dask_blackbox.analyse.hang_texts import (
    awaited,
    busy_share,
    evidence_of_actors,
    evidence_of_hang,
    evidence_of_stack,
    how_it_ended,
    idle_share,
    is_a_wait,
    is_an_expression,
    last_seen_at,
    log_evidence,
    outside_wait_of,
    wanted_tasks,
)
from dask_blackbox.analyse.offers import beyond_host, several_threads
from dask_blackbox.analyse.rule import advice_on_death, documented
from dask_blackbox.analyse.run_state import (
    ASKED,
    last_sign_of_life,
    signal_of_driver,
)
from dask_blackbox.analyse.side_effects import (
    signal_of_a_task,
    signal_to_itself,
    submits_after,
)
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    SPILL_CAPPED,
    SPILL_FAILED,
    UNMANAGED_MEMORY_HIGH,
    WORKER_PAUSED,
    WORKER_PLUGIN_STARTED,
    WORKER_RESUMED,
    WORKERS_DID_NOT_ARRIVE,
)
from dask_blackbox.analyse.signatures.python import FILE_TOO_LARGE, NO_SPACE_LEFT
from dask_blackbox.analyse.standstills import (
    ENDED_BY_US,
    HELD,
    SLEEPS,
    Hang,
    HangingTask,
    held_from,
    waits_to_hold,
)
from dask_blackbox.analyse.title import INTERRUPTED
from dask_blackbox.analyse.worker_memory import failed_spill_before, memory_need
from dask_blackbox.events import (
    Dependency,
    DriverAttached,
    DriverLoad,
    DriverSignalled,
    GraphUpdated,
    SchedulerInfo,
    StallCancelledTasks,
    WorkerUnresponsive,
)
from dask_blackbox.finding import Evidence, Finding, Subject
from dask_blackbox.formatting import (
    as_code,
    capital,
    class_of,
    code_line,
    counted,
    duration,
    listed,
    need,
    quoted,
    quoted_key,
    short,
    size,
    were,
)
from dask_blackbox.run_tables import epoch
from dask_blackbox.tables.schemas import Row

# stalled

_WAITED = 0.8
"""The share of a standstill for which the driver did nothing but wait."""


@documented("stalled")
def STALLED(case: Case) -> Iterator[Finding]:
    interrupted = case.outcome.kind == "interrupted" and signal_to_itself(case) is None
    for found in _stalls(case):
        # Somebody ended it, and it had stalled: the one does not exclude the other.
        ended = INTERRUPTED if interrupted else ""
        yield msgspec.structs.replace(found, ended=ended)


def _stalls(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if signal_of_a_task(case) is not None:
        return  # no time limit was reached
    sent = signal_to_itself(case)
    if sent is not None and not _shared(hang.longest if hang else None):
        yield from _blocked_driver_finding(case, sent)
    elif hang is None or not hang.wanted:
        yield from _stalls_without_tasks(case)
    elif frozen := frozen_in(case, hang):
        yield _frozen_finding(case, hang, frozen)
    elif hang.longest is None:
        yield _idle_finding(case, hang)
    else:
        yield from _running_task_findings(case, hang, hang.longest)


def _stalls_without_tasks(case: Case) -> Iterator[Finding]:
    """Yield what was waited for where no task was."""
    if case.search_exception(ENDED_BY_US):
        yield _ended_by_us_finding(case)
    elif case.failed and case.blame.failure is None:
        yield from _driver_wait_findings(case)
        yield from _silent_worker_findings(case)


def _idle_finding(case: Case, hang: Hang) -> Finding:
    """Return that tasks waited and none was running."""
    beside, first = _beside(hang), next(iter(hang.tasks), None)
    left = f"No worker was left, and {wanted_tasks(case, hang)} waited"
    idle = (
        f"No task ran for {duration(hang.lasted)}: {counted(hang.wanted, 'task')} waited, "
        "and none was running"
    )
    return STALLED.found(
        left if not hang.workers and case.deaths else idle,
        cause=f"{_who_waits_for_whom(case, hang, None, 0)} {how_it_ended(case, hang)}",
        remedy=_remedy_stalled(hang, None, computes=False),
        confidence="medium",
        subject=first.subject if first else None,
        evidence=(
            *(evidence_of_stack(case, beside) if beside else ()),
            *evidence_of_hang(case, hang),
        ),
    )


def _running_task_findings(
    case: Case, hang: Hang, longest: HangingTask
) -> Iterator[Finding]:
    """Yield that a task was still running, if the run need not just have been stopped.

    A driver that was stopped while a task was running need not have hung: who stopped it may
    have given up on a task that waits, not on one that computes.
    """
    shared, beside = _shared(longest), _beside(hang)
    idle = None if shared else idle_share(case, hang, longest)
    busy = None if shared else busy_share(case, hang, longest)
    waits = shared is not None or idle is not None
    if not _had_hung(case, hang, shared=shared is not None, waits=waits):
        return
    alone = not waits or _waits_for_itself(hang, longest)
    threads = 0 if alone else _taken_threads(case, hang)
    yield STALLED.found(
        _title_of_task(hang, longest, shared, waits=waits, now=case.run.continues),
        cause=f"{_who_waits_for_whom(case, hang, idle, threads)} "
        + (_COMPUTED.format(busy) if busy else "")
        + how_it_ended(case, hang),
        remedy=_remedy_stalled(
            hang, longest, computes=busy is not None or is_an_expression(longest)
        )
        + (_MORE_THREADS if threads else ""),
        # A task that executes may just be slow; one that waits for others is not.
        confidence="medium" if waits else "low",
        subject=longest.subject,
        evidence=(
            *evidence_of_stack(case, longest),
            *(evidence_of_stack(case, beside) if beside else ()),
            *evidence_of_hang(case, hang),
        ),
    )


def _had_hung(case: Case, hang: Hang, *, shared: bool, waits: bool) -> bool:
    """Return whether a run in which a task was running had hung when it ended.

    Args:
        shared: The task waited for something that tasks share.
        waits: It waited for anything.
    """
    stopped = case.outcome.kind == "interrupted"
    asked = stopped or signal_of_driver(case.run) in ASKED
    if shared or (waits and asked):
        return True
    gave_up = case.exception is not None or _exited_after_wait(case, hang)
    return gave_up and not stopped


def _title_of_task(
    hang: Hang,
    task: HangingTask,
    shared: tuple[str, str] | None,
    *,
    waits: bool,
    now: bool,
) -> str:
    """Return what a task that was still running did: it waited, or it may just be slow.

    Since when no task has finished is another time only where it began long before or after.

    Args:
        now: Whether the run continues.
    """
    called, ran = short(task.prefix, 40), task.executing_for or 0.0
    no_task = f"no task finished for {duration(hang.lasted)}"
    alike = abs(ran - hang.lasted) <= max(_SAME_SECONDS, _SAME_SHARE * hang.lasted)
    if not waits:
        blocked = ", and blocked its worker" if task.silent else ""
        took = f"had been running for {duration(ran)}"
        return (
            f"{capital(no_task)}; '{called}' {'was still running' if alike else took}"
            f"{blocked}"
        )
    what = _what_for(hang, task, shared, now=now)
    took = f" for {duration(min(ran, hang.lasted))}"
    if alike:
        return (
            f"'{called}' waits{what}"
            if now
            else f"'{called}' waited{what}{took}, and no task finished"
        )
    # One that began long before may have done something else at first.
    took = took if ran < hang.lasted else ""
    if now:
        return (
            f"'{called}' has waited{what}{took}" if took else f"'{called}' waits{what}"
        )
    return f"'{called}' waited{what}{f'{took}; ' if took else ', and '}{no_task}"


def _what_for(
    hang: Hang, task: HangingTask, shared: tuple[str, str] | None, *, now: bool
) -> str:
    """Return for what a task waited, or where: ` for a `Lock``, ` at nightly.py:9`."""
    place = code_line(task.own_frame, " at ", name_only=True)
    if shared is None:
        return place
    itself = " that it probably holds itself" if _waits_for_itself(hang, task) else ""
    return f" for {shared[0]}{itself}{place if now else ''}"


_SAME_SECONDS, _SAME_SHARE = 2.0, 0.1
"""By how much two times may differ that a reader takes for the same."""


def _frozen_finding(
    case: Case, hang: Hang, frozen: tuple[FrozenWorker, ...]
) -> Finding:
    """Return the finding if every task that was waited for was on a worker that had frozen."""
    last = frozen[-1]
    if (blocker := loop_blocker(case, frozen)) is not None:
        return _blocked_loops_finding(case, hang, frozen, blocker)
    keys = list(dict.fromkeys(key for each in frozen for key in each.suspects))
    key = keys[0] if keys else hang.tasks[0].key
    running, executing = "", ""
    if keys:
        prefixes = dict.fromkeys(short(case.prefix_of(each), 40) for each in keys)
        running = f" while running {quoted(prefixes, most=2)}"
        executing = f", of which it was executing {quoted(keys)}"
    known = all(each.stopped or each.computes or each.waits for each in frozen)
    stopped = f" It was stopped at {last.stopped_from}." if last.stopped_from else ""
    line = "" if last.stopped or last.line is None else f" Python was at {last.line}."
    held = counted(len(hang.tasks), "task")
    return STALLED.found(
        f"{_who_froze(case, frozen)}{running}, and no task finished for "
        f"{duration(hang.lasted)}",
        cause=(
            f"{capital(case.name_of(last.address))} answered neither the scheduler nor a "
            f"question about its tasks; {held} had been assigned to "
            f"{'it' if len(frozen) == 1 else 'such workers'}{executing}"
            f".{stopped} {what_froze(frozen)}{line} {how_it_ended(case, hang)}"
        ).replace("  ", " "),
        remedy=remedy_of_frozen(frozen),
        confidence="high" if known else "medium",
        subject=case.subject(key, last.address),
        evidence=(
            *native_evidence(last.process, hang.at),
            *evidence_of_hang(case, hang),
        ),
    )


def _blocked_loops_finding(
    case: Case, hang: Hang, frozen: tuple[FrozenWorker, ...], blocker: LoopBlocker
) -> Finding:
    """Return that code which the driver had workers run kept their event loops."""
    task, last = hang.tasks[0], frozen[-1]
    position = case.driver_position
    return STALLED.found(
        f"{_who_froze(case, frozen)} while the driver {blocker.doing}, and no task finished "
        f"for {duration(hang.lasted)}",
        cause=(
            f"{capital(case.name_of(last.address))} answered neither the scheduler nor a "
            f"question about its tasks, and ran none. {blocker.text} "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=blocker.remedy,
        confidence="high" if all(each.waits for each in frozen) else "medium",
        subject=case.subject(task.key, last.address),
        evidence=(
            *((evidence_of_position(position),) if position else ()),
            *evidence_of_hang(case, hang),
        ),
    )


def _who_froze(case: Case, frozen: tuple[FrozenWorker, ...]) -> str:
    """Return which workers froze, or were stopped, and by whom: the subject and its verb."""
    last = frozen[-1]
    who, were = capital(case.name_of(last.address)), "was"
    if len(frozen) > 1:
        who, were = counted(len(frozen), "worker"), "were"
    if all(each.stopper for each in frozen):
        return f"{who} {were} stopped by {last.stopper}"
    if all(each.stopped for each in frozen):
        return f"{who} {were} stopped (SIGSTOP, a debugger)"
    return f"{who} froze"


def _exited_after_wait(case: Case, hang: Hang) -> bool:
    """Return whether the driver's own wait was over, and it did nothing but exit then.

    Its call of Dask had timed out, or it had looked again and again, at one line, while no
    task finished.
    """
    if case.outcome.kind != "exit-code":
        return False
    survived, decided = case.outcome.survived, case.outcome.decided_at
    if survived and survived[-1].key is None:
        timed_out = class_of(survived[-1].exception) == "TimeoutError"
        return timed_out and not submits_after(case, survived[-1].at)
    wait = None if decided is None else wait_before(case.run, decided)
    computed = max((load.cpu for load in case.run.of(DriverLoad)), default=0.0)
    return (
        not survived
        and wait is not None
        and wait.lasted >= _WAITED * hang.lasted
        and computed < (1 - _WAITED) * wait.lasted
        and not submits_after(case, hang.since)
    )


def _shared(task: HangingTask | None) -> tuple[str, str] | None:
    """Return what a task waits for that tasks share, and what would end its wait."""
    return shared_object_in(task.beyond) if task else None


def _waits_for_itself(hang: Hang, task: HangingTask) -> bool:
    """Return whether a task probably waits for a lock that it holds itself.

    All that run wait for the only one that is taken, and it has passed where others do.
    """
    alone = len(hang.taken) == 1 and all(map(waits_to_hold, hang.executing))
    return alone and held_from(task, hang.executing) is not None


def _others_of(hang: Hang) -> list[HangingTask]:
    """Return tasks that wait for something shared at other lines than the longest."""
    found: dict[str, HangingTask] = {}
    for task in hang.executing:
        if _shared(task):
            found.setdefault(str(task.own_frame), task)
    return list(found.values())[1:]


def _has_been(case: Case) -> str:
    return "has been" if case.run.continues else "had been"


def _idled(task: HangingTask, idle: float, *, continues: bool) -> str:
    """Return a sentence on a task that waited for something outside of Dask."""
    frame, innermost = task.own_frame, task.stack[-1]
    line = f" in {as_code(short(frame.code, 80))}" if frame and frame.code else ""
    if innermost != frame:
        file = innermost.file.rpartition("/")[2]
        line += f" (which had called {innermost.function} in {file})"
    outside = outside_wait_of(task)
    what = f" {outside.what}," if outside else ""
    return (
        f"It {'is' if continues else 'was'} waiting{what}{line}, not computing: "
        f"meanwhile, its worker {'has used' if continues else 'used'} {idle:.0%} of a core."
    )


def _driver_wait_findings(case: Case) -> Iterator[Finding]:
    """Yield that the driver itself waited for something of Dask's, and no task was pending."""
    exception = case.exception
    if exception is not None and thread_that_was_missed(case, exception) is not None:
        return  # what it waited for was to come from a thread that had failed
    position = _position_of_wait(case)
    if position is None or not case.recorded_cluster:
        return
    wait = awaited(case, position)
    if wait is None:
        return
    frame = position.own_frame
    at = f"{at_frame(frame)}{code_of(frame, 100)}"
    waited = f"waiting {wait.what}{position.blocked_for}{at}"
    ended = "was stopped" if exception is None else "gave up"
    if case.outcome.kind == "interrupted":
        ended = "was interrupted (Ctrl-C or SIGINT)"
    until = f"had been {waited} when it {ended}"
    if case.run.continues:
        until = f"has been {waited}"
    yield STALLED.found(
        f"The driver waited {wait.what}{position.blocked_for}, and no task was pending",
        cause=(f"The driver {until}. No task was pending: {wait.because}."),
        remedy=(f"Look at {code_line(frame)}: " if frame else "") + wait.remedy,
        confidence=wait.confidence,
        evidence=(
            evidence_of_position(position),
            *evidence_of_actors(case),
            *case.exception_evidence(),
        ),
    )


def _blocked_driver_finding(case: Case, sent: DriverSignalled) -> Iterator[Finding]:
    """Yield that the driver was blocked in its own code until a thread of it sent a signal.

    A call to Dask that takes long is no sign of that.
    """
    position = case.driver_position
    frame = None if position is None else position.own_frame
    if position is None or frame is None or position.lasted < _LONG_BLOCKED:
        return
    if sent.file or any("/distributed/" in each.file for each in position.beyond):
        return  # a line of the job's own decided it, or the driver waited for Dask
    line = code_of(frame, 60)
    yield STALLED.found(
        f"The driver was blocked{position.blocked_for}"
        f"{code_line(frame, ' at ', name_only=True)}{line}",
        cause=(
            f"The driver had been blocked{position.blocked_for} at {frame}{line}, in no "
            f"call to Dask. Then a thread of its own process sent it {sent.signal}, as a "
            "timer does."
        ),
        remedy=(
            f"Look at {code_line(frame)}: find what that line waits for, and who "
            "should have ended the wait."
        ),
        confidence="medium",
        evidence=(evidence_of_position(position), *case.exception_evidence()),
    )


_LONG_BLOCKED = 5.0


def _position_of_wait(case: Case) -> DriverPosition | None:
    """Return where the driver waited when it ended, or where its time limit was over."""
    position, exception = case.driver_position, case.exception
    if position is None and exception is not None and timed_out_waiting(exception):
        # The process ends later than the wait does.
        end = case.outcome.decided_at or last_sign_of_life(case.run)
        position = position_in(case.run, exception.traceback, end)
    return position


def _silent_worker_findings(case: Case) -> Iterator[Finding]:
    """Yield that a worker had sent nothing for a while when the driver gave up waiting."""
    exception = case.exception
    if exception is None or not timed_out_waiting(exception):
        return
    reports = case.run.of(WorkerUnresponsive)
    silent = max(reports, key=lambda each: each.silent_for or 0.0, default=None)
    since = 0.0 if silent is None else silent.silent_for or 0.0
    if silent is None or since < _SILENT:
        return
    who, lasted = case.name_of(silent.subject), duration(since)
    whole = case.name_of(silent.subject, silent.pid)
    keys = [each.key for each in case.outcome.received if each.key]
    wanted = f" for {quoted_key(keys[-1], 60)}" if keys else ""
    yield STALLED.found(
        f"{capital(who)} had sent no heartbeat for {lasted} when the driver gave up",
        cause=(
            f"The driver waited{wanted}. By then, {whole} had sent nothing for {lasted}: "
            "its process was stopped or suspended, or a task held Python's GIL. Its "
            "results, and those of the tasks assigned to it, never arrived."
        ),
        remedy=(
            "Look at that process on its host: `ps -o stat= -p PID` prints T if it is "
            "stopped, and SIGCONT resumes it. Set `distributed.scheduler.worker-ttl` so "
            "that the scheduler removes such a worker and runs its tasks elsewhere."
        ),
        confidence="medium",
        subject=Subject(worker=silent.subject),
        evidence=(
            Evidence(
                text=f"{capital(who)} had sent no heartbeat for {lasted}.",
                source="events",
                at=silent.at - since,
            ),
            *case.exception_evidence(),
        ),
    )


_SILENT = 5.0


def _ended_by_us_finding(case: Case) -> Finding:
    """Return the finding if nothing reported what the run hung on."""
    lasted = [each.lasted for each in case.run.of(StallCancelledTasks) if each.lasted]
    position = f" for {duration(lasted[-1])}" if lasted else ""
    return STALLED.found(
        f"No task had finished{position}, so `blackbox.stall.end-run` ended the run",
        cause=(
            f"No task had finished{position}, so this setting cancelled the pending tasks. "
            "The recording does not show what they waited for."
        ),
        remedy=(
            "Set `blackbox.stall.after` below `blackbox.stall.end-run`, so that the "
            "next recording shows which task waits for what. If the tasks are only "
            "slow, raise `blackbox.stall.end-run`."
        ),
        confidence="low",
        evidence=case.exception_evidence(),
    )


def _on_shared(
    hang: Hang, longest: HangingTask, shared: tuple[str, str]
) -> Iterator[str]:
    """Yield what a task waited for that tasks share, and who waited beside it."""
    yield (
        f"It waited for {shared[0]}{code_of(longest.own_frame)}, and no running task could {shared[1]}."
    )
    others = _others_of(hang)
    if any(map(waits_to_hold, others)) and not waits_to_hold(longest):
        yield "It probably holds the lock that the others wait for."
    if shared[0] in HELD and hang.taken:
        yield f"By then, all leases of {quoted(list(hang.taken))} were taken."
    if _waits_for_itself(hang, longest):
        yield (
            "It had passed the line at which others wait for that, and no running task had any "
            "other: probably it holds it itself, and waits for itself."
        )
    for other in others[:2]:
        yield (
            f"{quoted_key(other.key, 60)} also waited, at {other.own_frame}{code_of(other.own_frame)}."
        )


def _beside(hang: Hang) -> HangingTask | None:
    """Return the first task of another prefix that was running, too, and where that is known."""
    longest = hang.longest
    others = (e for e in hang.executing if e.own_frame is not None)
    return next((e for e in others if longest and e.prefix != longest.prefix), None)


def _who_waits_for_whom(
    case: Case, hang: Hang, idle: float | None, threads: int
) -> str:
    sentences = [
        *_on_longest(case, hang, idle),
        *_on_held(case, [task for task in hang.tasks if task.executing_for is None]),
    ]
    if threads:
        sentences.append(
            f"{'Both' if threads == 2 else f'All {threads}'} threads were taken by tasks that "  # noqa: PLR2004
            "did not finish: if one of them "
            "waits for a task that could not start, none ever finishes."
        )
    if hang.waiting:
        key, inputs = hang.waiting[0].key, hang.waiting[0].waits_for
        sentences.append(f"{quoted_key(key, 60)} waited for {_with_states(inputs)}.")
    return " ".join([*sentences, *_on_workers(case, hang)])


def _on_longest(case: Case, hang: Hang, idle: float | None) -> Iterator[str]:
    """Yield what the longest running task waited for, and what ran beside it."""
    if longest := hang.longest:
        yield (
            f"{quoted_key(longest.key)} {_has_been(case)} running on "
            f"{case.name_of(longest.worker)} for "
            f"{duration(longest.executing_for or 0)}{last_seen_at(case, longest)}."
        )
        if shared := _shared(longest):
            yield from _on_shared(hang, longest, shared)
        elif idle is not None:
            yield _idled(longest, idle, continues=case.run.continues)
        elif longest.silent:
            yield (
                "That worker did not answer the scheduler: the task may be in a call that "
                "does not release Python's GIL (a regular expression, native code)."
            )
    beside = _beside(hang)
    if beside is not None:
        yield (
            f"Beside it, {quoted_key(beside.key, 60)} {_has_been(case)} running for "
            f"{duration(beside.executing_for or 0)}, at {beside.own_frame}."
        )


def _on_held(case: Case, held: Sequence[HangingTask]) -> Iterator[str]:
    """Yield which tasks had been assigned to a worker, and did not start."""
    if not held:
        return
    first = held[0]
    on = _with_states(first.waits_for)
    prefixes = dict.fromkeys(short(task.prefix, 40) for task in held)
    of = f" of {quoted(prefixes, most=3)}" if len(prefixes) > 1 else ""
    yield (
        f"{counted(len(held), 'task')}{of} had been assigned but did not start, such as "
        f"{quoted_key(first.key, 60)} on {case.name_of(first.worker)}"
        + (f", in state {first.state}" if first.state else "")
        + (f", which waits for {on}" if on else "")
        + "."
    )


def _on_workers(case: Case, hang: Hang) -> Iterator[str]:
    """Yield how many workers and tasks there were at the end."""
    states = ", ".join(f"{number} {state}" for state, number in hang.states.items())
    were = "There was" if hang.workers == 1 else "There were"
    paused = f", {len(hang.paused)} of them paused" if hang.paused else ""
    yield f"{were} {counted(hang.workers, 'worker')}{paused}; unfinished tasks: {states}."
    if not hang.workers and case.deaths:
        last = case.deaths[-1]
        yield f"The last one was {name_of(case, last)}: {case.cause_of(last).because}."


def _with_states(inputs: Sequence[Dependency]) -> str:
    """Return tasks with their states, for people; nothing for none."""
    named = [f"{quoted_key(each.key, 60)} ({each.state})" for each in inputs]
    return listed(named, most=2) if named else ""


def _taken_threads(case: Case, hang: Hang) -> int:
    """Return the number of all workers' threads, if each ran a task and others could not start.

    Tasks that wait for a program do not wait for other tasks.
    """
    outside = None if hang.longest is None else outside_wait_of(hang.longest)
    if outside is not None and not outside.of_a_peer:
        return 0
    joined, left = (epoch(name) for name in ("joined", "left"))
    there = case.run.workers.filter(
        (joined <= hang.at) & (left.is_null() | (left >= hang.at))
    )
    threads = int(there["nthreads"].sum() or 0)
    more = hang.wanted - len(hang.executing)
    # A single thread that is taken is what any running task does.
    return threads if 1 < threads == len(hang.executing) and more else 0


_COMPUTED = (
    "Meanwhile, its worker used {:.0%} of a core: it was computing, not waiting. "
)
_MORE_THREADS = (
    " Tasks that wait for each other need a thread each: start no more of them at once "
    "than the cluster has threads, or let one return and pass its result to the other."
)


def _remedy_stalled(hang: Hang, longest: HangingTask | None, *, computes: bool) -> str:
    if not hang.workers:
        return (
            "Find what happened to the workers and why no new ones started: check their "
            "nannies, the cluster manager (`cluster.adapt(minimum=1)`) and their hosts. "
            "`distributed.scheduler.no-workers-timeout: 5 minutes` makes such tasks fail "
            "early."
        )
    if longest is None:
        return (
            "No task was running, so waiting longer would not have helped. Check the "
            "workers named here. If it happens again with the newest Dask, report it "
            "to Dask with this recording."
        )
    frame = longest.own_frame
    look = f"Look at {code_line(frame)}: " if frame else ""
    if shared := _shared(longest):
        return _remedy_of_shared(hang, longest, shared)
    if longest.silent:
        return (
            f"{look}{'c' if look else 'C'}heck what '{short(longest.prefix, 40)}' does with this "
            "input: a regular expression that backtracks endlessly, or native code that "
            "holds the GIL. `py-spy dump --native` shows the line that such a worker runs."
        )
    if computes:
        return (
            f"{look}{'t' if look else 'T'}he task was computing. Check the condition "
            "that ends its loop: a NaN, or a tolerance that is never reached, makes it "
            "run forever; limit the number of iterations. If its input is only larger "
            "than that of other tasks, give the run more time or the task less work."
        )
    return _remedy_of_wait(longest, look)


def _remedy_of_shared(hang: Hang, task: HangingTask, shared: tuple[str, str]) -> str:
    """Return what to do about a task that waits for something that tasks share."""
    if _waits_for_itself(hang, task):
        to_do = (
            "take the lock once. Dask's locks are not reentrant: a task that holds one and asks "
            "for it again, in a function that it calls, waits for itself. Call there what takes "
            "no lock, or leave it to one of the two functions."
        )
    else:
        to_do = (
            f"find the code that should {shared[1]} (in "
            "another task or in the driver), and why it did not: it may have failed, "
            "or be waiting for the thread of this task. Use `with` for everything that "
            "must be released, and add a timeout to the "
            f"wait.{_waits_crosswise(task, _others_of(hang))}"
        )
    frame = task.own_frame
    return f"Look at {code_line(frame)}: {to_do}" if frame else capital(to_do)


def _remedy_of_wait(task: HangingTask, look: str) -> str:
    """Return what to do about a task that may wait for something outside of Dask."""
    if (outside := outside_wait_of(task)) is not None:
        return look + (outside.remedy if look else capital(outside.remedy))
    if task.stack and not is_a_wait(task):
        return (
            f"{look}{'i' if look else 'I'}f that line waits for a service (a database, a "
            "file system), add a timeout to it, because Dask has no timeout for tasks. If it "
            "computes, check the condition that ends its loop, or give the run more time or "
            "the task less work. `py-spy dump --native` shows which of them it is."
        )
    if task.stack and SLEEPS.search(task.stack[-1].code):
        return (
            f"{look}{'i' if look else 'I'}t sleeps there. If it looks again and again for "
            "something (a file, a state of a service), find why that does not come, and end "
            "the loop after some time, because Dask has no timeout for tasks. If it tries "
            "again after a failure, limit the number of attempts."
        )
    return (
        f"{look}{'i' if look else 'I'}f the task waits for a connection, a lock or a "
        "service, add a timeout to that wait, because Dask has no timeout for tasks. "
        "If it is only slow, give the run more time or the task less work."
    )


def _waits_crosswise(task: HangingTask, others: list[HangingTask]) -> str:
    mine = _shared(task)
    if mine is None or mine[0] not in HELD or mine not in map(_shared, others):
        return ""
    return (
        " If each holds what another one needs, they wait forever: acquire them in the "
        "same order in all tasks."
    )


# workers-paused

_LEAKING = 0.5
_SETTING_UP = 15.0
"""Seconds after the start of a plugin in which a sample shows what it has allocated."""


class Full(NamedTuple):
    """The memory of a worker when it was last seen."""

    worker: str
    memory: int
    managed: int
    spilled: int
    limit: int | None

    def __str__(self) -> str:
        of = f" of {size(self.limit)}" if self.limit else ""
        share = f" ({self.memory / self.limit:.0%})" if self.limit else ""
        unmanaged = size(max(self.memory - self.managed, 0))
        managed = f"{size(self.managed)} of results" if self.managed else "no results"
        spilled = size(self.spilled) if self.spilled else "nothing"
        return (
            f"{size(self.memory)}{of}{share}: {managed} and {unmanaged} of unmanaged "
            f"memory; {spilled} spilled"
        )


def fullest(case: Case) -> tuple[Full, ...]:
    """Return the memory of each worker in its last sample, the fullest first."""
    own = (pl.col("source") != "scheduler") & pl.col("memory").is_not_null()
    samples = case.run.metrics.filter(own).sort("at")
    last = samples.group_by("source", maintain_order=True).last()
    limits = dict(case.run.workers.select("address", "memory_limit").iter_rows())
    found = [
        Full(
            worker=row["source"],
            memory=row["memory"],
            managed=row["managed"] or 0,
            spilled=row["spilled"] or 0,
            limit=limits.get(row["source"]) or None,
        )
        for row in last.iter_rows(named=True)
    ]
    return tuple(sorted(found, key=lambda full: -full.memory / (full.limit or 2**60)))


def _paused_at(case: Case) -> str:
    """Return the share at which workers pause, and that they do not spill, where that is set."""
    configs = [each.config for each in case.run.of(SchedulerInfo)]
    name = "distributed.worker.memory"
    shares = [dask_setting(each, f"{name}.pause") for each in configs]
    share = next((each for each in reversed(shares) if isinstance(each, float)), None)
    at = "" if share is None else f", {share:.0%}"
    if any(dask_setting(each, f"{name}.spill") is False for each in configs):
        at += "; spilling is switched off"
    return at


@documented("workers-paused")
def WORKERS_PAUSED(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or not hang.all_paused:
        yield from _paused_while_waited_for(case)
        return
    full = [each for each in fullest(case) if each.worker in hang.paused]
    first = full[0] if full else None
    unmanaged = first is not None and first.memory - first.managed > (
        _LEAKING * first.memory
    )
    names = {1: "The only worker", 2: "Both workers"}
    every = names.get(hang.workers, f"All {hang.workers} workers")
    what = (
        f"The fullest was {case.name_of(first.worker)}, at {first}. " if first else ""
    )
    remedy = _remedy_workers_paused(case, first, unmanaged=unmanaged)
    grown = _grown_by_a_plugin(case, first.worker) if first and unmanaged else None
    if grown is not None:
        plugin = f"the worker plugin '{grown[0]}'"
        what += f"It had grown by {size(grown[1])} when {plugin} was started, while it ran no task. "
        more, short_host = _more_memory(case, first)
        remedy = (
            f"Check how much memory {plugin} keeps in each worker. {more}.{short_host}"
        )
    yield WORKERS_PAUSED.found(
        f"{every} {were(hang.workers)} paused for lack of memory, and "
        f"{counted(hang.wanted, 'task')} waited",
        cause=(
            f"{every} exceeded the share of memory at which Dask stops starting tasks "
            f"(`distributed.worker.memory.pause`{_paused_at(case)}), and "
            f"{'did not go' if hang.workers == 1 else 'none went'} below it again. "
            f"{what}{how_it_ended(case, hang)}"
        ),
        remedy=remedy,
        confidence=case.hang_confidence,
        subject=Subject(worker=first.worker if first else None),
        evidence=(
            *(
                Evidence(
                    text=f"{capital(case.name_of(each.worker))} was paused at {each}.",
                    source="metrics",
                )
                for each in full[:3]
            ),
            *log_evidence(case, WORKER_PAUSED, UNMANAGED_MEMORY_HIGH),
            *_waiting_evidence(case, hang),
            *evidence_of_hang(case, hang),
        ),
    )


def _paused_while_waited_for(case: Case) -> Iterator[Finding]:
    """Report workers that the driver waited for in vain: Dask counts none that is paused."""
    match = case.search_exception(WORKERS_DID_NOT_ARRIVE.pattern)
    decided = case.outcome.decided_at
    if not case.failed or not match or decided is None:
        return
    wanted, missing = int(match["wanted"]), int(match["wanted"]) - int(match["came"])
    paused = _paused_at_moment(case, decided)
    if not 0 < missing <= len(paused):
        return
    full = [each for each in fullest(case) if each.worker in paused]
    if not full or full[0].limit is None:
        return
    yield WORKERS_PAUSED.found(
        f"{len(paused)} of {counted(wanted, 'worker')} {were(len(paused))} paused for lack of "
        f"memory: {size(full[0].memory)} of {size(full[0].limit)} in use",
        cause=(
            f"{capital(counted(len(paused), 'worker'))} had connected and exceeded the share of "
            "memory at which Dask stops starting tasks "
            f"(`distributed.worker.memory.pause`{_paused_at(case)}). `wait_for_workers` does not "
            f"count paused workers. The fullest was {case.name_of(full[0].worker)}, at {full[0]}."
        ),
        remedy=f"Give each worker about {need(4 * full[0].memory)} rather than "
        f"{size(full[0].limit)}: check how its memory limit is computed. It used "
        f"{size(full[0].memory)} without any task."
        if not len(case.run.tasks)
        else _remedy_workers_paused(case, full[0], unmanaged=False),
        confidence="high",
        subject=Subject(worker=full[0].worker),
        evidence=(
            *log_evidence(case, WORKER_PAUSED, UNMANAGED_MEMORY_HIGH),
            *case.exception_evidence(),
        ),
    )


def _paused_at_moment(case: Case, at: float) -> set[str]:
    """Return the workers there whose newest line on pausing, by then, says that they paused."""
    left = epoch("left")
    there = case.run.workers.filter(left.is_null() | (left >= at))["address"].to_list()
    lines = lines_of(case.run, WORKER_PAUSED, WORKER_RESUMED, by=["worker"])
    newest = dict(
        lines.filter(epoch("at") <= at)
        .sort("at")
        .select("source", "message")
        .iter_rows()
    )
    return {each for each in there if WORKER_PAUSED.search(newest.get(each) or "")}


def _grown_by_a_plugin(case: Case, worker: str) -> tuple[str, int] | None:
    """Return the plugin that was started just before a worker grew most, and by how much.

    None if it grew little, or ran a task in between.
    """
    own = case.run.metrics.filter(pl.col("source") == worker).sort("at")
    grown = own.select("at", "memory", by=pl.col("memory").diff()).drop_nulls()
    most = grown.sort("by").tail(1).to_dicts()
    started = lines_of(case.run, WORKER_PLUGIN_STARTED)
    lines = started.filter(pl.col("source") == worker)
    if not most or most[0]["by"] < _LEAKING * most[0]["memory"]:
        return None
    since = most[0]["at"] - timedelta(seconds=_SETTING_UP)
    recent = lines.filter(pl.col("at").is_between(since, most[0]["at"]))
    before = recent.tail(1).to_dicts()
    if not before:
        return None
    between = (pl.col("start") >= before[0]["at"]) & (pl.col("start") <= most[0]["at"])
    found = WORKER_PLUGIN_STARTED.search(before[0]["message"])
    ran = case.run.tasks.filter((pl.col("worker") == worker) & between)
    if found is None or len(ran) or found["what"].startswith("dask-blackbox-"):
        return None
    return short(found["what"], 40), int(most[0]["by"])


def _waiting_evidence(case: Case, hang: Hang) -> Iterator[Evidence]:
    """Yield which tasks did not finish: those that workers had, else those sent last."""
    prefixes = {task.prefix for task in hang.tasks}
    graphs = [graph for graph in case.run.of(GraphUpdated) if graph.at <= hang.at]
    if not prefixes and graphs:
        prefixes = set(graphs[-1].new)
    if prefixes:
        names = quoted(sorted(prefixes), most=2, longest=40)
        text = f"{counted(hang.wanted, 'task')} of {names} waited."
        yield Evidence(text=text, source="events", at=hang.at)


def _more_memory(case: Case, full: Full | None) -> tuple[str, str]:
    """Return how much memory to give, without its end, and a sentence if the host lacks it."""
    if full is None or not full.limit:
        return "Give each worker more memory", ""
    more = (
        f"Give each worker about {need(2 * full.limit)} rather than {size(full.limit)}"
    )
    return more, beyond_host(case, 2 * full.limit)


def _remedy_workers_paused(case: Case, full: Full | None, *, unmanaged: bool) -> str:
    more, short_host = _more_memory(case, full)
    if unmanaged:
        return (
            "Most of it is memory that Dask does not manage and cannot spill: data "
            "that the tasks' code keeps (global lists, caches), or freed memory that "
            "was not returned to the system (`MALLOC_TRIM_THRESHOLD_=0`). Fix that; "
            f"otherwise {more[0].lower()}{more[1:]}"
            f"{', or use fewer threads per worker' if several_threads(case) else ''}.{short_host}"
        )
    return (
        f"{more}, or keep less in memory at once: use smaller pieces, hold fewer futures "
        f"in the driver, write results to storage.{short_host}"
    )


# disk-full

_SPILL_PROBLEMS = (NO_SPACE_LEFT, SPILL_FAILED, SPILL_CAPPED)


@documented("disk-full")
def DISK_FULL(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or not hang.paused:
        return
    lines = lines_of(case.run, *_SPILL_PROBLEMS, by=["worker"])
    if not len(lines):
        return
    worker, line = lines.select("source", "message").row(-1)
    full = [each for each in fullest(case) if each.worker == worker]
    spilled = sum(each.spilled for each in fullest(case))
    samples = f" The last samples show {size(spilled)} spilled." if spilled else ""
    until, title = "the disk was full", "Spilling failed because the disk was full"
    remedy = (
        "Give the workers a larger disk (`--local-directory`, `temporary-directory`; in "
        "containers often a small or memory-backed /tmp), more memory, or less data at "
        f"once.{samples}"
    )
    if FILE_TOO_LARGE.search(line):
        until = "a file reached the size limit of its host"
        title = "Spilling reached the file size limit"
        remedy = (
            "Raise the limit where workers are started (`ulimit -f unlimited`, "
            "`LimitFSIZE=`), or make the pieces smaller: each result is spilled to a file."
        )
    elif SPILL_CAPPED.search(line):
        until = "it reached its own limit (`max-spill`)"
        title = "Spilling reached its limit (`max-spill`)"
        remedy = (
            "Raise `distributed.worker.memory.max-spill`, or have no such limit "
            "(`distributed.worker.memory.max-spill: false`), or give the workers more memory."
        )
    spill = failed_spill_before(case, {worker}, last_sign_of_life(case.run))
    if spill is not None and spill.name and not spill.is_of_space:
        until = f"that failed ({spill.name}: {short(spill.message, 120)})"
        title, remedy = f"Spilling failed ({spill.name})", spill.advice()
    had = f" Its memory was at {full[0]}." if full else ""
    yield DISK_FULL.found(
        f"{title}, and {counted(len(hang.paused), 'worker')} stayed paused",
        cause=(
            f"{capital(case.name_of(worker))} spilled to disk until {until}. The rest "
            f"stayed in memory, so the worker remained paused.{had} "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=remedy,
        confidence=case.hang_confidence if hang.all_paused else "medium",
        subject=Subject(worker=worker),
        evidence=(*log_evidence(case, *_SPILL_PROBLEMS), *evidence_of_hang(case, hang)),
    )


# nested-client-deadlock

_CLIENT = "distributed/client.py"

_SYNC = "distributed/utils.py"

_INSIDE = "Client-worker-"

_SECEDED = "long-running"

_CONSTRAINED = "constrained"


@documented("nested-client-deadlock")
def NESTED_CLIENT_DEADLOCK(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None:
        return
    held = [task for task in hang.tasks if task.executing_for is None]
    waiting = _waiting_on_all_threads(case, hang, _waits_in_a_client)
    # One that polls the futures that it has sent waits for them, too.
    polling = not waiting and _inner_tasks_wait(case, hang, held)
    if polling:
        waiting = _waiting_on_all_threads(
            case, hang, lambda task: idle_share(case, hang, task) is not None
        )
    if not waiting:
        yield from _over_resources(case, hang, held)
    elif held or hang.states.get("queued"):
        yield _nested_finding(case, hang, held, waiting, polling=polling)


def _nested_finding(
    case: Case,
    hang: Hang,
    held: Sequence[HangingTask],
    waiting: Sequence[HangingTask],
    *,
    polling: bool,
) -> Finding:
    # The longest: the one that began it.
    first = waiting[0]
    behind = quoted([task.key for task in held], most=2) if held else "queued tasks"
    inner = _sent_from_tasks(case)
    of = f" of {quoted(inner)}" if inner else ""
    many = counted(len(waiting), f"task of '{short(first.prefix, 40)}'", "tasks")
    workers = {task.worker for task in waiting}
    of_whom = "of that worker" if len(workers) == 1 else f"of {len(workers)} workers"
    return NESTED_CLIENT_DEADLOCK.found(
        f"'{short(first.prefix, 40)}' waits for tasks that need the thread it holds",
        cause=(
            f"{quoted_key(first.key)} on {case.name_of(first.worker)} blocks its "
            "thread while it waits for the result of other "
            f"tasks{of}{at_frame(first.own_frame)}. Tasks that wait like this "
            f"({many} in all) hold every thread {of_whom}, so {behind} cannot start. "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=(
            "Wait inside `with worker_client() as client:`, which releases the thread "
            "during the wait unless called with `separate_thread=False` (or call "
            "`secede()` before waiting and `rejoin()` after it). Or let the driver "
            "submit the inner tasks. More threads only postpone the deadlock."
        ),
        confidence="medium" if polling else case.hang_confidence,
        subject=first.subject,
        evidence=(*evidence_of_stack(case, first), *evidence_of_hang(case, hang)),
    )


def _inner_tasks_wait(case: Case, hang: Hang, held: list[HangingTask]) -> bool:
    """Return whether tasks that other tasks had sent were there, and none of them was at work."""
    inner = set(_sent_from_tasks(case))
    busy = {task.prefix for task in hang.executing}
    queued = bool(hang.states.get("queued"))
    assigned = any(task.prefix in inner for task in held)
    return bool(inner - busy) and not inner & busy and (assigned or queued)


def _over_resources(
    case: Case, hang: Hang, held: list[HangingTask]
) -> Iterator[Finding]:
    """Yield that a task waits for one that needs the worker's resources that it holds.

    Threads are released by `secede`; resources are not.
    """
    short_of = {task.worker: task for task in held if task.state == _CONSTRAINED}
    # One that computes may hold them, and end.
    computing = {t.worker for t in hang.executing if not _waits_in_a_client(t)}
    for outer in hang.executing:
        inner = short_of.get(outer.worker)
        if inner is None or outer.worker in computing:
            continue
        name, behind = short(outer.prefix, 40), short(inner.key, 80)
        yield NESTED_CLIENT_DEADLOCK.found(
            f"'{name}' waits for a task that needs the resources it holds",
            cause=(
                f"{quoted_key(outer.key)} on {case.name_of(outer.worker)} waits for the "
                f"result of another task{at_frame(outer.own_frame)}. '{behind}' "
                "cannot start there because the resources that it asks for are in use. "
                "A task holds its resources until it ends, even while it waits in "
                f"`worker_client`. {how_it_ended(case, hang)}"
            ),
            remedy=(
                "Let the driver submit the inner tasks, ask for the resource in the inner "
                "tasks only, or start workers with more of it (`--resources`)."
            ),
            confidence="medium",
            subject=outer.subject,
            evidence=(*evidence_of_stack(case, outer), *evidence_of_hang(case, hang)),
        )
        return


def _sent_from_tasks(case: Case) -> list[str]:
    """Return the prefixes of what clients inside of tasks had sent."""
    inner = (g for g in case.run.of(GraphUpdated) if g.subject.startswith(_INSIDE))
    return list(dict.fromkeys(prefix for graph in inner for prefix in graph.new))


def _waiting_on_all_threads(
    case: Case, hang: Hang, waits: Callable[[HangingTask], bool]
) -> list[HangingTask]:
    """Return the tasks that wait like this, on workers that have no other thread."""
    workers = case.run.workers.select("address", "nthreads").drop_nulls()
    threads = dict(workers.iter_rows())
    busy: dict[str, list[HangingTask]] = {}
    for task in hang.executing:
        if task.state != _SECEDED:
            busy.setdefault(task.worker, []).append(task)
    return [
        task
        for worker, tasks in busy.items()
        if len(tasks) >= threads.get(worker, 1) and all(waits(task) for task in tasks)
        for task in tasks
    ]


def _waits_in_a_client(task: HangingTask) -> bool:
    through = [frame for frame in task.beyond if frame.file.endswith(_CLIENT)]
    syncs = any(
        frame.file.endswith(_SYNC) and frame.function.endswith("sync")
        for frame in task.beyond
    )
    # `for future in as_completed(…)` waits by itself.
    iterates = any(frame.function == "__next__" for frame in through)
    # A client that is only being made, for a lock or an event, waits for no result.
    made = any(frame.function in ("__init__", "start") for frame in through)
    return bool(through) and (syncs or iterates) and not made


# cluster-lost-worker

_CLOSED = "nanny-close"

_NANNY_CLOSED = r"Closing Nanny at '([^']+)'\. Reason: nanny-close$"

_AT_ONCE = 1.0

_RESTART = "client-restart"

_RETIRED = ("retire-workers-", "worker-close-gracefully-")


@documented("cluster-lost-worker")
def CLUSTER_LOST_WORKER(case: Case) -> Iterator[Finding]:
    hang = case.hang
    position = _position_of_wait(case)
    if hang is not None and hang.wanted:
        if hang.workers:
            return
        until, waited = hang.at, f"{counted(hang.wanted, 'task')} waited"
        ended, evidence = how_it_ended(case, hang), evidence_of_hang(case, hang)
    elif case.failed and position is not None and _waits_for_workers(case, position):
        until, waited = position.at, "the driver waited for workers"
        ended = f"The driver waited{position.blocked_for}, and no worker came."
        evidence = (evidence_of_position(position), *case.exception_evidence())
    else:
        return
    closed = _closed_before(case, until)
    if not closed:
        return
    last = closed[-1]
    died = [
        death
        for death in case.deaths
        if death.name == last["name"] and death.at <= last["left"] + _AT_ONCE
    ]
    slug, before = "", "It was being restarted on request (`client.restart`). "
    if died:
        slug = case.cause_of(died[-1]).slug
        before = f"Its process had died before ({slug}). "
    elif not _was_restarted(case, last):
        return  # nothing was restarting: the cluster was scaled down
    yield CLUSTER_LOST_WORKER.found(
        f"The cluster closed its last worker while {waited}",
        cause=(
            f"The cluster object itself closed {case.name_of(last['address'])} during "
            f"the run (reason: {_CLOSED}), and no worker was left. {before}When a worker "
            "leaves, the cluster object waits for `distributed.deploy.lost-worker-timeout` "
            f"({_worker_timeout(case)}) and then closes the worker, even if it is "
            f"restarting. {_slow_host(case, last)}{ended}"
        ),
        remedy=_remedy_lost_worker(case, slug, died),
        retry_advice=advice_on_death(slug),
        confidence=case.hang_confidence,
        subject=Subject(worker=last["address"]),
        evidence=(
            *(
                Evidence(
                    text=f"{capital(case.name_of(worker['address']))} left: {_CLOSED}.",
                    source="workers",
                    at=worker["left"],
                )
                for worker in closed[-3:]
            ),
            *evidence,
        ),
    )


def _slow_host(case: Case, last: Row) -> str:
    """Return a sentence if a worker's host had no core on which it could start again."""
    short = case.task_activity.shortage(last["host"], last["left"])
    return "" if short is None else f"{short} "


def _remedy_lost_worker(case: Case, slug: str, died: Sequence[WorkerExit]) -> str:
    wait_longer = (
        "aise `distributed.deploy.lost-worker-timeout: 5 minutes`, so that a restarting "
        "worker is not closed"
    )
    if advice_on_death(slug) == "memory":
        # The next worker dies of it, too, however long the cluster waits.
        return f"{memory_need(case, tuple(died)).advice()} Also r{wait_longer}."
    if slug in ("", "unknown"):
        return f"R{wait_longer}."
    return (
        f"R{wait_longer}, and fix the cause of its death: `dask blackbox rules {slug}`."
    )


def _waits_for_workers(case: Case, position: DriverPosition) -> bool:
    """Return whether the driver waited for workers, of which none was left."""
    gone = not case.run.workers["left"].null_count()
    return gone and position.in_client("wait_for_workers", "restart")


def _was_restarted(case: Case, last: Row) -> bool:
    """Return whether an earlier process of the same worker had left to be restarted."""
    before = (pl.col("name") == last["name"]) & (epoch("left") < last["left"])
    closing = case.run.workers.filter(before)["closing"].fill_null("")
    return bool(closing.str.starts_with(_RESTART).any())


def _worker_timeout(case: Case) -> str:
    """Return for how long the driver's cluster waits for a worker, as it was set."""
    for driver in case.run.of(DriverAttached):
        waits = dask_setting(driver.config, "distributed.deploy.lost-worker-timeout")
        if waits is not None:
            return str(waits)
    return "15 s"


def _closed_before(case: Case, until: float) -> list[Row]:
    """Return the workers that the cluster closed before it was blocked, by time.

    A worker's own word, or that of its nanny, which was closed while it made a new one.
    """
    workers = case.run.workers.with_columns(epoch("left"))
    nannies = _nannies_closed(case, until)
    known = workers.drop_nulls("left").sort("left").to_dicts()
    newest = {worker["nanny"]: worker for worker in known}
    return [
        worker
        for worker in known
        if not (worker["stimulus_id"] or "").startswith(_RETIRED)
        and worker["left"] < until
        and (
            (worker["closing"] or "").startswith(_CLOSED)
            or (worker["nanny"] in nannies and worker is newest[worker["nanny"]])
        )
    ]


def _nannies_closed(case: Case, until: float) -> set[str]:
    """Return the nannies that said, before it was blocked, that they were closed."""
    lines = case.run.logs.filter(epoch("at") < until)["message"]
    return set(lines.str.extract(_NANNY_CLOSED).drop_nulls().to_list())
