"""What memory was used for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case, dask_setting
from dask_blackbox.analyse.core_seconds import busiest_prefix
from dask_blackbox.analyse.facts.worker_exit_sources import (
    limits_at_once,
    spilled_at_once,
)
from dask_blackbox.analyse.memory import peaks_of
from dask_blackbox.analyse.rule import documented
from dask_blackbox.events import SchedulerInfo
from dask_blackbox.finding import Cost, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    counted,
    duration,
    need,
    short,
    size,
    time_argument,
)
from dask_blackbox.tables.schemas import Row

# memory-leak

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


@documented("memory-leak")
def MEMORY_LEAK(case: Case) -> Iterator[Finding]:
    grown = [each for each in _growths(case) if _leaks(case, each)]
    if not grown:
        return
    worst = max(grown, key=lambda each: each.bytes)
    total = sum(each.bytes for each in grown)
    a_second = worst.bytes / (worst.seconds * (_PARTS - 2) / _PARTS)
    a_task = worst.bytes / max(worst.tasks * (_PARTS - 2) / _PARTS, 1)
    name = busiest_prefix(case.run.tasks.filter(pl.col("worker") == worst.worker))
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
        f"Workers retained {size(total)} of unmanaged memory, and it kept growing",
        cause=(
            f"The unmanaged memory of {case.name_of(worst.worker)} grew from "
            f"{size(worst.floors[1])} to {size(worst.floors[-1])} and never went down: "
            f"about {size(a_task)} with each of {counted(worst.tasks, 'task')}, most "
            f"of them '{short(name, 40)}'.{left}"
        ),
        remedy=(
            f"Look for what '{short(name, 40)}' keeps in memory: module-level lists "
            "and caches (`functools.cache` without a size), clients and sessions that "
            "are never closed, native libraries. If malloc does not return the memory, "
            "set `MALLOC_TRIM_THRESHOLD_=65536`, or `MALLOC_ARENA_MAX=2`. Until then, "
            f"`--lifetime {time_argument(life)} --lifetime-restart` replaces each "
            "worker in time."
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
    """Return whether memory grew much, and steadily: part by part, without a step back."""
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
    tasks = dict(
        case.run.tasks.group_by("worker", maintain_order=True).len().iter_rows()
    )
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
            .group_by("part", maintain_order=True)
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


@documented("spilling")
def SPILLING(case: Case) -> Iterator[Finding]:
    spilled = _spilled(case).sort("spilled", descending=True)
    total = spilled_at_once(case.run)
    memory = sum(each.memory_limit or 0 for each in limits_at_once(case.run))
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
        f" Tasks waited {duration(disk)} for spilled data and computed for "
        f"{duration(compute)}."
        if disk
        else ""
    )
    yield SPILLING.found(
        f"Workers spilled {size(total)} to disk",
        cause=(
            f"{counted(len(spilled), 'worker')} spilled up to {size(total)} at the "
            f"same time; {case.name_of(first['source'])} spilled most "
            f"({size(first['spilled'])}).{waited}"
            + (
                f" Workers wrote {size(written)} to disk and read {size(read)} back."
                if read
                else ""
            )
        ),
        remedy=(
            f"With about {size(more)} more memory, each worker would not need to "
            "spill. Otherwise release results that are no longer needed (don't "
            "`persist` what is read once), or compute in smaller stages."
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
    return sum(case.task_activity.total(each, activity, "bytes") for each in contexts)


# chunks-too-large

_LATE = 1.0  # seconds until the scheduler learns of it

_GOOD = 0.1  # of the memory per thread


@dataclass(frozen=True, kw_only=True)
class _Worst:
    """What came nearest to its worker's limit, and how large its pieces were."""

    worker: str
    limit: int
    threads: int
    peak: int
    spilled: int
    prefix: str
    piece: int
    number: int
    results: bool  # the piece is a result; else what a task holds while it runs


