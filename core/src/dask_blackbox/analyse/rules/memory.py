"""What did not fit into memory, or nearly did not, and what memory was used for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case, dask_setting
from dask_blackbox.analyse.core_seconds import busiest_prefix
from dask_blackbox.analyse.death_texts import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.driver_position import submitting_of
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.facts.worker_exit_sources import (
    limits_at_once,
    spilled_at_once,
)
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import at_frame
from dask_blackbox.analyse.offers import beyond_host, several_threads
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    INPUTS_EXCEED_MEMORY_LIMIT,
    MEMORY_LIMIT_LOWERED,
)
from dask_blackbox.analyse.signatures.frequent import GPU_MEMORY_EXHAUSTED
from dask_blackbox.analyse.signatures.python import NOT_ALLOCATED
from dask_blackbox.analyse.task_activity import Host
from dask_blackbox.analyse.worker_memory import (
    is_of_host,
    layer_of,
    more_pieces,
    peaks_of,
    spilled_by_worker,
)
from dask_blackbox.events import (
    GraphUpdated,
    ProcessAncestors,
    ProcessLoad,
    SchedulerInfo,
)
from dask_blackbox.finding import (
    Confidence,
    Cost,
    Evidence,
    Finding,
    RetryAdvice,
    Severity,
    Subject,
)
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    duration,
    listed,
    need,
    quoted_key,
    short,
    size,
    time_argument,
)
from dask_blackbox.run_tables import FINISHED, epoch
from dask_blackbox.tables.schemas import Row

# task-memory-error

_CLASSES = ("MemoryError", "_ArrayMemoryError", "ArrowMemoryError", "OutOfMemoryError")


@documented("task-memory-error")
def TASK_MEMORY_ERROR(case: Case) -> Iterator[Finding]:
    yield from _that_closed_workers(case)
    failure = case.blame.failure
    if failure is None or failure.killed:
        return
    # What was raised; or what it began with, where the job's code wraps that.
    own, began = failure.raised.name, ""
    message = failure.raised.message
    if own not in _CLASSES and failure.root is not None:
        own, message = class_of(failure.root[0]), failure.root[1]
        began = f"Original exception: {own}: {short(message, 200)}. "
    # No limit of a process is that of a device.
    if own in _CLASSES and not GPU_MEMORY_EXHAUSTED.search(message):
        yield _not_allocated(case, failure, _requested_memory(message), began)


def _not_allocated(
    case: Case, failure: TaskFailure, wanted: str | None, began: str
) -> Finding:
    """Return that a task could not allocate the memory that it wanted.

    Args:
        began: A sentence on the exception that it began with, if it raised another one.
    """
    rows = case.run.workers.filter(
        case.run.workers["address"] == (failure.worker or "")
    )
    limit = max(filter(None, rows["memory_limit"]), default=None)
    what = f"'{short(failure.prefix or failure.key, 40)}'"
    worker = case.name_of(failure.worker) if failure.worker else "a worker"
    other = _other_limit(case, failure.worker, wanted, limit)
    advice: RetryAdvice | None = "environment" if other else None
    if _beyond_reach(wanted, limit):
        advice = "code"
    return TASK_MEMORY_ERROR.found(
        f"{what} could not allocate {wanted or 'the memory it asked for'}",
        cause=(
            f"{quoted_key(failure.key)} on {worker} raised "
            f"{short(str(failure), 300)}{at_frame(failure.frame)}. {began}The worker survived"
            + (f"; its limit is {size(limit)}." if limit else ".")
            + other
        ),
        remedy=(
            f"{_RAISE if other else 'Make'} the input of one task smaller ("
            f"{more_pieces(of_host=is_of_host(case.run, failure.key))})"
            + (f": it requested {wanted} at once" if wanted else "")
            + (f", and a worker has {size(limit)}" if limit else "")
            + _split(wanted, limit, rows["nthreads"].max())
            + ". Check which shape or join grew so large."
        ),
        confidence="high" if case.blame.proven else "medium",
        retry_advice=advice,
        retry_confidence="medium" if advice else None,
        subject=failure.subject,
        evidence=(failure.evidence(400), *case.exception_evidence()),
    )


def _other_limit(
    case: Case, worker: str | None, wanted: str | None, limit: int | None
) -> str:
    """Return a sentence on a limit other than Dask's that an allocation met; may be empty."""
    held = _fits(case, worker, wanted, limit)
    return _of_process(case, worker, wanted) or (
        _OTHER_LIMIT.format(held=size(held)) if held else ""
    )


