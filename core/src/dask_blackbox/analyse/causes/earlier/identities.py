"""What an identity ties to a verdict: the same key, the same address or process, the same path.

A symptom in words may have many reasons.  That a task had finished before, that an exception
names a worker that had died, or that a path is in a worker's own folder leaves few.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import (
    Earlier,
    Grade,
    ended_with,
    remedy_of_deaths,
    what_ended,
)
from dask_blackbox.analyse.death_texts import how_died, name_of
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.rule import read_page
from dask_blackbox.analyse.side_effects import removed_files, worker_of_folder
from dask_blackbox.analyse.symptoms import is_absence, is_leftover, lacks_something
from dask_blackbox.events import WorkerClosing, WorkerRemoved
from dask_blackbox.finding import ChainStep, Finding, Subject
from dask_blackbox.formatting import capital, counted, quoted, quoted_key, short
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch

_ADDRESS = bounded(
    r"\b(?:tcp|tls|ucx|wss?)://(?:[\w.-]{1,253}|\[[0-9a-f:]{2,40}\]):\d{2,5}\b"
)
_PROCESS = bounded(r"\b(?:pid|PID|[Pp]rocess id)\b[ =:#]{0,3}(?P<pid>\d{2,10})\b")
_LONGEST = 20_000
"""Characters of a message that are searched."""

_SPILLED = "/storage/"
"""Where Dask keeps what it spills, in the local directory of a worker."""


def lost_results(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the end of the worker for which Dask had to run a finished task again: the same key.

    What its first execution had made, or used up, is there when it runs again.
    """
    failure = case.blame.failure
    left = None if failure is None else _loss_of_result(case, failure)
    if failure is None or left is None:
        return
    again = _number_run_again(case, left)
    ran = f"{counted(again, 'finished task')} ran again"
    deaths = [
        each
        for each in case.deaths
        if each.address == left.subject and abs(each.at - left.at) <= CLOCKS
    ]
    held = {case.prefix_of(key) for death in deaths for key in death.executing}
    if failure.prefix in held and ended_with(case, is_leftover):
        return  # what a task of its kind had begun as its worker died
    how = _ended(case, deaths)
    slug = case.cause_of(deaths[-1]).slug if deaths else "unknown"
    same = f"{quoted_key(failure.key)} had finished before"
    yield Earlier(
        at=left.at,
        text=f"{capital(case.name_of(left.subject))}, which held the results of finished "
        f"tasks, had{how}; {ran}, and {same}",
        message=f"{left.subject} left with {left.lost_computed} results",
        source="workers",
        headline=f"A worker{how}",
        grade=_grade_of_rerun(case),
        root=failure,
        rule="" if slug == "unknown" else slug,
        then=(ChainStep(at=left.at, text=ran),),
        because="A task whose result is lost with its worker runs again, and finds what its "
        "first execution had left.",
        advice=Advice("code", "medium"),
        remedy="Make the task safe to run again, as Dask may run any task again: it should "
        "not move or delete its input, write a file under another name and rename it, and "
        "use `insert or ignore`. Or release its future as soon as its result is not needed.",
    )


def _grade_of_rerun(case: Case) -> Grade:
    """Return how sure it is that an error is of a task that ran again."""
    if ended_with(case, is_leftover) or ended_with(case, is_absence):
        return "proved"
    return "possible" if ended_with(case, lacks_something) else "evidence"


def _ended(case: Case, deaths: list[WorkerExit]) -> str:
    """Return how a worker ended, after "a worker" or "had"."""
    if not deaths:
        return " left"
    prefixes = dict.fromkeys(case.prefix_of(key) for key in deaths[-1].executing)
    running = f" while running {quoted(prefixes)}" if prefixes else ""
    return f" died{how_died(case, deaths)}{running}"


def _loss_of_result(case: Case, failure: TaskFailure) -> WorkerRemoved | None:
    """Return the end of the worker that held the result of a task that was to run again."""
    done = case.run.tasks.filter(
        FINISHED & (pl.col("key") == failure.key) & (epoch("stop") < failure.at)
    ).sort("stop")
    if failure.killed or done.is_empty():
        return None
    worker, stop = done.select("worker", epoch("stop")).row(-1)
    return next(
        (
            each
            for each in case.run.of(WorkerRemoved)
            if each.subject == worker
            and each.lost_computed
            and stop - CLOCKS <= each.at < failure.at
        ),
        None,
    )