@documented("chunks-too-large")
def CHUNKS_TOO_LARGE(case: Case) -> Iterator[Finding]:
    worst = _worst(case)
    if worst is None or _may_belong_to_dead_workers(case, worst):
        return
    own = worst.limit / worst.threads
    if worst.piece < CHUNKS_TOO_LARGE.threshold(case, "share") * own:
        return
    name = short(worst.prefix, 40)
    times = math.ceil(worst.piece / (_GOOD * own))
    target = worst.piece / times
    kind = "results" if worst.results else "tasks"
    text = (
        f"Results of '{name}' have up to {size(worst.piece)}"
        if worst.results
        else f"A task of '{name}' holds about {size(worst.piece)} while it runs"
    )
    yield CHUNKS_TOO_LARGE.found(
        f"The {kind} of '{name}' take {size(worst.piece)}, {worst.piece / own:.0%} of "
        "the memory per thread",
        cause=(
            f"{text}; {case.name_of(worst.worker)} has {size(worst.limit)} for "
            f"{counted(worst.threads, 'thread')}, {size(own)} each. A task holds its "
            "inputs, its result and intermediate copies, so a few of them fill the "
            f"worker: it reached {worst.peak / worst.limit:.0%} of its limit"
            + (f" and spilled {size(worst.spilled)}." if worst.spilled else ".")
        ),
        remedy=(
            f"Split into pieces of about {size(target)}, a tenth of the memory per "
            f"thread: {worst.number * times:,} pieces instead of {worst.number:,} "
            "(`repartition(partition_size=…)`, `rechunk`, `chunks=`, or `blocksize=` "
            f"when reading). Or give each thread {need(worst.piece / _GOOD)}."
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


def _may_belong_to_dead_workers(case: Case, worst: _Worst) -> bool:
    """Return whether a task that never ended may have held it: the one its worker died at."""
    died = any(death.address == worst.worker for death in case.deaths)
    return died and not worst.results


def _worst(case: Case) -> _Worst | None:
    """Return the fullest worker, if it came under pressure, and the largest pieces on it."""
    peaks = (
        peaks_of(case.run)
        .filter(pl.col("memory_limit") > 0)
        .join(_spilled(case), on="source", how="left")
        # What lies on disk was in memory, and is wanted there again.
        .with_columns(wanted=pl.col("peak") + pl.col("spilled").fill_null(0))
    )
    full = peaks.filter(
        pl.col("wanted")
        >= CHUNKS_TOO_LARGE.threshold(case, "full") * pl.col("memory_limit")
    ).sort(pl.col("wanted") / pl.col("memory_limit"), descending=True)
    if not len(full):
        return None
    row = full.row(0, named=True)
    lives = {life["address"]: life for life in case.run.workers.iter_rows(named=True)}
    threads = int(lives[row["source"]]["nthreads"] or 1)
    number = CHUNKS_TOO_LARGE.threshold(case, "number")
    prefixes = (
        case.run.tasks.filter(pl.col("outcome") == "finished")
        .group_by("prefix", maintain_order=True)
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
        spilled=int(row["spilled"] or 0),
        prefix=str(chosen["prefix"]),
        piece=int(most["piece"] or 0) if results else held,
        number=int(chosen["number"]),
        results=results,
    )


def _spilled(case: Case) -> pl.DataFrame:
    """Return the most that each worker had on disk: `source`, `spilled`."""
    return (
        case.run.metrics.filter(pl.col("spilled") > 0)
        .group_by("source", maintain_order=True)
        .agg(pl.col("spilled").max())
    )


def _running(case: Case, prefixes: pl.DataFrame, worker: str, at: float) -> Row | None:
    """Return the prefix of what a worker ran at a moment, or the one that took most."""
    ran = _running_tasks(case, worker, at)
    known = prefixes.sort("compute", descending=True)
    if len(ran):
        known = known.filter(pl.col("prefix") == ran["prefix"][-1])
    return known.row(0, named=True) if len(known) else None


def _running_tasks(case: Case, worker: str, at: float) -> pl.DataFrame:
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
    begun = _running_tasks(case, worker, at)["begun"].min()
    # What was there before it began is not what it holds: others left it, or a cache.
    since = pl.from_epoch(pl.lit(begun or 0.0) * 1e6, "us").dt.replace_time_zone("UTC")
    earlier = samples.sort("at").filter(pl.col("at") <= since)["own"]
    before = int(earlier[-1] if len(earlier) else ordered["own"][0])
    grown = max(int(top["own"][0]) - before, 0)
    return grown // max(int(top["executing"][0]), 1), at


# overproduction

_DEFAULT_SATURATION = 1.1


@dataclass(frozen=True, kw_only=True)
class _HeldResults:
    """Results that piled up before anything used them."""

    prefix: str
    number: int
    made: int
    used: int
    bytes: float
    memory: float
    at: float


@documented("overproduction")
def OVERPRODUCTION(case: Case) -> Iterator[Finding]:
    least = OVERPRODUCTION.threshold(case, "share")
    pile = _held_results(case, least)
    if pile is None or pile.bytes < least * pile.memory:
        return
    saturation = _saturation(case)
    name = short(pile.prefix, 40)
    each = pile.bytes / max(pile.made, 1)
    threads = max(1, round(case.loads.threads.highest))
    enough = 2 * threads * each
    if saturation > _DEFAULT_SATURATION:
        remedy = (
            f"`distributed.scheduler.worker-saturation` is {saturation:g}: workers "
            f"receive all of '{name}' at once. Set it to 1.1 (the default), and about "
            f"{size(enough)} of its results are in memory at a time, instead of "
            f"{size(pile.bytes)}."
        )
    else:
        remedy = (
            f"The scheduler did not treat '{name}' as root tasks that it can queue: "
            "they were submitted one by one, were pinned to workers, or have "
            "dependencies. Submit each one together with its reduction (one function, "
            "`map_partitions`, a graph of `delayed`), or a few at a time with "
            f"`as_completed`: about {size(enough)} would be in memory at a time, "
            f"instead of {size(pile.bytes)}."
        )
    yield OVERPRODUCTION.found(
        f"'{name}' ran ahead: {size(pile.bytes)} waited in memory",
        cause=(
            f"{pile.made:,} of {pile.number:,} tasks of '{name}' were done when "
            f"{pile.used:,} of the tasks that follow were; their results, "
            f"{size(pile.bytes)}, took {pile.bytes / pile.memory:.0%} of the workers' "
            f"memory ({size(pile.memory)})."
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


def _held_results(case: Case, least: float) -> _HeldResults | None:
    """Return the largest pile of results that later tasks of the same graphs reduced.

    None if all results of its prefix would be less than that share of the memory.
    """
    done = case.loads.tasks.filter(pl.col("outcome") == "finished").select(
        "prefix", "nbytes", "ended"
    )
    memory = float(sum(each.memory_limit or 0 for each in limits_at_once(case.run)))
    if not memory or not len(done):
        return None
    made = (
        done.group_by("prefix", maintain_order=True)
        .agg(pl.col("nbytes").sum(), number=pl.len(), begun=pl.col("ended").min())
        .filter(pl.col("number") >= OVERPRODUCTION.threshold(case, "tasks"))
        .filter(pl.col("nbytes") >= least * memory)
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
    return _HeldResults(
        prefix=str(first["prefix"]), number=len(mine), made=int(top["made"]),
        used=int(top["used"]), bytes=float(top["waiting"]), memory=memory,
        at=float(top["ended"]),
    )  # fmt: skip


def _reduced(case: Case, first: Row, mine: pl.DataFrame, after: pl.DataFrame) -> bool:
    """Return whether the tasks that followed were known from the start, and reduced the data."""
    if len(after) < first["number"] / 2:
        return False
    if float(after["nbytes"].sum() or 0) > 0.25 * float(first["nbytes"] or 0):
        return False
    last = float(mine["ended"][-1])
    later = case.loads.graphs.filter(case.loads.graphs > last)
    return not len(later)


def _saturation(case: Case) -> float:
    for info in case.run.of(SchedulerInfo):
        setting = dask_setting(info.config, "distributed.scheduler.worker-saturation")
        try:
            return float(str(setting))
        except ValueError:
            continue
    return _DEFAULT_SATURATION
