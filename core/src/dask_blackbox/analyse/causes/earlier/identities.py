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
    what_ended,
)
from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.missing_files import worker_of_folder
from dask_blackbox.analyse.retry_advice import Advice
from dask_blackbox.analyse.rule import read_page
from dask_blackbox.analyse.side_effects import removed_files
from dask_blackbox.analyse.symptoms import is_absence, is_leftover, lacks_something
from dask_blackbox.analyse.wording import words_of_identities
from dask_blackbox.events import WorkerClosing, WorkerRemoved
from dask_blackbox.finding import ChainStep, Finding, Subject
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
    deaths = [
        each
        for each in case.deaths
        if each.address == left.subject and abs(each.at - left.at) <= CLOCKS
    ]
    held = {case.prefix_of(key) for death in deaths for key in death.executing}
    if failure.prefix in held and ended_with(case, is_leftover):
        return  # what a task of its kind had begun as its worker died
    slug = case.cause_of(deaths[-1]).slug if deaths else "unknown"
    yield Earlier(
        at=left.at,
        words=words_of_identities.of_lost_result(
            case, failure.key, left, deaths, again
        ),
        message=f"{left.subject}: {left.lost_computed} results",
        source="workers",
        grade=_grade_of_rerun(case),
        root=failure,
        rule="" if slug == "unknown" else slug,
        then=(ChainStep(at=left.at, text=words_of_identities.ran_again(again)),),
        advice=Advice("code", "medium"),
    )


def _grade_of_rerun(case: Case) -> Grade:
    """Return how sure it is that an error is of a task that ran again."""
    if ended_with(case, is_leftover) or ended_with(case, is_absence):
        return "proved"
    return "possible" if ended_with(case, lacks_something) else "evidence"


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
        by_address = death.address in addresses
        if not by_address and not (on_one_host and death.pid in pids):
            continue
        cause = case.cause_of(death)
        page, _ = read_page(cause.slug)
        yield Earlier(
            at=death.at,
            words=words_of_identities.of_named_worker(
                case, death, by_address=by_address
            ),
            message=f"{death.address} died {cause.died}",
            source="workers",
            grade="proved",
            subject=Subject(worker=death.address),
            rule="" if cause.slug == "unknown" else cause.slug,
            advice=Advice(page.retry_advice, "medium"),
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
    workers = {
        each.worker for each in case.failures if each.exception == failure.exception
    }
    yield Earlier(
        at=failure.at - 0.001,
        words=words_of_identities.of_emptied_folder(
            case.name_of(owner.subject), folder, len(workers)
        ),
        message=f"deleted: {folder}",
        source="events",
        grade="proved",
        root=failure,
        advice=Advice("environment", "medium"),
    )
