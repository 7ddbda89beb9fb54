"""Did the garbage collector take a good part of the workers' time?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import duration, short
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["GC_TIME"]


def _ask(case: Case) -> Iterator[Finding]:
    sums = {address: case.tolls.of_worker(address) for address in case.tolls.loads}
    cost = sum(each["gc"] for each in sums.values())
    cpu = sum(each["cpu"] for each in sums.values())
    if cost < GC_TIME.threshold(case, "core_seconds"):
        return
    if cost < GC_TIME.threshold(case, "share") * cpu:
        return
    worst = max(sums, key=lambda address: sums[address]["gc"])
    name = _busiest(case)
    said = [
        line
        for line in case.run.logs.iter_rows(named=True)
        if line["logger"] in ("distributed.gc", "distributed.utils_perf")
    ]
    yield GC_TIME.found(
        f"Garbage collection took {duration(cost)}, {cost / cpu:.0%} of the workers' CPU time",
        cause=(
            f"Full collections took {duration(cost)} of {duration(cpu)} that the workers' "
            f"processes computed, most of all {duration(sums[worst]['gc'])} on "
            f"{case.name_of(worst)}. They look at every object that is alive: there are many "
            f"small ones, or `gc.collect()` is called often. Most of the computing was "
            f"'{name}'."
        ),
        remedy=(
            f"Keep data in arrays and frames rather than in lists and dicts of Python objects; "
            f"work on smaller batches; drop `gc.collect()` from '{name}'. At most "
            f"{duration(cost)} of core time can be won; "
            "`gc.freeze()` after loading, or `gc.set_threshold(100_000, 50, 50)` in a worker "
            "preload, win most of it without a change of the code."
        ),
        confidence="high",
        subject=Subject(prefix=name, worker=worst),
        cost=Cost(amount=cost, share=cost / cpu),
        evidence=(
            *(
                Evidence(
                    text=f"{case.name_of(address)}: {duration(each['gc'])} of "
                    f"{duration(each['cpu'])}",
                    source="events",
                )
                for address, each in list(sums.items())[:5]
            ),
            *(
                Evidence(
                    text=short(line["message"], 160),
                    source="logs",
                    at=line["at"].timestamp(),
                )
                for line in said[:2]
            ),
        ),
    )


def _busiest(case: Case) -> str:
    by_prefix = (
        case.run.tasks.group_by("prefix").agg(pl.col("compute").sum()).sort("compute")
    )
    return str(by_prefix["prefix"][-1]) if len(by_prefix) else ""


GC_TIME = Rule(
    slug="gc-time",
    title="Garbage collection took much time",
    question="Did the garbage collector take a good part of the workers' time?",
    severity="warning",
    ask=_ask,
    thresholds={"core_seconds": 2, "share": 0.15},
    page=Page(
        detects=(
            "Python's garbage collector looked through all objects again and again, because "
            "tasks make very many of them, or ask for it."
        ),
        evidence=(
            "Seconds of full collections that Dask counts in each worker, against the CPU time "
            "of its process. Silent below `gc-time.core_seconds` and `gc-time.share`."
        ),
        remedy="Fewer, larger objects; no `gc.collect()` in tasks.",
        before="def parse(lines):\n    rows = [json.loads(line) for line in lines]\n    gc.collect()\n    return rows",
        after="def parse(lines):\n    return pd.DataFrame.from_records(map(json.loads, lines))",
    ),
)
