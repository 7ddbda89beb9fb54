"""Did the scheduler keep moving tasks from worker to worker?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["STEALING_CHURN"]

# Seconds of the scheduler, the victim and the thief for a request, measured.
_A_REQUEST = 0.001


def _ask(case: Case) -> Iterator[Finding]:
    told = case.run.details("scheduler-load")
    if len(told) < 2:  # noqa: PLR2004
        return
    requests = int(
        (told[-1].get("steal_requests") or 0) - (told[0].get("steal_requests") or 0)
    )
    tasks = len(case.loads.tasks)
    if requests < STEALING_CHURN.threshold(case, "requests"):
        return
    if requests < STEALING_CHURN.threshold(case, "a_task") * tasks:
        return
    transfer = float(case.loads.tasks["transfer"].sum() or 0.0)
    cost = requests * _A_REQUEST + min(transfer, case.loads.total("overhead"))
    share = case.loads.share(cost)
    if share < STEALING_CHURN.threshold(case, "share"):
        return
    mean = case.loads.compute / max(tasks, 1)
    yield STEALING_CHURN.found(
        f"{requests:,} attempts to move {counted(tasks, 'task')} from worker to worker",
        cause=(
            f"For {counted(tasks, 'task')} of {duration(mean)} the scheduler asked workers "
            f"{requests:,} times to give one up to another, {requests / max(tasks, 1):.1f} "
            f"times a task. Each asks the victim, and moves the task's inputs: transfers took "
            f"{duration(transfer)}."
        ),
        remedy=(
            "Turn stealing off for this job, `distributed.scheduler.work-stealing: false`, or "
            "ask for it less often (`distributed.scheduler.work-stealing-interval: 1s`). If "
            "all tasks need one large input, `client.replicate` or "
            "`client.scatter(…, broadcast=True)` puts it everywhere first; batch tasks that "
            f"take less than {duration(0.1)}."
        ),
        confidence="medium",
        cost=Cost(amount=cost, share=share),
        evidence=(
            Evidence(text=f"{requests:,} requests to steal", source="events"),
            Evidence(
                text=f"{counted(tasks, 'task')}, {duration(transfer)} of transfers",
                source="tasks",
            ),
        ),
    )


STEALING_CHURN = Rule(
    slug="stealing-churn",
    title="Tasks were moved from worker to worker",
    question="Did the scheduler keep moving tasks from worker to worker?",
    severity="notice",
    ask=_ask,
    thresholds={"requests": 300, "a_task": 0.5, "share": 0.1},
    page=Page(
        detects=(
            "Work stealing asked for tasks to be given up about as often as there are tasks: "
            "their durations are misjudged, or all of their data lies on one worker."
        ),
        evidence=(
            "The scheduler's own count of requests to steal, against the tasks that were "
            "executed. Silent below `stealing-churn.requests`, below `stealing-churn.a_task` "
            "requests for each task, and below `stealing-churn.share` of the core time."
        ),
        remedy="Spread the inputs first; longer tasks; stealing off.",
        before="base = client.submit(load)\nclient.map(use, range(10_000), base=base)",
        after="base = client.submit(load)\nclient.replicate(base)\nclient.map(use, range(10_000), base=base)",
    ),
)
