"""The texts of findings about hangs: since when, and where the tasks were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_position import DriverPosition, shared_object_in
from dask_blackbox.analyse.frames import HasStack, user_frames
from dask_blackbox.analyse.run_state import last_sign_of_life
from dask_blackbox.analyse.signatures import Signature, printed_by
from dask_blackbox.analyse.standstills import HELD, Hang, HangingTask
from dask_blackbox.events import ActorMethod, DriverForked, WorkerClosing
from dask_blackbox.finding import Confidence, Evidence
from dask_blackbox.formatting import (
    code_line,
    counted,
    duration,
    quoted,
    quoted_key,
    short,
)
from dask_blackbox.patterns import bounded


def wanted_tasks(case: Case, hang: Hang) -> str:
    """Return how many tasks waited, and of which prefixes, where that is known."""
    number, known = counted(hang.wanted, "task"), hang.unrunnable
    prefixes = dict.fromkeys(case.prefix_of(each.key) for each in known)
    if not prefixes:
        return number
    if len(known) < hang.wanted:
        return f"{number}, of {quoted(prefixes)} and perhaps others,"
    return f"{number} of {quoted(prefixes)}"


def how_it_ended(case: Case, hang: Hang) -> str:
    """Return a sentence on how long nothing moved, and what ended it."""
    if case.run.continues:
        return f"No task has finished for {duration(hang.lasted)}."
    stalled = f"No task finished for {duration(hang.lasted)}"
    if hang.ended_by_us:
        return f"{stalled}; then `blackbox.stall.end-run` ended the run."
    return f"{stalled}; then the driver {_what_the_driver_did(case)}."


def _what_the_driver_did(case: Case) -> str:
    if case.outcome.kind == "exit-code":
        return "exited"
    if case.outcome.kind == "interrupted":
        return "was interrupted (Ctrl-C or SIGINT)"
    if case.exception is None:
        return "was stopped"
    without = " and failed without the result" if case.gave_up_waiting else ""
    return f"stopped waiting{without}"


def last_seen_at(case: Case, task: HangingTask) -> str:
    """Return a clause on the user's line at which a task was seen; nothing if it is unknown."""
    if task.own_frame is None:
        return ""
    if case.run.continues:
        return f", at {task.own_frame}"
    return f"; when last sampled, it was at {task.own_frame}"


def evidence_of_hang(case: Case, hang: Hang) -> tuple[Evidence, ...]:
    """Return what the stall detector reported, and what the driver got."""
    states = ", ".join(f"{number} {state}" for state, number in hang.states.items())
    statuses = ", ".join(f"{number} {name}" for name, number in hang.statuses.items())
    text = (
        "While it hung: "
        f"{counted(hang.workers, 'worker')}{f' ({statuses})' if statuses else ''}; "
        f"tasks by state: {states or 'none'}."
    )
    reported = Evidence(text=text, source="events", at=hang.since)
    return (reported, *evidence_of_actors(case), *case.exception_evidence())


def evidence_of_stack(case: Case, task: HangingTask) -> tuple[Evidence, ...]:
    """Return where a task was, its user's line and what that called, if its worker reported."""
    if not task.stack:
        return ()
    return (
        Evidence(
            text=f"The stack of {quoted_key(task.key, 60)}:\n{task.lines()}",
            source="events",
            see=case.show_command("logs", "--worker", task.worker),
        ),
    )


def log_evidence(case: Case, *signatures: Signature) -> tuple[Evidence, ...]:
    """Return the last line of a worker's log that one of these rows finds."""
    logs = case.run.logs
    chosen = logs.filter((logs["role"] != "driver") & printed_by(*signatures))
    return tuple(
        case.line_evidence(
            {**row, "message": row["message"].partition("\n")[0]},
            *(("--worker", row["source"]) if row["role"] == "worker" else ()),
            longest=240,
        )
        for row in chosen.tail(1).iter_rows(named=True)
    )


class Wait(NamedTuple):
    """What a driver waited for, why it does not arrive, and what to do.

    Attributes:
        confidence: That it would not have arrived.
    """

    what: str
    because: str
    remedy: str
    confidence: Confidence = "medium"


