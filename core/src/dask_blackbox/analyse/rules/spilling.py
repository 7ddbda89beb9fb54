"""Did workers spill so much to disk that it cost time?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["SPILLING"]


def _ask(case: Case) -> Iterator[Finding]:
    spilled = (
        case.run.metrics.filter(pl.col("spilled") > 0)
        .group_by("source")
        .agg(pl.col("spilled").max())
        .sort("spilled", descending=True)
    )
    total = int(spilled["spilled"].sum() or 0)
    workers = case.run.workers.filter(pl.col("memory_limit") > 0)
    memory = int(workers.unique("name")["memory_limit"].sum() or 0)
    disk = float(case.run.tasks["disk"].sum() or 0)
    written = _moved(case, "disk-write")
    read = _moved(case, "disk-read")
    compute = float(case.run.tasks["compute"].sum() or 0)
    much = memory and total >= SPILLING.threshold(case, "share_of_memory") * memory
    slow = disk >= 1 and disk >= SPILLING.threshold(case, "share_of_time") * compute
    if not total or not (much or slow):
        return
    first = spilled.row(0, named=True)
    more = int(first["spilled"])
    waited = (
        f" Tasks waited {duration(disk)} for it, beside {duration(compute)} of computing."
        if disk
        else ""
    )
    yield SPILLING.found(
        f"Workers spilled {size(total)} to disk",
        cause=(
            f"{counted(len(spilled), 'worker')} held {size(total)} on disk at the worst, most "
            f"of all {case.name_of(first['source'])} with {size(first['spilled'])}.{waited}"
            + (
                f" They wrote {size(written)} and read {size(read)} back: "
                f"{size(read)} would not have moved with enough memory."
                if read
                else ""
            )
        ),
        remedy=(
            f"About {size(more)} more memory for each worker would hold it. Otherwise release "
            "results that are not needed (don't `persist` what is read once), or compute in "
            "fewer, smaller stages."
        ),
        confidence="high" if slow else "medium",
        severity="warning" if slow else "notice",
        subject=Subject(worker=first["source"]),
        cost=(
            Cost(amount=disk, share=disk / (disk + compute))
            if slow
            else Cost(
                amount=total, unit="bytes", share=total / memory if memory else None
            )
        ),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(row['source'])}: {size(row['spilled'])} on disk",
                source="metrics",
            )
            for row in spilled.head(5).iter_rows(named=True)
        ),
    )


def _moved(case: Case, activity: str) -> float:
    """Return the bytes that workers wrote to disk, or read, as far as Dask counts them."""
    contexts = ("execute", "get-data", "gather-dep", "memory-monitor")
    return sum(case.tolls.total(each, activity, "bytes") for each in contexts)


SPILLING = Rule(
    slug="spilling",
    title="Workers spilled to disk",
    question="Did workers spill so much to disk that it cost time?",
    severity="notice",
    retry_advice="memory",
    ask=_ask,
    thresholds={"share_of_memory": 0.1, "share_of_time": 0.1},
    page=Page(
        detects=(
            "Results did not fit into memory, and workers wrote them to disk and read them "
            "back. It is a warning where that took more than a tenth of the computing time."
        ),
        evidence=(
            "Bytes on disk in the workers' samples (from `spilling.share_of_memory`, a tenth "
            "of the cluster's memory), seconds that tasks waited for the disk (from "
            "`spilling.share_of_time`). Silent on a little spilling that nobody feels."
        ),
        remedy="More memory, or fewer results alive at once.",
        before="frame = frame.persist()   # twice the cluster's memory",
        after="frame.to_parquet(target)   # streams through",
    ),
)
