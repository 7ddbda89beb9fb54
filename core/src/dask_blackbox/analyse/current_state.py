"""What a run that has not ended is doing: what it waits for, or how far it is.

The rules know what runs hung on that were stopped.  So a run in which nothing has moved for
minutes is diagnosed as if it were stopped now; only the words differ.
"""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGTERM
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse import Case, verdict_in
from dask_blackbox.analyse.causes.kinds import DEATHS, STALLED, WAITS
from dask_blackbox.analyse.driver_position import (
    DriverPosition,
    evidence_of_position,
    shared_object_in,
)
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.analyse.frames import code_of
from dask_blackbox.analyse.hang_texts import is_a_wait
from dask_blackbox.analyse.progress import new_tasks
from dask_blackbox.analyse.run_state import last_sign_of_life, seconds_of
from dask_blackbox.analyse.sketching.normalisation import normal_prefix
from dask_blackbox.analyse.standstills import Hang, HangingTask
from dask_blackbox.events import DriverAttached, GraphUpdated, WorkerStatusChanged
from dask_blackbox.finding import CurrentState, Evidence, Finding
from dask_blackbox.formatting import (
    code_line,
    counted,
    duration,
    quoted_key,
    short,
)
from dask_blackbox.guard import guard
from dask_blackbox.manifest import Ending
from dask_blackbox.run_tables import FINISHED, RunTables, epoch

_PATIENCE = 60.0
"""Seconds without a finished task that are no wait yet, whatever is usual."""
_TIMES_USUAL = 2.0
"""How many times as long as usual a task has to run until it counts as waiting."""
_QUIET = 10.0
"""Seconds without a finished task, and times as long as usual, that say nothing of what is left."""
_WINDOW = 60.0
"""Seconds over which the rate is taken."""
_IDLE = 0.05
"""The share of a core up to which a driver waits, in whatever call it is."""

_EXPLAINS_WAIT = DEATHS | WAITS | {STALLED, "cannot-connect", "workers-pending"}
"""Rules whose findings say what a run is waiting for, or what keeps it from progressing."""

_ENDS = {
    "cluster-lost-worker": "a worker is added (`cluster.scale`)",
    "disk-full": "a paused worker has memory again: results are released, or the disk has space",
    "no-valid-worker": "a worker that has what the tasks ask for connects to the scheduler",
    "workers-never-arrived": "enough workers connect to the scheduler",
    "workers-paused": "the memory of a worker falls below the share at which it pauses",
    "workers-pending": "the cluster's manager starts the jobs or pods of the workers",
}
"""What would end what tasks wait for, by rule."""
_NEVER = frozenset({"dependency-not-serializable", "nested-client-deadlock"})


class _Work(NamedTuple):
    """How far the tasks are.

    Attributes:
        done: How many keys have finished.
        sent: How many tasks the graphs so far have.
        rate: Tasks a second, over the last minute with any.
        last: When the last one finished, epoch seconds; None: none has.
        idle: Seconds since then, or since the run began.
        gap: Seconds between two that finished, on average.
    """

    done: int
    sent: int
    rate: float
    last: float | None
    idle: float
    gap: float

    @property
    def left(self) -> int:
        return max(self.sent - self.done, 0)

    @property
    def text(self) -> str:
        if not self.sent:
            return f"{counted(self.done, 'task')} done" if self.done else ""
        return f"{self.done:,} of {counted(self.sent, 'task')} done"


def current_state(run: RunTables, history: Callable[[], History]) -> CurrentState:
    """Return what a run that has not ended is doing.

    Args:
        run: The run.
        history: Returns the runs before it; only asked where nothing has moved for long.
    """
    now = last_sign_of_life(run)
    work = _work_of(run, now)
    if work.left and work.idle < _PATIENCE:
        return _progressing(run, work)
    stopped = run.with_ending(
        Ending(state="aborted", exit_code=-SIGTERM, ended=now, lasted=seconds_of(run))
    )
    stopped.continues = True
    case = Case(stopped)
    found: Finding | None = None
    with guard("what a run in progress waits for"):
        found = verdict_in(stopped)
    if found is not None and found.rule in _EXPLAINS_WAIT:
        return _explained(case, work, found, history)
    hang, position = case.standstill, case.driver_position
    if hang is not None and hang.longest is not None:
        return _running_task(case, work, hang, hang.longest, history)
    if position is not None and position.lasted >= _PATIENCE and not work.left:
        return _of_driver(case, work, position, history)
    return _progressing(run, work)


def _work_of(run: RunTables, now: float) -> _Work:
    # A result that was lost with its worker is computed again, which is no progress.
    finished = run.tasks.filter(FINISHED).sort("stop").unique("key", keep="first")
    last = finished.select(epoch("stop").max()).item()
    recent, seconds, gap = 0, 1.0, 0.0
    if last is not None:
        recent = len(finished.filter(epoch("stop") > last - _WINDOW))
        first = finished.select(epoch("start").min()).item()
        # A task that takes longer than the others makes the rate fall while it lasts.
        seconds = max(min(_WINDOW, last - first), now - last, 1.0)
        gap = (last - first) / len(finished)
    sent = sum(map(new_tasks, run.of(GraphUpdated)))
    done = len(finished)
    idle = now - (last or run.manifest.started)
    sent = sent if sent >= done else 0
    return _Work(done, sent, recent / seconds, last, idle, gap)