_IN_RUN = Wait(
    "inside `client.run`",
    "`client.run` submits no task, and its function did not return on at least one "
    "worker",
    "find what that function waits for, and add a timeout or submit the function as a "
    "task. It blocks the worker's event loop and its heartbeats.",
)
_OF_AN_ACTOR = Wait(
    "for a method of an actor",
    "actor methods are not tasks, and this one did not return",
    "find what that method waits for, and add a timeout there. An actor's methods run "
    "one at a time on its worker: two actors that call each other wait for each other.",
)


_OF_AN_ENDED_LOOP = Wait(
    "for an event loop whose thread had ended",
    "what ran in that thread had ended it, as `sys.exit()` inside of a coroutine does, so that "
    "no call to it returns",
    "let the coroutine return, and call `sys.exit()` in the main thread after it; or run it in "
    "the main thread (`asyncio.run(main())`).",
)


def awaited(case: Case, position: DriverPosition) -> Wait | None:
    """Return for what the driver waited that nothing could end, if it did."""
    if any(frame.file.endswith("distributed/actor.py") for frame in position.beyond):
        return _of_actors(case, running_actor_methods(case)) or _OF_AN_ACTOR
    if position.of_ended_loop:
        return _OF_AN_ENDED_LOOP
    if position.shared:
        what, ends = position.shared
        return Wait(
            f"for {what}",
            f"no running task could {ends}",
            f"find the task that should {ends}. It may have failed, returned early, or "
            "used another name. Add a timeout to the wait.",
        )
    forked = case.run.of(DriverForked)
    if forked and position.in_multiprocessing and position.lasted >= _LONG_FOR_A_FORK:
        return _of_a_fork(forked[-1])
    return _IN_RUN if position.in_client("run", "_run") else None


_LONG_FOR_A_FORK = 30.0
"""Seconds after which a process that was forked may wait rather than compute."""


def _of_a_fork(fork: DriverForked) -> Wait:
    """Return the wait for a process that was forked from a driver with a client.

    What it does is not recorded: it may compute.
    """
    return Wait(
        "for a process that it had forked",
        f"the driver forked it{code_line(fork, ' at ')} while it had a Dask client. That "
        "client does not work in a forked process: whatever it asks of Dask never returns",
        "if that process calls Dask, give it a client of its own (`Client(address)`, made in "
        "that process) and start it with `multiprocessing.get_context('spawn')`, or submit "
        "the work from this process. If it only computes, it may just be slow.",
        "low",
    )


def _of_actors(case: Case, methods: Sequence[ActorMethod]) -> Wait | None:
    """Return the wait for the method of an actor that had been running for longest."""
    if not methods:
        return None
    longest = min(methods, key=lambda each: each.since)
    name = short(longest.method, 60)
    because = f"actor methods are not tasks, and {_had_been_running(case, longest)}"
    if all(each.calls_actor for each in methods):
        return Wait(
            f"for '{name}', a method of an actor that waited for an actor",
            because,
            "the actors of a worker share one thread for their methods, so actors that call "
            "each other wait for each other. Have the driver or a task call both, or make "
            "the inner call without waiting for its result.",
        )
    return Wait(
        f"for '{name}', a method of an actor",
        because,
        "find what that method waits for, and add a timeout there. Further calls of "
        "actors on that worker wait for it, because they share one thread.",
    )


def _had_been_running(case: Case, method: ActorMethod) -> str:
    been = "has been" if case.run.continues else "had been"
    return (
        f"'{short(method.method, 60)}' {been} running on "
        f"{case.name_of(method.subject)} for {duration(method.at - method.since)}"
        + code_line(method, ", at ")
        + (", waiting for a method of an actor" if method.calls_actor else "")
    )


def running_actor_methods(case: Case) -> list[ActorMethod]:
    """Return the last report on each method of an actor that had not returned.

    Closing workers end the methods that wait for one of them: what was reported after the
    driver had given up, or after a worker had begun to close, does not count.
    """
    closed = {each.subject: each.at for each in case.run.of(WorkerClosing)}
    last = {
        (each.subject, each.method, each.since): each
        for each in case.run.of(ActorMethod)
        if not case.outcome.is_after(each.at)
        and each.at < closed.get(each.subject, math.inf)
    }
    return [each for each in last.values() if not each.returned]


