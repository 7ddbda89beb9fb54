"""Were there more threads than tasks to give them?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.prefixes import computed_by_prefix, told_of_prefixes
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, short
from dask_blackbox.finding import Cost, Finding, Subject

__all__ = ["WORKERS_IDLE"]


def _ask(case: Case) -> Iterator[Finding]:
    loads = case.loads
    if any(finding.rule == "straggler" for finding in case.found):
        return  # that is why
    cost = loads.total("lack")
    share = loads.share(cost)
    if cost < WORKERS_IDLE.threshold(case, "core_seconds") or not loads.matters(cost):
        return
    if share < WORKERS_IDLE.threshold(case, "share"):
        return
    window = max(loads.end - loads.begin, 1e-9)
    if window < WORKERS_IDLE.threshold(case, "seconds"):
        return
    average = loads.compute / window
    threads = max(1, round(loads.threads.highest))
    enough = max(1, math.ceil(average * 1.25))
    prefixes = computed_by_prefix(loads).sort("compute", descending=True)
    first = prefixes.row(0, named=True)
    name = short(str(first["prefix"]), 40)
    unused = case.run.workers.filter(
        ~pl.col("address").is_in(loads.tasks["worker"].drop_nulls().unique().to_list())
    )["address"].n_unique()
    yield WORKERS_IDLE.found(
        f"{counted(threads, 'thread')} for {average:.1f} tasks at a time: {share:.0%} of "
        "the core time was idle for want of tasks",
        cause=(
            f"From the first task to the last, {duration(window)}, {average:.1f} of "
            f"{counted(threads, 'thread')} computed on average, and there was no task for "
            f"the others: {duration(cost)} of core time, {share:.0%}. Most of the "
            f"computing was {counted(first['number'], 'task')} of '{name}' "
            f"({duration(first['compute'])})."
            + (
                f" {counted(unused, 'worker')} never computed anything."
                if unused
                else ""
            )
        ),
        remedy=(
            f"Cut the work into more pieces: '{name}' into {2 * threads:,} or more "
            f"(partitions, chunks, inputs), twice the number of threads, and don't let "
            f"each step wait for the one before. If it cannot be cut, "
            f"{counted(enough, 'thread')} would do it in the same time."
        ),
        confidence="high",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=share),
        evidence=told_of_prefixes(prefixes),
    )


WORKERS_IDLE = Rule(
    slug="workers-idle",
    title="Workers had nothing to do",
    question="Were there more threads than tasks to give them?",
    severity="notice",
    ask=_ask,
    thresholds={"core_seconds": 10, "share": 0.45, "seconds": 8},
    page=Page(
        detects=(
            "While the run computed, most threads had nothing to do, because there were fewer "
            "tasks than threads: too few partitions, a chain of steps, a cluster too large."
        ),
        evidence=(
            "The scheduler's count of tasks that are processed or queued, once a second, "
            "against the threads. Silent below `workers-idle.core_seconds`, "
            "`workers-idle.share` of the core time, `workers-idle.seconds` of computing, and "
            "where a few long tasks are the reason, of which `straggler` tells."
        ),
        remedy="More and smaller pieces, or a smaller cluster.",
        before="dd.from_pandas(frame, npartitions=2)   # for 16 threads",
        after="dd.from_pandas(frame, npartitions=32)",
    ),
)
