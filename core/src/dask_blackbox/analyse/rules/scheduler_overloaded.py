"""Could the scheduler not keep up with handing out tasks?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["SCHEDULER_OVERLOADED"]

_GOOD_TASK = 0.2


def _ask(case: Case) -> Iterator[Finding]:
    if any(finding.rule == "tiny-tasks" for finding in case.found):
        return  # that is why
    loads = case.loads
    if len(loads.tasks) < SCHEDULER_OVERLOADED.threshold(case, "tasks"):
        return
    others = SCHEDULER_OVERLOADED.threshold(case, "others")
    if any(host.others > others for host in case.tolls.hosts):
        return  # nobody had a core there, the scheduler neither
    busy = pl.col("cpu") >= SCHEDULER_OVERLOADED.threshold(case, "cpu")
    cost = loads.total("overhead", busy)
    share = loads.share(cost)
    graphs = case.tolls.graphs
    idle = max(loads.all_capacity - loads.compute, 0.0)
    building = min(graphs * loads.threads.highest, idle)
    if building > cost and graphs >= SCHEDULER_OVERLOADED.threshold(
        case, "graph_seconds"
    ):
        cost, share = building, building / max(loads.all_capacity, 1e-9)
    if cost < SCHEDULER_OVERLOADED.threshold(case, "core_seconds") or not loads.matters(
        cost
    ):
        return
    if share < SCHEDULER_OVERLOADED.threshold(case, "share"):
        return
    number = len(loads.tasks)
    window = max(loads.end - loads.begin, 1e-9)
    crowded = loads.slices.filter(busy)
    seconds = float(crowded["seconds"].sum() or 0.0)
    rate = float(crowded["number"].sum() or 0) / max(seconds, 1e-9)
    threads = max(1, round(loads.threads.highest))
    yield SCHEDULER_OVERLOADED.found(
        f"The scheduler was the bottleneck: {duration(cost)} of core time idled while it "
        "worked",
        cause=(
            f"The scheduler's process computed at its limit for {duration(seconds)} of "
            f"{duration(window)}, and handed out {rate:,.0f} tasks a second meanwhile; "
            f"{counted(threads, 'thread')} waited for it with tasks at hand. It took in "
            f"{counted(len(loads.graphs), 'graph')} of {counted(number, 'task')} in "
            f"{duration(graphs)}."
        ),
        remedy=(
            f"{threads} threads are fed well if a task computes for "
            f"{duration(max(_GOOD_TASK, threads / 500))} or more (here: "
            f"{duration(loads.compute / max(number, 1))}): fuse or batch tasks, make "
            "partitions larger, and avoid graphs in which everything depends on everything. "
            "Give the scheduler a core of its own."
        ),
        confidence="medium",
        cost=Cost(amount=cost, share=share),
        evidence=tuple(
            Evidence(
                text=f"scheduler at {row['cpu']:.0f} % of a core, "
                f"{row['number']:,} tasks ended in {duration(row['seconds'])}",
                source="metrics",
                at=row["begin"],
            )
            for row in crowded.sort("overhead", descending=True)
            .head(4)
            .iter_rows(named=True)
        ),
    )


SCHEDULER_OVERLOADED = Rule(
    slug="scheduler-overloaded",
    title="The scheduler could not keep up",
    question="Could the scheduler not keep up with handing out tasks?",
    severity="warning",
    ask=_ask,
    thresholds={
        "core_seconds": 10,
        "share": 0.25,
        "cpu": 80,
        "graph_seconds": 5,
        "tasks": 500,
        "others": 0.75,
    },
    page=Page(
        detects=(
            "Workers had threads free and tasks were there, but the scheduler, which is one "
            "process, was busy: too many tasks, too many dependencies, a huge graph."
        ),
        evidence=(
            "Samples of the scheduler's CPU, the threads that idled meanwhile although tasks "
            "waited, and the time that it took to read graphs. Silent where `tiny-tasks` says "
            "why, below `scheduler-overloaded.tasks`, `scheduler-overloaded.core_seconds` and "
            "`scheduler-overloaded.share`, and on hosts of which others have "
            "`scheduler-overloaded.others` of the cores."
        ),
        remedy="Fewer, longer tasks; fewer dependencies; a core for the scheduler.",
        before="da.ones((100_000, 100_000), chunks=(100, 100)).T.sum().compute()   # 1,000,000 chunks",
        after='da.ones((100_000, 100_000), chunks="128 MiB").T.sum().compute()',
    ),
)