def _progressing(run: RunTables, work: _Work) -> CurrentState:
    """Return one sentence on a run in which tasks finish, or which has just begun."""
    took = duration(seconds_of(run))
    if not work.done and not work.left:
        there = run.workers["left"].null_count()
        attached = len(run.of(DriverAttached)) > 1 or bool(there)
        what = (
            f"no task was submitted; {counted(there, 'worker')} connected"
            if attached
            else "the driver has not connected to a cluster"
        )
        return CurrentState(text=f"Running for {took}: {what}")
    if not work.done:
        return CurrentState(text=f"Running for {took}: {work.text}")
    if not work.left:
        return CurrentState(text=f"Running for {took}: {work.text}, none is pending")
    if work.idle > _QUIET * max(work.gap, 1.0):
        quiet = f"none has finished for {duration(work.idle)}"
        return CurrentState(
            text="; ".join(
                [f"Running for {took}: {work.text}, {quiet}", *_troubles(run)]
            )
        )
    rate = (
        f"{work.rate:,.1f} a second"
        if work.rate >= 1
        else f"{work.rate * 60:,.1f} a minute"
    )
    left = f", about {duration(work.left / work.rate)} left" if work.rate else ""
    troubles = _troubles(run)
    well = "" if troubles else " well"
    text = f"Running{well} for {took}: {work.text}, {rate}{left}"
    return CurrentState(text="; ".join([text, *troubles]))


def _troubles(run: RunTables) -> list[str]:
    """Return what has gone wrong although tasks finish."""
    died = len(Case(run).deaths)
    failed = run.errors.filter(pl.col("outcome") != "retried")["key"].n_unique()
    last = {each.subject: each.after for each in run.of(WorkerStatusChanged)}
    there = run.workers.filter(pl.col("left").is_null())["address"]
    paused = sum(last.get(address) == "paused" for address in there)
    return [
        f"{counted(number, noun)} {verb}"
        for number, noun, verb in (
            (died, "worker", "died"),
            (failed, "task", "failed"),
            (paused, "worker", "paused for lack of memory"),
        )
        if number
    ]


def _explained(
    case: Case, work: _Work, found: Finding, history: Callable[[], History]
) -> CurrentState:
    """Return what a run waits for, by the rule that would explain its end."""
    hang, position = case.standstill, case.driver_position
    longest = hang.longest if hang is not None and found.rule == STALLED else None
    if longest is not None and hang is not None:
        usual = _usual_of(case, longest.prefix, history)
        if (longest.executing_for or 0.0) < usual.patience:
            return _running_task(case, work, hang, longest, history)
    since = _since(case, work, hang, position)
    waited = last_sign_of_life(case.run) - since
    if waited < _PATIENCE:
        return _progressing(case.run, work)
    prefix = "" if longest is None else longest.prefix
    done = f", {work.text}" if work.text else ""
    return CurrentState(
        text=f"Waiting for {duration(waited)}{done}: {found.title}",
        waits=True,
        since=since,
        cause=found.cause,
        usual=_usual_of(case, prefix, history).text,
        ends=_what_ends(found, longest, position),
        remedy=found.remedy,
        rule=found.rule,
        evidence=found.evidence,
    )


def _since(
    case: Case, work: _Work, hang: Hang | None, position: DriverPosition | None
) -> float:
    """Return since when nothing has moved, epoch seconds."""
    if hang is not None:
        return hang.since
    if position is not None:
        return last_sign_of_life(case.run) - position.lasted
    graphs = [each.at for each in case.run.of(GraphUpdated)]
    return work.last or next(iter(graphs), case.run.manifest.started)


def _what_ends(
    found: Finding, longest: HangingTask | None, position: DriverPosition | None
) -> str:
    """Return what would end a wait, in a sentence; empty if that is not known."""
    if found.rule in _NEVER:
        return "It does not end by itself."
    if found.rule in DEATHS:
        return (
            "Dask runs the task again after each death, until "
            "`distributed.scheduler.allowed-failures` is exceeded."
        )
    if found.rule in _ENDS:
        return f"It ends when {_ENDS[found.rule]}."
    waiting = longest if longest is not None else position
    if found.rule != STALLED or waiting is None:
        return ""
    shared = shared_object_in(waiting.beyond)
    if shared is not None:
        return f"It ends when another task or the driver can {shared[1]}."
    return _call_returns(waiting)