def evidence_of_actors(case: Case) -> tuple[Evidence, ...]:
    """Return what is recorded of methods of actors that had not returned."""
    return tuple(
        Evidence(text=f"{_had_been_running(case, each)}.", source="events", at=each.at)
        for each in running_actor_methods(case)
    )


class OutsideWait(NamedTuple):
    """What a task waited for outside of Dask, and what to do about such a wait.

    Attributes:
        what: Completing “it waited”.
        remedy: Without a capital at its beginning.
        of_a_peer: Another task may be the one that was to end the wait.
    """

    what: str
    remedy: str
    of_a_peer: bool = False


_FOR_A_PROGRAM = OutsideWait(
    "for a program that it had started",
    "find what that program waits for, and end the wait with `timeout=`. If it computes and "
    "is only slow, give the run more time.",
)
_FOR_A_PROGRAM_WITH_PIPES = OutsideWait(
    _FOR_A_PROGRAM.what,
    "`wait()` reads nothing. If the program writes to a pipe (`stdout=PIPE`, "
    "`stderr=PIPE`), it blocks as soon as the pipe is full (64 KiB): read it with "
    "`communicate()` or `subprocess.run(…, capture_output=True)`, or write to a file. Else "
    "find what the program waits for, and end the wait with `timeout=`; if it is only slow, "
    "give the run more time.",
)
_FOR_A_PROCESS = OutsideWait(
    "for a process that it had started",
    "find what that process waits for (`py-spy dump --pid PID`). A process that is forked "
    "while another thread holds a lock (of logging, a cache, a library) waits for that lock "
    "forever, and a worker has many threads: start it with "
    "`multiprocessing.get_context('spawn')`, run a program of its own, or give the work to "
    "more workers. `join(timeout=…)` ends the wait.",
)
_FOR_A_CONNECTION = OutsideWait(
    "for a connection that another process was to make",
    "find the process that was to connect, and why it did not: it may have failed or ended, or "
    "be a task that has no thread to run in. Set a time limit (`settimeout`), because Dask has "
    "none for tasks.",
    of_a_peer=True,
)


_FOR_DATA = OutsideWait(
    "for data from a connection",
    "the other end sent nothing. Set a time limit for it (`timeout=` of the call, `settimeout` "
    "of a socket), because Dask has none for tasks, and check the service at the other end.",
)
_FOR_A_FILE_LOCK = OutsideWait(
    "for the lock of a file",
    "find which process holds it (`lslocks`, or the owner that the file names): it may have ended "
    "without removing it. Take it with a time limit, and release it with `with`.",
    of_a_peer=True,
)
_FOR_A_THREAD = OutsideWait(
    "for a lock or another thread of its own process",
    "find which thread of that process should release, set or put what it waits for: another "
    "task of the same worker, or a thread that has failed (Python only prints its exception). "
    "Use `with` for locks, and add a timeout to the wait.",
    of_a_peer=True,
)
_READS = {
    ("socket.py", "readinto"), ("ssl.py", "read"), ("ssl.py", "recv"),
    ("ssl.py", "recv_into"),
}  # fmt: skip
_BY_CALL = (
    (bounded(r"\.\s*(?:recv\w*|readinto)\s*\("), _FOR_DATA),
    (bounded(r"\b(?:flock|lockf)\s*\("), _FOR_A_FILE_LOCK),
)
"""By the innermost line, where that calls what has no frame of its own."""


def outside_wait_of(place: HasStack) -> OutsideWait | None:
    """Return what a task or the driver waited for outside of Dask, if its frames show it."""
    called = {
        (frame.file.replace("\\", "/").rpartition("/")[2], frame.function or "")
        for frame in place.beyond
        if "site-packages" not in frame.file
    }
    functions = {function for _, function in called}
    files = {file for file, _ in called}
    if "subprocess.py" in files:
        reads = functions & {"communicate", "_communicate", "run", "check_output"}
        return _FOR_A_PROGRAM if reads else _FOR_A_PROGRAM_WITH_PIPES
    if files & {"popen_fork.py", "popen_forkserver.py"} or ("pool.py", "get") in called:
        return _FOR_A_PROCESS
    if ("socket.py", "accept") in called:
        return _FOR_A_CONNECTION
    if called & _READS:
        return _FOR_DATA
    innermost = place.stack[-1].code if place.stack else ""
    by_call = (what for call, what in _BY_CALL if call.search(innermost))
    return next(by_call, _of_own_threads(place))


