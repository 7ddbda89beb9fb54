"""Did workers keep more and more memory that no result accounts for?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, short, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["MEMORY_LEAK"]

_PARTS = 6


@dataclass(frozen=True, kw_only=True)
class _Growth:
    """How the least unmanaged memory of a worker grew, part of its life by part."""

    worker: str
    floors: list[int]
    seconds: float
    limit: int
    tasks: int

    @property
    def bytes(self) -> int:
        return self.floors[-1] - self.floors[1]


def _ask(case: Case) -> Iterator[Finding]:
    grown = [each for each in _growths(case) if _leaks(case, each)]
    if not grown:
        return
    worst = max(grown, key=lambda each: each.bytes)
    total = sum(each.bytes for each in grown)
    a_second = worst.bytes / (worst.seconds * (_PARTS - 2) / _PARTS)
    a_task = worst.bytes / max(worst.tasks * (_PARTS - 2) / _PARTS, 1)
    name = _prefix(case, worst.worker)
    left = (
        f" At this rate it reaches its limit of {size(worst.limit)} after "
        f"{duration(max(0.95 * worst.limit - worst.floors[-1], 0) / a_second)} more."
        if worst.limit
        else ""
    )
    life = (
        max(60.0, 0.5 * worst.limit / a_second) if worst.limit else 10 * worst.seconds
    )
    yield MEMORY_LEAK.found(
        f"Workers kept {size(total)} that no result accounts for, and it grew all the time",
        cause=(
            f"What {case.name_of(worst.worker)} held beside results grew from "
            f"{size(worst.floors[1])} to {size(worst.floors[-1])} and never went down: about "
            f"{size(a_task)} with each of {counted(worst.tasks, 'task')}, most of them "
            f"'{short(name, 40)}'.{left}"
        ),
        remedy=(
            f"Look for what '{short(name, 40)}' keeps: module-level lists and caches "
            "(`functools.cache` without a size), clients and sessions that are never closed, "
            "native libraries. If it is memory that malloc does not give back, set "
            "`MALLOC_TRIM_THRESHOLD_=65536`, or `MALLOC_ARENA_MAX=2`. Until it is found, "
            f"`--lifetime {duration(life)} --lifetime-restart` replaces each worker in "
            "time."
        ),
        confidence="medium",
        subject=Subject(prefix=name, worker=worst.worker),
        cost=Cost(
            amount=total,
            unit="bytes",
            share=worst.bytes / worst.limit if worst.limit else None,
        ),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(each.worker)}: at least "
                f"{', '.join(size(floor) for floor in each.floors)} unmanaged",
                source="metrics",
            )
            for each in sorted(grown, key=lambda each: -each.bytes)[:5]
        ),
    )


def _leaks(case: Case, each: _Growth) -> bool:
    """Say whether memory grew much, and steadily: part by part, without a step back."""
    if each.seconds < MEMORY_LEAK.threshold(case, "seconds"):
        return False
    if each.tasks < MEMORY_LEAK.threshold(case, "tasks"):
        return False
    if each.bytes < MEMORY_LEAK.threshold(case, "bytes"):
        return False
    if each.limit and each.bytes < MEMORY_LEAK.threshold(case, "share") * each.limit:
        return False
    steps = [b - a for a, b in zip(each.floors[1:], each.floors[2:], strict=False)]
    steady = each.bytes / len(steps) * MEMORY_LEAK.threshold(case, "steadiness")
    return all(step >= steady for step in steps)


def _growths(case: Case) -> Iterator[_Growth]:
    samples = case.run.metrics.filter(
        (pl.col("source") != "scheduler") & pl.col("memory").is_not_null()
    )
    lives = {life["address"]: life for life in case.run.workers.iter_rows(named=True)}
    tasks = dict(case.run.tasks.group_by("worker").len().iter_rows())
    for (source,), rows in samples.group_by("source", maintain_order=True):
        moments = rows["at"].dt.epoch("us") / 1e6
        begun, seconds = float(moments[0]), float(moments[-1] - moments[0])
        if str(source) not in lives or len(rows) < 2 * _PARTS or seconds <= 0:
            continue
        part = (pl.col("at").dt.epoch("us") / 1e6 - begun) / seconds * _PARTS
        floors = (
            rows.with_columns(
                part=part.floor().clip(0, _PARTS - 1),
                own=(pl.col("memory") - pl.col("managed").fill_null(0)).clip(
                    lower_bound=0
                ),
            )
            .group_by("part")
            .agg(pl.col("own").min())
            .sort("part")
        )
        if len(floors) == _PARTS:
            yield _Growth(
                worker=str(source),
                floors=floors["own"].to_list(),
                seconds=seconds,
                limit=int(lives[str(source)]["memory_limit"] or 0),
                tasks=int(tasks.get(source, 0)),
            )


def _prefix(case: Case, worker: str) -> str:
    counts = (
        case.run.tasks.filter(pl.col("worker") == worker)
        .group_by("prefix")
        .agg(pl.col("compute").sum())
        .sort("compute")
    )
    return str(counts["prefix"][-1]) if len(counts) else ""


MEMORY_LEAK = Rule(
    slug="memory-leak",
    title="Memory grew that no result accounts for",
    question="Did workers keep more and more memory that no result accounts for?",
    severity="warning",
    retry_advice="memory",
    ask=_ask,
    thresholds={
        "seconds": 10,
        "tasks": 20,
        "bytes": 128 * 2**20,
        "share": 0.05,
        "steadiness": 0.4,
    },
    page=Page(
        detects=(
            "The memory of worker processes beside the results that they hold grew from the "
            "beginning of the run to its end, with each task: a leak, a cache without a bound, "
            "or memory that is not given back."
        ),
        evidence=(
            "Samples of each worker's process memory less its managed memory: the lowest of "
            "each sixth of its life. It must have grown in each (the first left out, in which "
            "modules are imported) by `memory-leak.steadiness` of the mean, and altogether by "
            "`memory-leak.bytes` and `memory-leak.share` of the limit. Silent on workers that "
            "lived less than `memory-leak.seconds` or did fewer than `memory-leak.tasks`."
        ),
        remedy="Bound caches, close clients, trim malloc; replace workers meanwhile.",
        before="@functools.cache\ndef model_for(day): ...",
        after="@functools.lru_cache(maxsize=4)\ndef model_for(day): ...",
    ),
)