_OTHER_LIMIT = (
    " Its last sample was {held} of that, so it probably reached another limit: that of "
    "the process's address space (`ulimit -v`, RLIMIT_AS), of its container, or of the "
    "host's memory."
)


def _of_process(case: Case, worker: str | None, wanted: str | None) -> str:
    """Return the soft limit of a worker's process that allocations meet, in a sentence.

    Dask's own limit refuses no allocation, and that of a cgroup kills.
    """
    placed = [x for x in case.run.of(ProcessAncestors) if x.subject == worker]
    limits = placed[-1].limits if placed else {}
    soft = {name: limits[name] for name in _SOFT if name in limits}
    least = min(soft, key=lambda name: soft[name], default=None)
    most = min((limits[x] for x in ("host", "cgroup") if x in limits), default=0)
    if least is None or soft[least] > most or (wanted and _bytes(wanted) > most):
        return ""  # the memory of the host does not suffice either
    others = {"the host has": "host", "its cgroup may use": "cgroup"}
    known = [f"{k} {size(limits[v])}" for k, v in others.items() if v in limits]
    return (
        f" {_SOFT[least]} of its process is limited to {size(soft[least])} (`{least}`, which job "
        f"queues set), and an allocation above that fails; {listed(known)}."
    )


_SOFT = {"ulimit -v": "The address space", "ulimit -d": "The data"}
_RAISE = "Raise that limit where workers are started, or make"
_CERTAIN_SHARE = 0.7  # of the worker's limit


def _fits(
    case: Case, worker: str | None, wanted: str | None, limit: int | None
) -> int | None:
    """Return what a worker had used at most, if what was asked for fits into the rest."""
    used = case.run.metrics.filter(pl.col("source") == (worker or ""))["memory"]
    peak = int(used.max() or 0)  # type: ignore[arg-type]
    if not (peak and wanted and limit):
        return None
    return peak if peak + _bytes(wanted) < _CERTAIN_SHARE * limit else None


_TIMES = 16  # what retries with more memory may reach
_LARGE_MACHINE = 4 << 40  # bytes


def _beyond_reach(wanted: str | None, limit: int | None) -> bool:
    """Return whether that is more memory than a worker can reasonably have."""
    if wanted is None:
        return False
    reach = _LARGE_MACHINE if limit is None else min(_TIMES * limit, _LARGE_MACHINE)
    return _bytes(wanted) > reach


def _bytes(text: str) -> int:
    from dask.utils import parse_bytes  # imports all of dask

    return parse_bytes(text.replace("bytes", "").replace(" ", "").replace(",", ""))


def _requested_memory(message: str) -> str | None:
    """Return how much could not be allocated, in words, if the message says so."""
    asked = NOT_ALLOCATED.search(message)
    if asked is None:
        return None
    if asked["bytes"]:
        return size(int(asked["bytes"]))
    # NumPy prints three digits and their point, whatever follows: `116. TiB`.
    return asked["size"].replace(". ", " ")


def _that_closed_workers(case: Case) -> Iterator[Finding]:
    """Yield that whole processes could allocate nothing any more, and closed themselves."""
    deaths = deaths_blamed_on(case, TASK_MEMORY_ERROR.slug)
    if not deaths:
        return
    limits = {death.memory_limit for death in deaths}
    unknown = (
        "Dask had no memory limit on these workers, so they neither spilled nor paused."
    )
    yield from verdict_on_deaths(
        case,
        TASK_MEMORY_ERROR,
        did="could not allocate memory",
        how="and closed themselves" if len(deaths) > 1 else "and closed itself",
        more=unknown if limits == {None} else "",
        remedy=(
            "Something other than Dask limits the memory of a worker's process: "
            "`ulimit -v` (login nodes and batch systems set it), or a host without "
            "overcommit. Set `--memory-limit` below that limit, so that Dask spills in "
            "time. Otherwise make the pieces smaller, or ask for a higher limit."
        ),
    )


