"""Was there no worker on which a task could have run?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import Hang
from dask_blackbox.analyse.hang_evidence import evidence_of_hang, how_it_ended
from dask_blackbox.analyse.restrictions import (
    asks_for,
    offered,
    restrictions_in,
    to_start,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.state import last_sign_of_life
from dask_blackbox.analyse.words import class_of, counted, duration, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["NO_VALID_WORKER"]

_GOODBYE = 2.0
_SAID = r"Attempted to run task '?(?P<key>.+?)'? but timed out after (?P<waited>[\d.]+ ?\w+) waiting"


def _ask(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    named = failure is not None and class_of(failure.exception) in (
        "NoWorkerError",
        "NoValidWorkerError",
    )
    if not case.failed or not (
        named or case.raised("NoWorkerError", "NoValidWorkerError")
    ):
        yield from _in_silence(case)
        return
    said = case.said(_SAID)
    text = case.exception.message if case.exception is not None else ""
    text = failure.message if failure is not None and not text else text
    key = said["key"] if said else (failure.key if failure else None)
    task = restrictions_in(text)
    asks = asks_for(task)
    what = f"'{short(key, 80)}'" if key else "a task"
    waited = f" for {said['waited']}" if said else ""
    yield NO_VALID_WORKER.found(
        f"No worker could run '{short(case.prefix_of(key), 40)}': it asks for "
        f"{short(asks, 50)}"
        if key and asks
        else f"No worker could run {what}",
        cause=(
            f"{what} asks for {short(asks, 200)}, and no worker has that"
            f"{offered(case, task)}. It waited{waited}, as "
            "`distributed.scheduler.no-workers-timeout` allows."
            if asks
            else f"{short(text, 500)}"
            if text
            else f"{what} waited for a worker, and none came that could run it."
        ),
        remedy=(
            f"Start a worker with {short(asks, 80)}{to_start(task)}, or drop the restriction "
            "(`resources=`, `workers=`, `dask.annotate`)."
            if asks
            else "Start workers, or find out why they left; see the deaths in this recording."
        ),
        confidence="high",
        subject=Subject(key=key, prefix=case.prefix_of(key) if key else None),
        evidence=case.exception_evidence(),
    )


def _in_silence(case: Case) -> Iterator[Finding]:
    """Yield what waited for ever, as Dask waits by default without a word."""
    hang = case.hang
    if hang is None:
        yield from _beside_others(case)
        return
    restricted = [each for each in hang.unrunnable if asks_for(each)]
    if restricted:
        yield _of_restrictions(case, hang, restricted[0])
    elif not hang.workers and hang.wanted and _all_left(case):
        yield _of_no_workers(case, hang)


def _beside_others(case: Case) -> Iterator[Finding]:
    """Yield what waited for ever while other tasks of the run went on."""
    exception = case.exception
    if not case.failed or case.explained or case.blame.failure is not None:
        return
    if exception is not None and not only_waited(exception):
        return
    stuck = _still_unrunnable(case)
    if stuck is None:
        return
    task = stuck["tasks"][0]
    key, asks = str(task["key"]), asks_for(task)
    prefix = case.prefix_of(key)
    waited = last_sign_of_life(case.run) - stuck["at"].timestamp() + stuck["lasted"]
    yield NO_VALID_WORKER.found(
        f"No worker could run '{short(prefix, 40)}': it asks for {short(asks, 50)}",
        cause=(
            f"'{short(key, 80)}' asks for {short(asks, 200)}, and no worker has "
            f"that{offered(case, task)}. It had waited for {duration(waited)} when the run "
            "ended, while other tasks went on. Dask waits for such a worker without a word."
        ),
        remedy=_remedy(asks, task),
        confidence="medium",
        subject=Subject(key=key, prefix=prefix),
        evidence=(
            *case.exception_evidence(),
            Evidence(
                text=f"{counted(stuck['number'], 'task')} waited for a worker that was "
                f"not there, '{short(key, 80)}' for {duration(stuck['lasted'])} by then.",
                source="events",
                at=stuck["at"].timestamp(),
            ),
        ),
    )


def _still_unrunnable(case: Case) -> dict[str, Any] | None:
    """Return what was last told of tasks that no worker may run, if they still waited."""
    told = case.run.details("unrunnable")
    if not told or not told[-1].get("tasks"):
        return None
    # What ends in the last moments ends because the run does.
    end = last_sign_of_life(case.run) - _GOODBYE
    over = [fact["at"].timestamp() for fact in case.run.details("unrunnable-over")]
    ended = any(told[-1]["at"].timestamp() < at < end for at in over)
    return None if ended else told[-1]


def _remedy(asks: str, task: dict[str, Any]) -> str:
    return (
        f"Start a worker with {short(asks, 80)}{to_start(task)}, or drop the restriction "
        "(`resources=`, `workers=`, `dask.annotate`). "
        "`distributed.scheduler.no-workers-timeout: 5 min` makes such a task fail."
    )


def _all_left(case: Case) -> bool:
    left = case.run.workers["left"]
    return bool(len(left)) and not left.has_nulls() and not case.deaths


def _of_restrictions(case: Case, hang: Hang, task: dict[str, Any]) -> Finding:
    key, asks = str(task["key"]), asks_for(task)
    prefix = case.prefix_of(key)
    others = (
        f" {counted(hang.states['no-worker'], 'task')} waited like this."
        if hang.states.get("no-worker", 0) > 1
        else ""
    )
    loose = (
        " Its restriction is loose (`allow_other_workers`), so Dask should have let another "
        "worker have it, and did not."
        if task.get("loose") and hang.workers
        else ""
    )
    return NO_VALID_WORKER.found(
        f"No worker could run '{short(prefix, 40)}': it asks for {short(asks, 50)}",
        cause=(
            f"'{short(key, 80)}' asks for {short(asks, 200)}, and "
            f"{_nobody(hang)} that{offered(case, task)}.{others}{loose} Dask waits for such "
            f"a worker without a word. {how_it_ended(case, hang)}"
        ),
        remedy=_remedy(asks, task),
        confidence="medium" if loose else case.sure_of_the_hang,
        subject=Subject(key=key, prefix=prefix),
        evidence=evidence_of_hang(case, hang),
    )


def _of_no_workers(case: Case, hang: Hang) -> Finding:
    return NO_VALID_WORKER.found(
        f"No worker was left, and {counted(hang.wanted, 'task')} waited",
        cause=(
            f"{counted(len(case.run.workers), 'worker')} had come and all had left in order "
            "(retired, scaled down or closed) while work was still wanted. "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=(
            "Keep at least one worker: `cluster.adapt(minimum=1)`; find who scaled the "
            "cluster down. `distributed.scheduler.no-workers-timeout` makes it fail soon."
        ),
        confidence="medium",
        retry_advice="transient",
        evidence=evidence_of_hang(case, hang),
    )


def _nobody(hang: Hang) -> str:
    if not hang.workers:
        return "there is no worker, so none has"
    return (
        f"none of {hang.workers} workers has" if hang.workers > 1 else "no worker has"
    )


NO_VALID_WORKER = Rule(
    slug="no-valid-worker",
    title="No worker could run a task",
    question="Did a task wait in vain for a worker that satisfies its restrictions?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "A task asks for a worker, host or resource that no worker has, or there are no "
            "workers at all: for longer than `no-workers-timeout`, or, as that is unlimited by "
            "default, for ever and without a word."
        ),
        evidence=(
            "Dask's own exception, which names the task and its restrictions; or, of a run that "
            "hung, the stall detector's account of tasks that no worker may run. Silent "
            "where workers died, which is a cause of its own."
        ),
        remedy="Start such workers, or drop the restriction.",
        before='client.submit(train, resources={"GPU": 1})   # no worker has a GPU',
        after='dask worker … --resources "GPU=1"',
    ),
)