def _number_run_again(case: Case, left: WorkerRemoved) -> int:
    """Return how many tasks ran again that had finished on a worker that was lost."""
    tasks = case.run.tasks.with_columns(epoch("start"), epoch("stop"))
    held = tasks.filter(
        FINISHED & (pl.col("worker") == left.subject) & (pl.col("stop") <= left.at)
    )["key"]
    again = {*tasks.filter(pl.col("start") >= left.at - CLOCKS)["key"]}
    again |= {each.key for each in case.failures if each.at >= left.at}
    return max(len(again & {*held}), 1)


def named_workers(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield the deaths of workers that an exception names: the same address, or process.

    One that names workers that are there as well may be about any of them.
    """
    ended = what_ended(case)
    message = "" if ended is None else ended[1][:_LONGEST]
    addresses = {*_ADDRESS.findall(message)}
    pids = {int(each["pid"]) for each in _PROCESS.finditer(message)}
    failure = case.blame.failure
    own = set[str]() if failure is None else {failure.worker}
    if addresses & {*case.run.workers["address"]} - _gone(case) - own:
        return
    on_one_host = case.run.workers["host"].n_unique() == 1
    for death in case.deaths:
        if death.address in addresses:
            what = f"the address {death.address}"
        elif on_one_host and death.pid in pids:
            what = f"the process {death.pid}"
        else:
            continue
        cause = case.cause_of(death)
        page, _ = read_page(cause.slug)
        yield Earlier(
            at=death.at,
            text=f"{capital(name_of(case, death))} had died{how_died(case, [death])} "
            f"({cause.because})",
            message=f"{death.address} died{how_died(case, [death])}",
            source="workers",
            headline=f"A worker died{how_died(case, [death])}",
            grade="proved",
            subject=Subject(worker=death.address),
            rule="" if cause.slug == "unknown" else cause.slug,
            because=f"The exception names {what}, which is that worker's.",
            advice=Advice(page.retry_advice, "medium"),
            remedy=remedy_of_deaths(case, [death]),
        )


def _gone(case: Case) -> set[str]:
    """Return the addresses of workers that had left before the outcome, however that was."""
    return {
        each.subject
        for each in case.run.of(WorkerRemoved)
        if not case.outcome.is_after(each.at)
    }


def emptied_folders(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield that spilled results were deleted: the path is in the worker's own local directory."""
    failure = case.blame.failure
    if failure is None or failure.killed:
        return
    owner = worker_of_folder(case.run, failure.message)
    if owner is None or owner.subject != failure.worker:
        return
    folder = f"{owner.local_directory}{_SPILLED}"
    known = any(each.at <= failure.at for each in removed_files(case, failure.message))
    if folder not in failure.message or known:
        return
    if any(
        each.subject == owner.subject and each.at <= failure.at
        for each in (*case.run.of(WorkerRemoved), *case.run.of(WorkerClosing))
    ):
        return  # it removes its own directory as it closes
    who = case.name_of(owner.subject)
    workers = {
        each.worker for each in case.failures if each.exception == failure.exception
    }
    several = (
        f", and {counted(len(workers), 'worker')} met it" if len(workers) > 1 else ""
    )
    yield Earlier(
        at=failure.at - 0.001,
        text=f"The files with spilled results had been deleted from the local directory of {who}, "
        f"{short(folder, 160)}{several}",
        message=f"deleted from {folder}",
        source="events",
        headline="Spilled results were deleted from the local directory of a worker",
        grade="proved",
        root=failure,
        because="The path is in that worker's own local directory, the worker was still "
        "running, and no code of the run is known to have deleted it.",
        advice=Advice("environment", "medium"),
        remedy="Find what deletes old files there (`systemd-tmpfiles`, `tmpwatch`, a cleaning "
        "job), and exclude the folder, or have workers use another one "
        "(`--local-directory`, `temporary-directory`).",
    )
