"""Were the pieces too large for the memory that a thread has?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.memory import peaks_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, short, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["CHUNKS_TOO_LARGE"]

_LATE = 1.0  # seconds until the scheduler hears of it
_GOOD = 0.1  # of the memory that a thread has


@dataclass(frozen=True, kw_only=True)
class _Worst:
    """What came nearest to its worker's limit, and how large its pieces were."""

    worker: str
    limit: int
    threads: int
    peak: int
    prefix: str
    piece: int
    number: int
    results: bool  # the piece is a result; else what a task holds while it runs


def _ask(case: Case) -> Iterator[Finding]:
    worst = _worst(case)
    if worst is None or _may_be_of_the_dead(case, worst):
        return
    own = worst.limit / worst.threads
    if worst.piece < CHUNKS_TOO_LARGE.threshold(case, "share") * own:
        return
    name = short(worst.prefix, 40)
    times = math.ceil(worst.piece / (_GOOD * own))
    target = worst.piece / times
    kind = "results" if worst.results else "tasks"
    said = (
        f"Results of '{name}' have up to {size(worst.piece)}"
        if worst.results
        else f"A task of '{name}' holds about {size(worst.piece)} while it runs"
    )
    yield CHUNKS_TOO_LARGE.found(
        f"The {kind} of '{name}' take {size(worst.piece)}, {worst.piece / own:.0%} of the "
        "memory that a thread has",
        cause=(
            f"{said}; {case.name_of(worst.worker)} has {size(worst.limit)} for "
            f"{counted(worst.threads, 'thread')}, {size(own)} each. A task holds its inputs, "
            f"its result and copies in between, so that a few of them fill the worker: it "
            f"reached {worst.peak / worst.limit:.0%} of its limit."
        ),
        remedy=(
            f"Cut into pieces of about {size(target)}, a tenth of what a thread has: "
            f"{worst.number * times:,} instead of {worst.number:,} "
            f"(`repartition(partition_size=…)`, `rechunk`, `chunks=`, or `blocksize=` where "
            f"it is read). Or give each thread {size(worst.piece / _GOOD)}."
        ),
        confidence="medium",
        subject=Subject(prefix=worst.prefix, worker=worst.worker),
        cost=Cost(amount=worst.piece, unit="bytes", share=min(worst.piece / own, 1.0)),
        evidence=(
            Evidence(
                text=f"'{name}': {counted(worst.number, 'task')}, {size(worst.piece)} each",
                source="tasks",
            ),
            Evidence(
                text=f"{case.name_of(worst.worker)}: peak {size(worst.peak)} of "
                f"{size(worst.limit)}",
                source="metrics",
            ),
        ),
    )


def _may_be_of_the_dead(case: Case, worst: _Worst) -> bool:
    """Say whether a task that never ended may have held it: the one its worker died at."""
    died = any(death.address == worst.worker for death in case.deaths)
    return died and not worst.results


def _worst(case: Case) -> _Worst | None:
    """Return the fullest worker, if it came under pressure, and the largest pieces on it."""
    peaks = peaks_of(case.run).filter(pl.col("memory_limit") > 0)
    full = peaks.filter(
        pl.col("peak")
        >= CHUNKS_TOO_LARGE.threshold(case, "full") * pl.col("memory_limit")
    ).sort(pl.col("peak") / pl.col("memory_limit"), descending=True)
    if not len(full):
        return None
    row = full.row(0, named=True)
    lives = {life["address"]: life for life in case.run.workers.iter_rows(named=True)}
    threads = int(lives[row["source"]]["nthreads"] or 1)
    number = CHUNKS_TOO_LARGE.threshold(case, "number")
    prefixes = (
        case.run.tasks.filter(pl.col("outcome") == "finished")
        .group_by("prefix")
        .agg(
            number=pl.len(),
            piece=pl.col("nbytes").quantile(0.9),
            compute=pl.col("compute").sum(),
        )
        .filter(pl.col("number") >= number)
    )
    if not len(prefixes):
        return None
    most = prefixes.sort("piece", descending=True, nulls_last=True).row(0, named=True)
    held, at = _held_by_a_task(case, row["source"])
    results = (most["piece"] or 0) >= held
    chosen = most if results else _running(case, prefixes, row["source"], at)
    if chosen is None:
        return None  # one task of its kind: there is nothing to cut smaller
    return _Worst(
        worker=row["source"],
        limit=int(row["memory_limit"]),
        threads=threads,
        peak=int(row["peak"]),
        prefix=str(chosen["prefix"]),
        piece=int(most["piece"] or 0) if results else held,
        number=int(chosen["number"]),
        results=results,
    )


def _running(
    case: Case, prefixes: pl.DataFrame, worker: str, at: float
) -> dict[str, Any] | None:
    """Return the prefix of what a worker ran at a moment, or the one that took most."""
    ran = _at_work(case, worker, at)
    known = prefixes.sort("compute", descending=True)
    if len(ran):
        known = known.filter(pl.col("prefix") == ran["prefix"][-1])
    return known.row(0, named=True) if len(known) else None


def _at_work(case: Case, worker: str, at: float) -> pl.DataFrame:
    """Return what a worker executed at a moment, the longest last."""
    return case.loads.tasks.filter(
        (pl.col("worker") == worker)
        & (pl.col("begun") <= at)
        & (pl.col("ended") >= at - _LATE)
    ).sort("compute")


def _held_by_a_task(case: Case, worker: str) -> tuple[int, float]:
    """Return what a running task adds to a worker's memory, by its samples, and when."""
    samples = case.run.metrics.filter(
        (pl.col("source") == worker) & pl.col("memory").is_not_null()
    ).with_columns(own=pl.col("memory") - pl.col("managed").fill_null(0))
    ordered = samples.sort("own")
    top = ordered.filter(pl.col("executing") > 0).tail(1)
    if not len(top):
        return 0, 0.0
    at = float(top["at"].dt.epoch("us")[0]) / 1e6
    begun = _at_work(case, worker, at)["begun"].min()
    # What was there before it began is not what it holds: others left it, or a cache.
    since = pl.from_epoch(pl.lit(begun or 0.0) * 1e6, "us").dt.replace_time_zone("UTC")
    earlier = samples.sort("at").filter(pl.col("at") <= since)["own"]
    before = int(earlier[-1] if len(earlier) else ordered["own"][0])
    grown = max(int(top["own"][0]) - before, 0)
    return grown // max(int(top["executing"][0]), 1), at


CHUNKS_TOO_LARGE = Rule(
    slug="chunks-too-large",
    title="Pieces were too large for the workers",
    question="Were the pieces too large for the memory that a thread has?",
    severity="warning",
    retry_advice="memory",
    ask=_ask,
    thresholds={"share": 0.3, "full": 0.8, "number": 4},
    page=Page(
        detects=(
            "Partitions or chunks are so large that a few of them, with the copies that every "
            "operation makes, fill a worker: it spills, pauses, or dies when the input grows."
        ),
        evidence=(
            "Sizes of the results of each prefix (of `chunks-too-large.number` tasks or more), "
            "and what running tasks add to their worker's memory, against the memory limit "
            "divided by the threads. Silent where no worker was filled to "
            "`chunks-too-large.full`, and below `chunks-too-large.share` of a thread's memory."
        ),
        remedy="Pieces of about a tenth of the memory that a thread has.",
        before="da.random.random((40_000, 40_000), chunks=(20_000, 20_000))   # 3 GiB each",
        after='da.random.random((40_000, 40_000), chunks="128 MiB")',
    ),
)