def _split(wanted: str | None, limit: int | None, threads: Any) -> str:
    """Return in how many pieces it fits: a thread's share, of which a quarter is free."""
    if wanted is None or limit is None:
        return ""
    share = limit / max(int(threads or 1), 1) * 0.75
    pieces = math.ceil(_bytes(wanted) / share)
    if pieces < 2:  # noqa: PLR2004
        return ""
    return (
        f". One thread's share of that is {size(share)}, so split the input into at "
        f"least {pieces:,} pieces"
    )


@documented("result-too-large")
def RESULT_TOO_LARGE(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    texts = [failure.message] if failure is not None else []
    if case.exception is not None:
        texts.append(case.exception.message)
    refused = next(filter(None, map(INPUTS_EXCEED_MEMORY_LIMIT.search, texts)), None)
    if not case.failed or refused is None:
        return
    key, inputs, limit = refused["key"], refused["inputs"], refused["limit"]
    wanted = 2 * _bytes(inputs)
    less = layer_of(case.prefix_of(key)) or (
        "write the result from the workers (`to_parquet`, `to_zarr`) or reduce it before "
        "`compute()`"
    )
    yield RESULT_TOO_LARGE.found(
        f"A result of {inputs} does not fit on a worker with {limit}",
        cause=(
            f"The scheduler refused to run {quoted_key(key)}: its inputs are "
            f"{inputs}, and {case.name_of(refused['worker'])} has a memory limit of "
            f"{limit}. Usual reasons are `compute()` on a whole collection, "
            "`repartition` to one partition, or a task that takes all partitions at "
            f"once{code_line(case.exception, '. It was requested at ')}."
        ),
        remedy=(
            f"{capital(less)}. If it must be in one place, that worker (and the "
            f"driver) needs well over {inputs}: give it {need(wanted)}, "
            f"for the inputs and the result.{beyond_host(case, wanted)}"
        ),
        confidence="high",
        subject=case.subject(key, refused["worker"]),
        evidence=(
            Evidence(
                text=short(refused[0], 400),
                source="errors",
                at=failure.at if failure is not None else None,
            ),
            *case.exception_evidence(),
        ),
    )


# memory-near-limit

TERMINATED_AT = 0.95
"""Share of its limit at which a worker is terminated, unless configured differently."""

_COMFORTABLE = 0.7

_STEP = 2**26


_AROUND = 2.0  # seconds around a sample

_OUTSIDE_OF_TASKS = (
    ", or reduce what its process keeps outside of tasks (plugins, preloads, `client.run`, "
    "modules): it had no task and few results when it used most"
)


def _less(case: Case, worker: str) -> str:
    """Return what else than more memory helps, of a worker that came close to its limit."""
    samples = case.run.metrics.filter(pl.col("source") == worker).sort("memory")
    if not len(samples):
        return ", or make the pieces smaller"
    last = samples.row(-1, named=True)
    at, managed = last["at"].timestamp(), last["managed"] or 0
    around = executions_of(case.run).filter(
        (pl.col("worker") == worker)
        & (epoch("begin") <= at + _AROUND)
        & (epoch("stop") >= at - _AROUND)
    )
    hang = case.standstill
    still = hang is not None and any(e.worker == worker for e in hang.executing)
    if managed < last["memory"] / 2 and around.is_empty() and not still:
        return _OUTSIDE_OF_TASKS
    fewer = ", run fewer tasks at once" if several_threads(case) else ""
    return f"{fewer}, or make the pieces smaller"


@documented("memory-near-limit")
def MEMORY_NEAR_LIMIT(case: Case) -> Iterator[Finding]:
    share = MEMORY_NEAR_LIMIT.threshold(case, "share")
    dead = [death.address for death in case.deaths]
    peaks = peaks_of(case.run).filter(
        (pl.col("memory_limit") > 0) & ~pl.col("source").is_in(dead)
    )
    near = peaks.filter(pl.col("peak") >= share * pl.col("memory_limit")).sort(
        pl.col("peak") / pl.col("memory_limit"), descending=True
    )
    if not len(near):
        return
    top = near.row(0, named=True)
    peak, limit = top["peak"], top["memory_limit"]
    comfortable = math.ceil(peak / _COMFORTABLE / _STEP) * _STEP
    paused = case.run.metrics.filter(pl.col("status") == "paused")["source"].n_unique()
    yield MEMORY_NEAR_LIMIT.found(
        f"Memory reached {peak / limit:.0%} of a worker's limit",
        cause=(
            f"{capital(case.name_of(top['source']))} reached {size(peak)} of "
            f"{size(limit)}{_left(peak, limit)}. {len(near):,} of "
            f"{counted(len(peaks), 'worker')} came as close"
            + (f", and {counted(paused, 'worker')} paused for memory" if paused else "")
            + "."
        ),
        remedy=(
            f"Give each worker about {need(comfortable)} (then this peak is 70 % of the "
            f"limit){_less(case, str(top['source']))}.{beyond_host(case, comfortable)}"
        ),
        confidence="high",
        subject=Subject(worker=top["source"]),
        cost=Cost(amount=max(comfortable - limit, 0), unit="bytes", share=peak / limit),
        evidence=tuple(
            Evidence(
                text=f"{capital(case.name_of(row['source']))}: peak "
                f"{size(row['peak'])} of {size(row['memory_limit'])}",
                source="metrics",
            )
            for row in near.head(5).iter_rows(named=True)
        ),
    )


def _left(peak: int, limit: int) -> str:
    """Return how far a worker was from the share at which its nanny terminates it."""
    left = TERMINATED_AT * limit - peak
    if left < 1:
        return ", at or above the 95 % at which a nanny terminates its worker"
    return f"; {size(left)} more, and its nanny would have terminated it at 95 %"


# memory-limit-ignored

_PART = 0.9


@documented("memory-limit-ignored")
def MEMORY_LIMIT_IGNORED(case: Case) -> Iterator[Finding]:
    lowered = lines_of(case.run, MEMORY_LIMIT_LOWERED)
    above = [host for host in case.task_activity.hosts if _over(case, host)]
    if not len(lowered) and not above:
        return
    host = max(above, key=lambda each: each.limits, default=None)
    lines = tuple(
        Evidence(
            text=short(line["message"], 200), source="logs", at=line["at"].timestamp()
        )
        for line in lowered.head(3).iter_rows(named=True)
    )
    if host is None or host.memory is None:
        yield MEMORY_LIMIT_IGNORED.found(
            "A memory limit above the host's memory was ignored",
            cause=f"{short(lowered['message'][0], 200)}.",
            remedy="Set `memory_limit` to what the host has, divided by its workers, or leave "
            'it at that (`memory_limit="auto"`).',
            confidence="high",
            evidence=lines,
        )
        return
    workers = len(host.limited)
    excess = host.limits - host.memory
    yield MEMORY_LIMIT_IGNORED.found(
        f"The memory limits of the workers on a host add up to {size(host.limits)}; the "
        f"host has {size(host.memory)}",
        cause=(
            f"Dask allows {counted(workers, 'worker')} on {host.name} "
            f"{size(host.limits / workers)} each, {size(host.limits)} together: "
            f"{size(excess)} more than the host has. The kernel will kill a process "
            "before the workers spill or pause."
            + (
                " Dask lowered a limit that was above the host's memory."
                if lines
                else ""
            )
        ),
        remedy=(
            f"Set `memory_limit` to at most {size(_PART * host.memory / workers)} (nine tenths "
            f"of {size(host.memory)} for {counted(workers, 'worker')}; "
            f'`memory_limit="{size(_PART * host.memory / workers)}"`), or leave it at `auto`.'
        ),
        confidence="high",
        cost=Cost(amount=excess, unit="bytes", share=excess / host.limits),
        evidence=(
            Evidence(
                text=f"{host.name}: {counted(workers, 'worker')}, limits {size(host.limits)}, "
                f"memory {size(host.memory)}",
                source="workers",
            ),
            *lines,
        ),
    )


_PLANNED = 0.1


def _over(case: Case, host: Host) -> bool:
    """Return whether limits exceed the host, and that by plan or with consequences."""
    if not host.memory or not host.limits:
        return False
    if host.limits < MEMORY_LIMIT_IGNORED.threshold(case, "times") * host.memory:
        return False
    peaks = peaks_of(case.run)
    here = peaks.filter(pl.col("source").is_in(host.limited))
    used = float(here["peak"].sum() or 0.0)
    each_has_all = float(here["memory_limit"].max() or 0) >= 0.99 * host.memory  # type: ignore[arg-type]
    share = MEMORY_LIMIT_IGNORED.threshold(case, "used")
    # Limits that are wrong by plan are reported before memory is short, but not for work
    # that never comes near any limit.
    return used >= (_PLANNED if each_has_all else 1.0) * share * host.memory


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
    if submitting_of(case.run) is not None:
        return  # each task was given much, which stays with it until its future is released
    grown = [each for each in _growths(case) if _leaks(case, each)]
    if not grown:
        return
    worst = max(grown, key=lambda each: each.bytes)
    total = sum(each.bytes for each in grown)
    a_second = worst.bytes / (worst.seconds * (_PARTS - 2) / _PARTS)
    a_task = worst.bytes / max(worst.tasks * (_PARTS - 2) / _PARTS, 1)
    name = busiest_prefix(case.run.tasks.filter(pl.col("worker") == worst.worker))
    left, life = "", 10 * worst.seconds
    if worst.limit:
        seconds = max(0.95 * worst.limit - worst.floors[-1], 0) / a_second
        left = (
            f" At this rate it reaches its limit of {size(worst.limit)} after "
            f"{duration(seconds)} more."
        )
        life = max(60.0, 0.5 * worst.limit / a_second)
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
        part = (epoch("at") - begun) / seconds * _PARTS
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


def _beyond_host_of(case: Case, spilled: Row) -> str:
    """Return a sentence if the host has not the memory that a worker would need to spill nothing."""
    limits = {e.address: e.memory_limit for e in limits_at_once(case.run)}
    limit = limits.get(spilled["source"])
    wanted = (limit or 0) + int(spilled["spilled"])
    return beyond_host(case, wanted, [spilled["source"]]) if limit else ""


@documented("spilling")
def SPILLING(case: Case) -> Iterator[Finding]:
    spilled = spilled_by_worker(case.run).sort("spilled", descending=True)
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
    sure: Confidence = "medium"
    grave: Severity = "notice"
    cost = Cost(amount=total, unit="bytes", share=total / memory if memory else None)
    if slow:
        sure, grave = "high", "warning"
        cost = Cost(amount=disk, share=disk / (disk + compute))
    waited = ""
    if disk:
        waited = f" Tasks waited {duration(disk)} for spilled data and computed for {duration(compute)}."
    yield SPILLING.found(
        f"Workers spilled {size(total)} to disk",
        cause=(
            f"{_who_spilled(case, spilled, total)}.{waited}"
            + (
                f" Workers wrote {size(written)} to disk and read {size(read)} back."
                if read
                else ""
            )
        ),
        remedy=(
            f"With about {size(first['spilled'])} more memory, each worker would not need to "
            f"spill. Otherwise {_fewer_results(case)}compute in smaller stages."
            f"{_beyond_host_of(case, first)}{_short_disk(case, first)}"
        ),
        confidence=sure,
        severity=grave,
        subject=Subject(worker=first["source"]),
        cost=cost,
        evidence=tuple(
            Evidence(
                text=f"{capital(case.name_of(row['source']))}: "
                f"{size(row['spilled'])} on disk",
                source="metrics",
            )
            for row in spilled.head(5).iter_rows(named=True)
        ),
    )


def _fewer_results(case: Case) -> str:
    """Return what keeps results of which the driver holds many; empty where it holds one.

    What `persist` and `map` ask for stays until its futures are released; what one `compute`
    needs on the way is released by itself.
    """
    wanted = sum(graph.wanted for graph in case.run.of(GraphUpdated))
    if wanted <= 1:
        return ""
    return (
        "release results that are no longer needed (futures that the driver keeps; don't "
        "`persist` what is read once), or "
    )


def _short_disk(case: Case, row: Row) -> str:
    """Return a sentence if a worker's disk had less room left than what it had spilled."""
    left = [
        load.disk_free
        for load in case.run.of(ProcessLoad)
        if load.subject == row["source"] and load.disk_free is not None
    ]
    if not left or min(left) >= row["spilled"]:
        return ""
    return (
        f" Its disk had only {size(min(left))} left, less than it had spilled: give workers a "
        "larger one (`--local-directory`, `temporary-directory`)."
    )


def _who_spilled(case: Case, spilled: pl.DataFrame, total: int) -> str:
    """Return which workers spilled how much at once, the one that spilled most first."""
    first = spilled.row(0, named=True)
    who = case.name_of(first["source"])
    if len(spilled) == 1:
        return f"{capital(who)} spilled up to {size(total)}"
    return (
        f"{counted(len(spilled), 'worker')} spilled up to {size(total)} at the same "
        f"time; {who} spilled most ({size(first['spilled'])})"
    )


def _moved(case: Case, activity: str) -> float:
    """Return the bytes that workers wrote to disk, or read, as far as Dask counts them."""
    contexts = ("execute", "get-data", "gather-dep", "memory-monitor")
    return sum(case.task_activity.total(each, activity, "bytes") for each in contexts)


# chunks-too-large

_LATE = 1.0  # seconds until the scheduler learns of it

_GOOD = 0.1  # of the memory per thread
_KEPT = 0.9  # of what a worker had while tasks ran


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
        f"Results of '{name}' need up to {size(worst.piece)}"
        if worst.results
        else f"A task of '{name}' holds about {size(worst.piece)} while it runs"
    )
    yield CHUNKS_TOO_LARGE.found(
        f"The {kind} of '{name}' take {size(worst.piece)}, {worst.piece / own:.0%} of "
        "the memory per thread",
        cause=(
            f"{text}; {case.name_of(worst.worker)} has {size(worst.limit)} for "
            f"{counted(worst.threads, 'thread')}"
            + (f", {size(own)} each" if worst.threads > 1 else "")
            + ". A task holds its inputs, its result and intermediate copies, so a "
            "few of them fill the worker: it reached"
            f" {worst.peak / worst.limit:.0%} of its limit"
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
                text=f"{capital(case.name_of(worst.worker))}: peak {size(worst.peak)} "
                f"of {size(worst.limit)}",
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
        .join(spilled_by_worker(case.run), on="source", how="left")
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
        case.run.tasks.filter(FINISHED)
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
    idle = (pl.col("at") > top["at"][0]) & (pl.col("executing").fill_null(0) == 0)
    least = samples.filter(idle)["own"].min()
    if least is not None and float(least) >= _KEPT * top["own"][0]:  # type: ignore[arg-type]
        return (
            0,
            at,
        )  # it is there when the task has ended: no size of a piece changes that
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
            f"receive all of '{name}' at once. Set it to 1.1, the default "
            "(`distributed.scheduler.worker-saturation: 1.1`), and about "
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
            f"When {pile.made:,} of {pile.number:,} tasks of '{name}' had finished, "
            f"{pile.used:,} of the tasks that use their results had. The results waited "
            f"in memory: {size(pile.bytes)}, {pile.bytes / pile.memory:.0%} of the "
            f"{size(pile.memory)} that the workers have."
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
                text=f"{pile.made:,} tasks of '{name}' had finished, and {pile.used:,} "
                "of the tasks after them",
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
    done = case.loads.tasks.filter(FINISHED).select("prefix", "nbytes", "ended")
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