def _of_own_threads(place: HasStack) -> OutsideWait | None:
    """Return that it waited for a thread of its own process, in a call of its own code."""
    beyond = [frame.file.replace("\\", "/") for frame in place.beyond]
    waits = bool(beyond) and all(each.endswith(_OF_THREADS) for each in beyond)
    return _FOR_A_THREAD if waits else None


_OF_THREADS = ("/threading.py", "/queue.py")


_FILES = (
    "/threading.py",
    "/selectors.py",
    "/socket.py",
    "/ssl.py",
    "/subprocess.py",
    "/queue.py",
    "/multiprocessing/connection.py",
    "/multiprocessing/popen_fork.py",
)
_CALLS = bounded(
    r"\b(?:sleep|wait\w*|acquire|recv\w*|accept|select|poll|flock|lockf)\s*\("
)
_SOON = 2.0  # seconds
_BUSY, _COMPUTING = 0.2, 0.8
_FEWEST = 3


def is_an_expression(place: HasStack) -> bool:
    """Return whether a task or the driver is at a line that calls nothing: it computes."""
    if not place.stack or place.beyond or not place.stack[-1].code:
        return False
    return not _CALL.search(place.stack[-1].code)


_CALL = bounded(r"\w\s*\(|\bawait\b|\byield\b|\bimport\b|\bfor\b|\bwith\b")


def is_a_wait(place: HasStack) -> bool:
    """Return whether a task or the driver is in a call that waits, by its innermost frame."""
    if not place.stack:
        return False
    innermost = place.stack[-1]
    return innermost.file.endswith(_FILES) or bool(_CALLS.search(innermost.code))


def idle_share(case: Case, hang: Hang, task: HangingTask) -> float | None:
    """Return the share of a core that the worker of a waiting task used meanwhile.

    None if the task is in no call that waits, if its worker computed, or if it is unknown.
    """
    if not is_a_wait(task):
        return None
    share = _used_meanwhile(case, hang, task)
    return share if share is not None and share < _BUSY else None


def busy_share(case: Case, hang: Hang, task: HangingTask) -> float | None:
    """Return the share of a core that the worker of a computing task used meanwhile.

    None if it did not compute all the time, or if other tasks ran on that worker.
    """
    beside = [each for each in hang.executing if each.worker == task.worker]
    share = None if len(beside) > 1 else _used_meanwhile(case, hang, task)
    return share if share is not None and share > _COMPUTING else None


def _used_meanwhile(case: Case, hang: Hang, task: HangingTask) -> float | None:
    """Return the median share of a core that a task's worker used since the task began."""
    if task.executing_for is None:
        return None
    begun = hang.until - task.executing_for
    metrics = case.run.metrics.filter(pl.col("source") == task.worker)
    moments = metrics["at"].dt.epoch("us") / 1e6
    # A sample covers the time before it.
    during = metrics.filter(
        (moments > begun + 1) & (moments < last_sign_of_life(case.run))
    )
    used = during["cpu"].drop_nulls()
    if len(used) < _FEWEST:
        return None
    return float(used.median() or 0.0) / 100  # type: ignore[arg-type]


def not_released_by(case: Case, at: float, traceback: str) -> str:
    """Return a sentence on the lock that a task had taken when it failed; empty if on none.

    Others still waited for one when the run ended, at a line of the same function that comes
    before the one at which this task failed.

    Args:
        at: When it failed, epoch seconds.
        traceback: What it raised.
    """
    hang = case.standstill
    if hang is None or at > hang.since + _SOON:
        return ""
    own = user_frames(traceback)
    for task in hang.executing:
        shared, waits = shared_object_in(task.beyond), task.own_frame
        if shared is None or shared[0] not in HELD or waits is None:
            continue
        if any(
            (frame.file, frame.function) == (waits.file, waits.function)
            and frame.line > waits.line
            for frame in own
        ):
            name = f" ({quoted(list(hang.taken))})" if hang.taken else ""
            return (
                f"After that, {quoted_key(task.key, 60)} and others waited for "
                f"{shared[0]}{name} at {waits}, a line that this task had passed: it "
                "probably failed without releasing it"
            )
    return ""
