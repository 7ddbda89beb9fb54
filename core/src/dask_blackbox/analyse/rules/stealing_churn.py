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
_ONCE = 1.0


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
    often = STEALING_CHURN.threshold(case, "a_task")
    if _came_later(case):
        often = max(often, _ONCE)  # that is what stealing is for
    if requests < often * tasks:
        return
    transfer = float(case.loads.tasks["transfer"].sum() or 0.0)
    # As many of the transfers as of the tasks were for stealing.
    granted = told[-1].get("stolen")
    stolen = requests if granted is None else int(granted)
    moving = transfer * min(stolen / max(tasks, 1), 1.0)
    cost = requests * _A_REQUEST + min(moving, case.loads.total("overhead"))
    share = case.loads.share(cost)
    if share < STEALING_CHURN.threshold(case, "share"):
        return
    mean = case.loads.compute / max(tasks, 1)
    yield STEALING_CHURN.found(
        f"{requests:,} attempts to move {counted(tasks, 'task')} from worker to worker",
        cause=(
            f"For {counted(tasks, 'task')} of {duration(mean)} the scheduler asked workers "
            f"{requests:,} times to give one up to another, {requests / max(tasks, 1):.1f} "
            f"times a task, and {stolen:,} were given up. Each asks the victim, and moves the "
            f"task's inputs: transfers took {duration(transfer)}, of which about "
            f"{duration(moving)} were for that. It asks so often where what "
            "many short tasks need lies on few workers, and the more so where it misjudges how "
            "long they take (a name of its own for each: half a second) or how large inputs are."
        ),
        remedy=(
            "Put the inputs where the tasks will run before they are submitted: make them on all "
            "workers rather than on some (no `workers=`), `client.rebalance()`, or, of one that "
            "all tasks need, `client.replicate` or `client.scatter(…, broadcast=True)`. Batch "
            f"tasks that take less than {duration(0.1)}. At most {duration(cost)} of core time "
            "can be won. Without stealing (`distributed.scheduler.work-stealing: false`) "
            "tasks stay with their data, which is slower still if that is on one worker."
        ),
        confidence="medium",
        cost=Cost(amount=cost, share=share),
        evidence=(
            Evidence(
                text=f"{requests:,} requests to steal, {stolen:,} granted",
                source="events",
            ),
            Evidence(
                text=f"{counted(tasks, 'task')}, {duration(transfer)} of transfers",
                source="tasks",
            ),
        ),
    )


def _came_later(case: Case) -> bool:
    """Say whether workers came while tasks were there already."""
    begun = case.loads.begin
    joined = case.run.workers["joined"].drop_nulls().dt.epoch("us") / 1e6
    return bool((joined > begun).any())


STEALING_CHURN = Rule(
    slug="stealing-churn",
    title="Tasks were moved from worker to worker",
    question="Did the scheduler keep moving tasks from worker to worker?",
    severity="notice",
    ask=_ask,
    thresholds={"requests": 200, "a_task": 0.3, "share": 0.1},
    page=Page(
        detects=(
            "Work stealing asked for a good part of the tasks to be given up: their durations "
            "or the sizes of their inputs are misjudged, and what they need is sent after them."
        ),
        evidence=(
            "The scheduler's own count of requests to steal, against the tasks that were "
            "executed; and what part of the transfers was for them. Silent below "
            "`stealing-churn.requests`, below `stealing-churn.a_task` requests for each task (one, "
            "if workers came while tasks were there), and below `stealing-churn.share` of the core time."
        ),
        remedy="Spread the inputs first; longer tasks.",
        before="base = client.submit(load)\nclient.map(use, range(10_000), base=base)",
        after="base = client.submit(load)\nclient.replicate(base)\nclient.map(use, range(10_000), base=base)",
    ),
)