def _call_returns(waiting: HangingTask | DriverPosition) -> str:
    frame = waiting.own_frame
    if frame is None:
        return ""
    if isinstance(waiting, DriverPosition) and waiting.of_ended_loop:
        return "It does not end by itself: stop the run."
    place = f"{code_line(frame, name_only=True)}{code_of(frame)}"
    if not is_a_wait(waiting):
        return f"It ends when {place} is done."
    limit = (
        ": Dask has no time limit for tasks" if isinstance(waiting, HangingTask) else ""
    )
    return f"It ends when the call at {place} returns{limit}."


def _running_task(
    case: Case,
    work: _Work,
    hang: Hang,
    longest: HangingTask,
    history: Callable[[], History],
) -> CurrentState:
    """Return that a task takes long, which may be what it needs."""
    usual = _usual_of(case, longest.prefix, history)
    lasted = longest.executing_for or 0.0
    late = lasted >= usual.patience
    took = f"'{short(longest.prefix, 40)}' has been running for {duration(lasted)}"
    at = code_line(longest.own_frame, " at ", name_only=True)
    done = f"{work.text}; " if work.text else ""
    stack = f"Its stack:\n{longest.lines()}"
    shown = Evidence(text=stack, source="events", at=hang.at)
    return CurrentState(
        text=f"Running for {duration(seconds_of(case.run))}: {done}{took}{at}",
        waits=late and usual.longest is not None,
        since=hang.since,
        cause=(
            f"{quoted_key(longest.key)} has been running on "
            f"{case.name_of(longest.worker)} for {duration(lasted)}, and no task has "
            f"finished for {duration(hang.lasted)}. Nothing shows that it waits: it may "
            "need that long."
        ),
        usual=usual.text,
        usual_until=last_sign_of_life(case.run) + usual.patience - lasted
        if usual.longest is not None and not late
        else None,
        ends=_call_returns(longest),
        evidence=(shown,) if longest.stack else (),
    )


def _of_driver(
    case: Case, work: _Work, position: DriverPosition, history: Callable[[], History]
) -> CurrentState:
    """Return what the driver does while no task is pending."""
    frame, lasted = position.own_frame, duration(position.lasted)
    at = code_line(frame, " at ", name_only=True)
    line = code_of(frame)
    used = position.cpu_share
    # Beside many others, a driver that computes has a core for a part of the time only.
    waits = is_a_wait(position) or (used is not None and used < _IDLE)
    computes = used is not None and not waits
    does = "computes" if computes else "waits" if waits else "has been"
    tasks = "no task is pending"
    if not case.recorded_cluster:
        tasks = "it has not connected to a cluster"
    share = ""
    if used is not None:
        share = f", and used {used:.0%} of a core"
    return CurrentState(
        text=(
            f"{'Waiting' if waits else 'Running'} for {lasted}: the driver "
            f"{does}{at}{line}; {work.text or tasks}"
        ),
        waits=waits,
        since=last_sign_of_life(case.run) - position.lasted,
        cause=(
            f"The driver has been at {frame or 'a line of a library'}{line} for "
            f"{lasted}{share}; {tasks}."
        ),
        usual=_usual_of(case, "", history).text,
        ends=_call_returns(position),
        remedy=(
            "Workers are idle meanwhile. If this is heavy work, let a task do it."
            if computes and len(case.run.workers)
            else ""
        ),
        evidence=(evidence_of_position(position),),
    )


class _Usual(NamedTuple):
    """What is usual.

    Attributes:
        text: In sentences; empty if nothing is known.
        longest: Seconds that the longest other task of the same prefix took; None: not known.
    """

    text: str
    longest: float | None

    @property
    def patience(self) -> float:
        """Seconds after which a task counts as waiting."""
        return max(_PATIENCE, _TIMES_USUAL * (self.longest or 0.0))


def _usual_of(case: Case, prefix: str, history: Callable[[], History]) -> _Usual:
    """Return what is usual for tasks of a prefix (if one is given) and for runs of the job."""
    sentences, longest = [], 0.0
    own = case.run.tasks.filter(FINISHED & (pl.col("prefix") == prefix))
    took = (own["stop"] - own["start"]).dt.total_microseconds().max()
    if took is not None:
        longest = float(took) / 1e6  # type: ignore[arg-type]
        number = own["key"].n_unique()
        others = "the other one" if number == 1 else f"each of the {number:,} others"
        sentences.append(
            f"In this run, {others} of '{short(prefix, 40)}' took {_at_most(longest)}."
        )
    good = history().good
    runs = counted(len(good), "good run")
    past = [
        each.seconds[-1]
        for sketch in good
        for each in sketch.prefixes
        if each.name == normal_prefix(prefix) and each.seconds
    ]
    if past:
        sentences.append(
            f"In the last {runs}, tasks of '{short(prefix, 40)}' took {_at_most(max(past))}."
        )
    lasted = sorted(each.duration for each in good if each.duration is not None)
    if lasted:
        middle = duration(lasted[len(lasted) // 2])
        sentences.append(f"This job took {middle} in the median of the last {runs}.")
    known = took is not None or bool(past)
    return _Usual(" ".join(sentences), max([longest, *past]) if known else None)


def _at_most(seconds: float) -> str:
    return f"{duration(seconds)} at most"
