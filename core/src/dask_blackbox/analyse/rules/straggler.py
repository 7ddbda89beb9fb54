"""Did the cluster wait for a few tasks that took far longer than their like?"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import duration, short, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["STRAGGLER"]

_LOOKED_AT = 200
_ON_BUSY_HOSTS = 2.0


def _ask(case: Case) -> Iterator[Finding]:
    loads = case.loads
    least = STRAGGLER.threshold(case, "core_seconds")
    if case.tolls.busy:
        least *= _ON_BUSY_HOSTS  # any task may wait for a core there
    long = _long_ones(case)
    if not len(long):
        return
    spans = list(long.select("begun", "ended").iter_rows())
    idle = _idle_during(case, spans)
    rows = [
        row | {"idle": i}
        for row, i in zip(long.iter_rows(named=True), idle, strict=True)
    ]
    rows.sort(key=lambda row: -row["idle"])
    first = rows[0]
    cost = sum(_idle_during(case, _united(spans)))
    share = loads.share(cost)
    if cost < least or not loads.matters(cost):
        return
    if share < STRAGGLER.threshold(case, "share"):
        return
    same = [row for row in rows if row["idle"] > first["idle"] / 2]
    yield _told(case, first, same, Cost(amount=cost, share=share))


def _told(
    case: Case, first: dict[str, Any], same: list[dict[str, Any]], cost: Cost
) -> Finding:
    name, times = (
        short(first["prefix"], 40),
        first["compute"] / max(first["median"], 1e-6),
    )
    larger = (first["nbytes"] or 0) / max(first["usual"] or 0, 1)
    weight = (
        f" Its result had {size(first['nbytes'])}, {larger:.0f} times as much."
        if larger >= 2  # noqa: PLR2004
        else ""
    )
    slow = _slow_worker(case, first["worker"], first["prefix"])
    pieces = max(2, math.ceil(first["compute"] / max(2 * first["median"], 1e-3)))
    return STRAGGLER.found(
        f"A task of '{name}' took {duration(first['compute'])}, {times:.0f} times as long "
        f"as its like, and {duration(cost.amount)} of core time waited for it",
        cause=(
            f"'{short(first['key'], 80)}' on {case.name_of(first['worker'])} computed for "
            f"{duration(first['compute'])}; half of the {first['number']:,} tasks of "
            f"'{name}' took {duration(first['median'])} or less.{weight}{slow} While such tasks ran, "
            f"threads without a task idled for {duration(cost.amount)}, {cost.share or 0:.0%} of the core "
            "time that was there."
        ),
        remedy=(
            f"{_move(case, first['worker'])}"
            if slow
            else (
                f"Cut what it works on into about {min(pieces, 1000):,} pieces: repartition "
                f"by size (`repartition(partition_size=…)`), add a random part to a key that "
                f"too many rows share, or submit the longest tasks first."
            )
        ),
        confidence="high",
        subject=Subject(
            key=first["key"], prefix=first["prefix"], worker=first["worker"]
        ),
        cost=cost,
        evidence=tuple(
            Evidence(
                text=f"{short(row['key'], 80)} on {row['worker']}: "
                f"{duration(row['compute'])}, {duration(row['idle'])} of core time idle",
                source="tasks",
                at=row["begun"],
            )
            for row in same[:5]
        ),
    )


def _long_ones(case: Case) -> pl.DataFrame:
    """Return the executions that took far longer than their prefix's median."""
    tasks = case.loads.tasks.filter(pl.col("outcome") == "finished")
    usual = tasks.group_by("prefix").agg(
        number=pl.len(),
        median=pl.col("compute").median(),
        usual=pl.col("nbytes").median(),
    )
    factor = STRAGGLER.threshold(case, "times")
    first = pl.col("begun") <= pl.col("begun").min().over("worker", "prefix")
    long = (
        tasks.with_columns(first=first)
        .join(usual, on="prefix")
        .filter(
            (pl.col("number") >= STRAGGLER.threshold(case, "siblings"))
            & (pl.col("compute") >= factor * pl.col("median"))
            & (pl.col("compute") >= STRAGGLER.threshold(case, "seconds"))
        )
    )
    # Where a worker's first task of a kind is long on most workers, it is what comes once:
    # imports, a model that is loaded, code that is compiled.
    everywhere = tasks.group_by("prefix").agg(everywhere=pl.col("worker").n_unique())
    once = (
        long.filter("first")
        .group_by("prefix")
        .agg(warm=pl.col("worker").n_unique())
        .join(everywhere, on="prefix")
        .filter((pl.col("warm") > 1) & (pl.col("warm") * 2 >= pl.col("everywhere")))
    )
    return (
        long.filter(
            ~(pl.col("first") & pl.col("prefix").is_in(once["prefix"].to_list()))
        )
        .sort("compute", descending=True)
        .head(_LOOKED_AT)
    )


