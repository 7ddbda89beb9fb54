"""Did the workers that the run waited for never come?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang_evidence import evidence_of_hang, how_it_ended
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.standing import Standing, evidence_of_standing
from dask_blackbox.analyse.words import counted, duration, short
from dask_blackbox.finding import Finding

__all__ = ["WORKERS_NEVER_ARRIVED"]

_WAITED = (
    r"Only (?P<came>\d+)/(?P<wanted>\d+) workers arrived after (?P<waited>[\w. ]+)"
)
_SCATTERED = r"No valid workers found"


def _ask(case: Case) -> Iterator[Finding]:
    if case.failed and not len(case.run.workers) and case.said(_SCATTERED):
        yield _of_a_scatter(case)
        return
    said = case.said(_WAITED)
    if not case.failed or not said or case.blame.failure is not None:
        yield from _in_silence(case)
        return
    came, wanted = int(said["came"]), int(said["wanted"])
    waited = said["waited"].strip(" .")
    waited = f"{waited} s" if waited.replace(".", "").isdigit() else waited
    died = ""
    if case.deaths:
        causes = sorted({case.cause_of(death).slug for death in case.deaths})
        died = (
            f" {counted(len(case.deaths), 'worker')} came and died "
            f"({', '.join(causes)}): that comes first."
        )
    yield WORKERS_NEVER_ARRIVED.found(
        f"{f'Only {came}' if came else 'None'} of {wanted} workers arrived within {waited}",
        cause=(
            f"The driver waited {waited} for {counted(wanted, 'worker')}; "
            f"{counted(came, 'worker')} arrived.{died}"
        ),
        remedy=(
            f"See why the {'others are' if came else 'workers are'} pending: quota, queue "
            "or nodes of the cluster manager, an image that cannot be pulled, a security "
            "group or interface that keeps them from reaching the scheduler. If they only "
            f"need longer, raise the timeout of `wait_for_workers` above {waited}, or go on "
            f"with {came or 'fewer'}."
        ),
        confidence="high",
        evidence=case.exception_evidence(),
    )


def _of_a_scatter(case: Case) -> Finding:
    return WORKERS_NEVER_ARRIVED.found(
        "No worker ever arrived, and data was to be scattered",
        cause=(
            "`client.scatter` waited for a worker to put its data on; the scheduler was "
            "there, and not one worker ever came."
        ),
        remedy=(
            "See why workers are pending (quota, queue, image, network), and wait for them "
            "before: `client.wait_for_workers(1, timeout=…)`."
        ),
        confidence="high" if case.saw_the_cluster else "medium",
        evidence=case.exception_evidence(),
    )


def _in_silence(case: Case) -> Iterator[Finding]:
    """Yield that work waited for workers and not a single one ever came."""
    stood = case.driver_stood
    waits = stood is not None and stood.in_client("wait_for_workers")
    if stood and waits and case.failed and case.blame.failure is None:
        yield _of_a_driver_that_waited(case, stood)
        return
    hang = case.hang
    if hang is None or hang.workers or not hang.wanted or len(case.run.workers):
        return
    yield WORKERS_NEVER_ARRIVED.found(
        f"No worker ever arrived, and {counted(hang.wanted, 'task')} waited",
        cause=(
            f"{counted(hang.wanted, 'task')} reached the scheduler, and not one worker "
            f"ever did. {how_it_ended(case, hang)}"
        ),
        remedy=(
            "See why workers are pending: quota, queue or nodes of the cluster manager, an "
            "image that cannot be pulled, a security group or interface that keeps them from "
            "reaching the scheduler. `client.wait_for_workers(1, timeout=…)` before the work "
            "makes it fail soon, and `distributed.scheduler.no-workers-timeout` later."
        ),
        confidence=case.sure_of_the_hang,
        evidence=evidence_of_hang(case, hang),
    )


def _of_a_driver_that_waited(case: Case, stood: Standing) -> Finding:
    there = case.run.workers["left"].null_count()
    frame = stood.own_frame
    line = f" (`{short(frame.code, 80)}`)" if frame and frame.code else ""
    return WORKERS_NEVER_ARRIVED.found(
        f"The driver waited {duration(stood.lasted)} for workers; {there or 'none'} "
        f"{'was' if there < 2 else 'were'} there",  # noqa: PLR2004 - one of them
        cause=(
            f"The driver had been in `wait_for_workers`{line} for {duration(stood.lasted)} "
            f"when it was stopped{f', at {frame}' if frame else ''}. "
            f"{counted(there, 'worker')} had come by then, fewer than it waits for."
        ),
        remedy=(
            "See why workers are pending: quota, queue or nodes of the cluster manager, an "
            "image that cannot be pulled, a security group or interface that keeps them from "
            "reaching the scheduler. `wait_for_workers(n, timeout=…)` makes it fail with a "
            "reason."
        ),
        confidence="medium",
        evidence=(evidence_of_standing(stood), *case.exception_evidence()),
    )


WORKERS_NEVER_ARRIVED = Rule(
    slug="workers-never-arrived",
    title="Workers never arrived",
    question="Did the driver wait in vain for workers?",
    severity="failure",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "`client.wait_for_workers(n, timeout=…)` ended before enough workers had "
            "registered; or tasks waited, without a word, for workers of which none came."
        ),
        evidence=(
            "The driver's exception, which counts them, and the workers that the scheduler "
            "saw come and go."
        ),
        remedy="Look at the cluster manager: quota, image, network. Then the timeout.",
        before="client.wait_for_workers(50, timeout=60)",
        after="client.wait_for_workers(10, timeout=600)   # start with what is there",
    ),
)
