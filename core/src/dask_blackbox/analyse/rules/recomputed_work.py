"""Was the same task computed more than once?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, short, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["RECOMPUTED_WORK"]

_FITS = 0.5


def _ask(case: Case) -> Iterator[Finding]:
    again = _again(case)
    cost = float(again["lost"].sum() or 0.0)
    whole = case.loads.compute
    if cost < RECOMPUTED_WORK.threshold(case, "core_seconds"):
        return
    if cost < RECOMPUTED_WORK.threshold(case, "share") * whole:
        return
    by_prefix = (
        again.group_by("prefix")
        .agg(
            keys=pl.len(),
            times=pl.col("times").max(),
            lost=pl.col("lost").sum(),
            nbytes=pl.col("nbytes").sum(),
        )
        .sort("lost", descending=True)
    )
    first = by_prefix.row(0, named=True)
    name, held = short(str(first["prefix"]), 40), int(first["nbytes"] or 0)
    lost_workers = len(case.deaths)
    limits = case.run.workers.filter(pl.col("left").is_null())["memory_limit"].sum()
    if lost_workers:
        why = (
            f"{counted(lost_workers, 'worker')} died and took results along that were still "
            "wanted."
        )
        remedy = (
            "See why workers died, in the other findings. Until that is mended, write what is "
            f"dear to storage: '{name}' made {size(held)} altogether."
        )
    else:
        why = (
            "No worker died: their results were released after each computation, and the next "
            "one asked for the same keys."
        )
        remedy = _keep(name, held, int(limits or 0))
    yield RECOMPUTED_WORK.found(
        f"{duration(cost)} of computing was done more than once, most of it by '{name}'",
        cause=(
            f"{counted(len(again), 'task')} were computed again, "
            f"'{name}' up to {first['times']} times: {duration(cost)} of "
            f"{duration(whole)}, {cost / whole:.0%}, were for nothing. {why}"
        ),
        remedy=remedy,
        confidence="high",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"'{short(str(row['prefix']), 60)}': {counted(row['keys'], 'task')}, up "
                f"to {row['times']} times, {duration(row['lost'])} too much",
                source="tasks",
            )
            for row in by_prefix.head(5).iter_rows(named=True)
        ),
    )


def _again(case: Case) -> pl.DataFrame:
    """Return the keys that were computed more than once: `times`, `lost`, `nbytes`."""
    return (
        case.run.tasks.filter(pl.col("outcome") == "finished")
        .group_by("key", "prefix")
        .agg(
            times=pl.len(),
            # What the last execution took had to be, whenever it was done.
            lost=pl.col("compute").sum() - pl.col("compute").last(),
            nbytes=pl.col("nbytes").last(),
        )
        .filter(pl.col("times") > 1)
    )


def _keep(name: str, held: int, memory: int) -> str:
    if memory and held > _FITS * memory:
        return (
            f"Ask for everything at once, `dask.compute(a, b, c)`, so that '{name}' is "
            f"computed once for all of them; its results ({size(held)}) are too large to be "
            f"held beside other work in {size(memory)}."
        )
    return (
        f"`.persist()` what '{name}' makes: {size(held)} altogether"
        + (f", of {size(memory)} that the workers have" if memory else "")
        + "; or ask for everything at once, `dask.compute(a, b, c)`."
    )


RECOMPUTED_WORK = Rule(
    slug="recomputed-work",
    title="Work was done more than once",
    question="Was the same task computed more than once?",
    severity="warning",
    ask=_ask,
    thresholds={"core_seconds": 3, "share": 0.2},
    page=Page(
        detects=(
            "The same keys were computed again: because a worker took their results along when "
            "it died, or because each of several computations began from the beginning."
        ),
        evidence=(
            "Keys with more than one finished execution; the cost is all that they computed "
            "but the last time. Attempts that failed don't count. Silent below "
            "`recomputed-work.core_seconds` and `recomputed-work.share` of all computing."
        ),
        remedy="Persist what is asked for again; compute things together.",
        before="print(len(frame))\nprint(frame.x.sum().compute())\nprint(frame.x.max().compute())",
        after="frame = frame.persist()\nprint(*dask.compute(frame.shape[0], frame.x.sum(), frame.x.max()))",
    ),
)
