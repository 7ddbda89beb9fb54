"""Did the run pay more for handing out its tasks than for computing them?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.prefixes import computed_by_prefix, told_of_prefixes
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.tolls import MANY_EDGES
from dask_blackbox.analyse.words import counted, duration, short
from dask_blackbox.finding import Cost, Finding, Subject

__all__ = ["TINY_TASKS"]

_GOOD_TASK = 0.2  # seconds: what handing it out costs is a hundredth of it
_HANDED_OUT = 0.002  # seconds of each thread, on a host that is free


def _ask(case: Case) -> Iterator[Finding]:
    loads = case.loads
    if any(finding.rule == "scheduler-overloaded" for finding in case.found):
        return  # that is why threads waited
    tiny = TINY_TASKS.threshold(case, "seconds_a_task")
    number = int(loads.total("number"))
    if number < TINY_TASKS.threshold(case, "tasks"):
        return
    crowded = pl.col("compute") < tiny * pl.col("number")
    cost = loads.total("overhead", crowded)
    others = TINY_TASKS.threshold(case, "others")
    if any(host.others > others for host in case.tolls.hosts):
        # Threads waited for a core then, too, and so did the scheduler.
        number_then = loads.total("number", crowded)
        cost = min(cost, _HANDED_OUT * number_then * loads.threads.highest)
    share = loads.share(cost)
    if cost < TINY_TASKS.threshold(case, "core_seconds") or not loads.matters(cost):
        return
    if share < TINY_TASKS.threshold(case, "share"):
        return
    by_prefix = (
        computed_by_prefix(loads)
        .filter(pl.col("compute") < tiny * pl.col("number"))
        .sort("number", descending=True)
    )
    if not len(by_prefix):
        return
    first = by_prefix.row(0, named=True)
    name, mean = short(str(first["prefix"]), 40), first["compute"] / first["number"]
    batch = max(2, round(_GOOD_TASK / max(mean, 1e-4)))
    threads = max(1, round(loads.threads.highest))
    batch = max(2, min(batch, math.ceil(first["number"] / (4 * threads))))
    yield TINY_TASKS.found(
        f"{first['number']:,} tasks of '{name}' computed {duration(mean)} each, and the "
        f"cluster idled {duration(cost)} of core time handing them out",
        cause=(
            f"{counted(number, 'task')} computed {duration(loads.compute)} altogether, "
            f"{duration(loads.compute / number)} each; those of '{name}' "
            f"{duration(mean)}. Scheduling and sending a task takes about a millisecond, "
            f"whatever it does. While tasks waited, threads were idle for "
            f"{duration(cost)}, {share:.0%} of the core time that was there."
            + _asked(case)
        ),
        remedy=(
            f"{_join(case)}Batch about {batch:,} of '{name}' into one (then they take "
            f"{duration(batch * mean)} each): {math.ceil(first['number'] / batch):,} tasks "
            f"instead of {first['number']:,}. For frames and arrays that is the size of "
            f"partitions and chunks: about 100 MiB each; for futures, a function that "
            f"takes a list."
        ),
        confidence="high",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=share),
        evidence=told_of_prefixes(by_prefix),
    )


def _many(case: Case) -> bool:
    edges, tasks = case.tolls.edges
    return edges >= MANY_EDGES * max(tasks, 1)


def _asked(case: Case) -> str:
    """Return that tasks have very many inputs, if they do: that is handed out, too."""
    edges, tasks = case.tolls.edges
    if not _many(case):
        return ""
    return (
        f" They ask for {edges:,} results of each other, {edges / tasks:.0f} each, which are "
        "handed out with them."
    )


def _join(case: Case) -> str:
    if not _many(case):
        return ""
    return "Join what all of them ask for in a task between, so that each asks for one result. "


TINY_TASKS = Rule(
    slug="tiny-tasks",
    title="Tasks were too small",
    question="Did handing out tasks cost more than they computed?",
    severity="warning",
    ask=_ask,
    thresholds={
        "seconds_a_task": 0.02,
        "tasks": 500,
        "core_seconds": 5,
        "share": 0.3,
        "others": 0.5,
    },
    page=Page(
        detects=(
            "So many tasks that take so little that the threads mostly waited for the next "
            "one: each task costs about a millisecond of the scheduler and as much of its "
            "worker, whatever it does."
        ),
        evidence=(
            "The times in which tasks waited while threads were idle and the tasks that ended "
            "computed less than `tiny-tasks.seconds_a_task` on average. Where others have more of "
            "a host's cores than `tiny-tasks.others`, two milliseconds of each thread count for a "
            "task, as the rest was waiting for a core. Silent on fewer than "
            "`tiny-tasks.tasks`, where `scheduler-overloaded` tells of a slow scheduler, and where that idling is less than "
            "`tiny-tasks.core_seconds` or `tiny-tasks.share` of the core time."
        ),
        remedy="Do more in each task: larger partitions and chunks, batches of inputs.",
        before="client.map(inc, range(100_000))",
        after=(
            "def inc_all(numbers):\n    return [inc(n) for n in numbers]\n\n"
            "client.map(inc_all, partition_all(1_000, range(100_000)))"
        ),
    ),
)
