"""Did tasks that make data run far ahead of those that reduce it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["OVERPRODUCTION"]

_DEFAULT_SATURATION = 1.1


@dataclass(frozen=True, kw_only=True)
class _Pile:
    """Results that piled up before anything used them."""

    prefix: str
    number: int
    made: int
    used: int
    bytes: float
    memory: float
    at: float


def _ask(case: Case) -> Iterator[Finding]:
    pile = _pile(case)
    if (
        pile is None
        or pile.bytes < OVERPRODUCTION.threshold(case, "share") * pile.memory
    ):
        return
    saturation = _saturation(case)
    name = short(pile.prefix, 40)
    each = pile.bytes / max(pile.made, 1)
    threads = max(1, round(case.loads.threads.highest))
    enough = 2 * threads * each
    if saturation > _DEFAULT_SATURATION:
        remedy = (
            f"`distributed.scheduler.worker-saturation` is {saturation:g}: workers are given "
            f"all of '{name}' at once. Set it to 1.1 (the default), and about "
            f"{size(enough)} of its results are alive at a time, instead of "
            f"{size(pile.bytes)}."
        )
    else:
        remedy = (
            f"The scheduler did not take '{name}' for a source that can wait, as its tasks "
            "came one by one, pinned to workers, or with dependencies of their own. Submit "
            "each with what reduces it (one function, `map_partitions`, a graph of `delayed`), "
            "or a few at a time with `as_completed`: about "
            f"{size(enough)} would be alive at a time, instead of {size(pile.bytes)}."
        )
    yield OVERPRODUCTION.found(
        f"'{name}' ran ahead: {size(pile.bytes)} waited in memory to be used",
        cause=(
            f"{pile.made:,} of {pile.number:,} tasks of '{name}' were done when "
            f"{pile.used:,} of the tasks that follow were; their results, "
            f"{size(pile.bytes)}, took {pile.bytes / pile.memory:.0%} of the workers' "
            f"memory ({size(pile.memory)}), to be thrown away one after the other."
        ),
        remedy=remedy,
        confidence="medium",
        subject=Subject(prefix=pile.prefix),
        cost=Cost(
            amount=pile.bytes - min(enough, pile.bytes),
            unit="bytes",
            share=min(pile.bytes / pile.memory, 1.0),
        ),
        evidence=(
            Evidence(
                text=f"{pile.made:,} tasks of '{name}' done, {pile.used:,} tasks after them",
                source="tasks",
                at=pile.at,
            ),
            Evidence(
                text=f"distributed.scheduler.worker-saturation: {saturation:g}",
                source="events",
            ),
        ),
    )


def _pile(case: Case) -> _Pile | None:
    """Return the largest pile of results that later tasks of the same graphs reduced."""
    done = case.loads.tasks.filter(pl.col("outcome") == "finished")
    lives = case.run.workers.filter(
        pl.col("left").is_null() & (pl.col("memory_limit") > 0)
    )
    memory = float(lives["memory_limit"].sum() or 0.0)
    if not memory or not len(done):
        return None
    made = (
        done.group_by("prefix")
        .agg(pl.col("nbytes").sum(), number=pl.len(), begun=pl.col("ended").min())
        .filter(pl.col("number") >= OVERPRODUCTION.threshold(case, "tasks"))
        .sort("nbytes", descending=True, nulls_last=True)
    )
    if not len(made):
        return None
    first = made.row(0, named=True)
    mine = done.filter(pl.col("prefix") == first["prefix"]).sort("ended")
    after = done.filter(
        (pl.col("prefix") != first["prefix"]) & (pl.col("ended") > first["begun"])
    ).sort("ended")
    if not _reduced(case, first, mine, after):
        return None
    # When the largest share was made and the smallest used: at which made less used is most.
    used = mine.join_asof(
        after.select("ended", used=pl.int_range(1, pl.len() + 1)), on="ended"
    ).with_columns(
        pl.col("used").fill_null(0), made=pl.int_range(1, pl.len() + 1),
        bytes=pl.col("nbytes").cum_sum(),
    )  # fmt: skip
    waiting = pl.col("bytes") * (1 - pl.col("used") / max(len(after), 1))
    top = (
        used.with_columns(waiting=waiting)
        .sort("waiting", descending=True)
        .row(0, named=True)
    )
    if top["made"] < OVERPRODUCTION.threshold(case, "ahead") * len(mine):
        return None
    if top["used"] > (1 - OVERPRODUCTION.threshold(case, "ahead")) * len(after):
        return None
    return _Pile(
        prefix=str(first["prefix"]), number=len(mine), made=int(top["made"]),
        used=int(top["used"]), bytes=float(top["waiting"]), memory=memory,
        at=float(top["ended"]),
    )  # fmt: skip


def _reduced(
    case: Case, first: dict[str, Any], mine: pl.DataFrame, after: pl.DataFrame
) -> bool:
    """Say whether what followed was there from the beginning, and made the pile small."""
    if len(after) < first["number"] / 2:
        return False
    if float(after["nbytes"].sum() or 0) > 0.25 * float(first["nbytes"] or 0):
        return False
    last = float(mine["ended"][-1])
    later = case.loads.graphs.filter(case.loads.graphs > last)
    return not len(later)


def _saturation(case: Case) -> float:
    for info in case.run.details("scheduler-info"):
        config: Any = info.get("config") or {}
        for word in ("distributed", "scheduler", "worker-saturation"):
            config = config.get(word) if isinstance(config, dict) else None
        try:
            return float(config)
        except (TypeError, ValueError):
            continue
    return _DEFAULT_SATURATION


OVERPRODUCTION = Rule(
    slug="overproduction",
    title="Data was made faster than it was used",
    question="Did tasks that make data run far ahead of those that reduce it?",
    severity="warning",
    retry_advice="memory",
    ask=_ask,
    thresholds={"share": 0.5, "ahead": 0.6, "tasks": 10},
    page=Page(
        detects=(
            "Most of the input was loaded before any of it was reduced, so that the workers' "
            "memory held what could have gone through it piece by piece."
        ),
        evidence=(
            "How many tasks of the prefix with the most bytes were done when how many of those "
            "after it were, and how large their results are against the workers' memory. Silent "
            "where less than `overproduction.ahead` was made ahead, below "
            "`overproduction.share` of the memory, and on data that was meant to stay "
            "(`persist`), where what uses it was submitted later."
        ),
        remedy="Leave worker-saturation at 1.1; submit each load with its reduction.",
        before='dask.config.set({"distributed.scheduler.worker-saturation": "inf"})',
        after='dask.config.set({"distributed.scheduler.worker-saturation": 1.1})',
    ),
)