def _idle_during(case: Case, spans: list[tuple[float, float]]) -> list[float]:
    """Return how many thread-seconds had no task in each of some spans of time."""
    lacking = case.loads.lacking.steps
    at, area = lacking["at"].to_list(), lacking["area"].to_list()
    level = lacking["level"].to_list()

    def until(moment: float) -> float:
        n = bisect_right(at, moment) - 1
        return 0.0 if n < 0 else float(area[n] + level[n] * (moment - at[n]))

    return [until(end) - until(begun) for begun, end in spans]


def _united(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the same times, none of them twice."""
    united: list[tuple[float, float]] = []
    for begun, end in sorted(spans):
        if united and begun <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((begun, end))
    return united


def _slow_worker(case: Case, worker: str, prefix: str) -> str:
    """Say whether the worker was slow with all that it did, not with that task only."""
    typical = (
        case.loads.tasks.filter(pl.col("prefix") == prefix)
        .group_by("worker")
        .agg(median=pl.col("compute").median(), number=pl.len())
        .filter(pl.col("number") >= 3)  # noqa: PLR2004
    )
    own = typical.filter(pl.col("worker") == worker)["median"]
    others = typical.filter(pl.col("worker") != worker)["median"]
    if not len(own) or not len(others):
        return ""
    ratio = float(own[0]) / max(float(others.median() or 0.0), 1e-6)  # type: ignore[arg-type]
    if ratio < 2:  # noqa: PLR2004
        return ""
    return f" That worker took {ratio:.1f} times as long as others for all such tasks."


def _move(case: Case, worker: str) -> str:
    return (
        f"Look at the host of {case.name_of(worker)}: it is slower than the others, or busy "
        "with something else; a worker on another host would end the waiting."
    )


STRAGGLER = Rule(
    slug="straggler",
    title="The cluster waited for a few long tasks",
    question="Did the cluster wait for a few tasks that took far longer than their like?",
    severity="warning",
    ask=_ask,
    thresholds={
        "core_seconds": 5,
        "share": 0.15,
        "times": 4,
        "siblings": 6,
        "seconds": 3,
    },
    page=Page(
        detects=(
            "One task, or a few, ran on while all others were done and threads idled: a "
            "partition with far more rows than the others, a key that most rows share, a slow "
            "host."
        ),
        evidence=(
            "Tasks that computed `straggler.times` as long as the median of their prefix (of "
            "`straggler.siblings` tasks or more) and at least `straggler.seconds`; and the "
            "threads that had no task meanwhile. Silent below `straggler.core_seconds` "
            "(twice as many where others have most of a host's cores) and "
            "`straggler.share` of the core time, on long tasks beside which others worked, and where "
            "the first task of a kind is long on half of the workers or more: that is what each "
            "of them does once."
        ),
        remedy="Cut the long piece; salt the key; begin with the longest.",
        before='frame.groupby("country").apply(model)   # one country has half of the rows',
        after=(
            'frame.repartition(partition_size="100 MiB")\n'
            'frame.groupby(["country", "month"]).apply(model)'
        ),
    ),
)
