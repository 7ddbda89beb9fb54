"""What did not fit into memory, or nearly did not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.memory import is_of_host, more_pieces, peaks_of
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    INPUTS_EXCEED_MEMORY_LIMIT,
    MEMORY_LIMIT_LOWERED,
)
from dask_blackbox.analyse.signatures.python import NOT_ALLOCATED
from dask_blackbox.analyse.task_activity import Host
from dask_blackbox.finding import Cost, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    capital,
    class_of,
    code_line,
    counted,
    need,
    quoted_key,
    short,
    size,
)

# task-memory-error

_CLASSES = ("MemoryError", "_ArrayMemoryError", "ArrowMemoryError", "OutOfMemoryError")


@documented("task-memory-error")
def TASK_MEMORY_ERROR(case: Case) -> Iterator[Finding]:
    yield from _that_closed_workers(case)
    failure = case.blame.failure
    if failure is None or failure.killed:
        return
    # What was raised; or what it began with, where the job's code wraps that.
    own = (failure.raised.name, failure.raised.message)
    root = failure.root or ("", "")
    name, message = own if own[0] in _CLASSES else (class_of(root[0]), root[1])
    if name not in _CLASSES:
        return
    rows = case.run.workers.filter(
        case.run.workers["address"] == (failure.worker or "")
    )
    limit = max((n for n in rows["memory_limit"].to_list() if n), default=None)
    what = f"'{short(failure.prefix or failure.key, 40)}'"
    wanted = _wanted(message)
    where = f", at {failure.frame}" if failure.frame else ""
    held = _fits(case, failure.worker, wanted, limit)
    beyond = _beyond_reach(wanted, limit)
    yield TASK_MEMORY_ERROR.found(
        f"{what} could not allocate {wanted or 'the memory it asked for'}",
        cause=(
            f"{quoted_key(failure.key)} on "
            f"{case.name_of(failure.worker) if failure.worker else 'a worker'} raised "
            f"{short(str(failure), 300)}{where}. "
            + (
                f"Original exception: {name}: {short(message, 200)}. "
                * (own[0] != name)
            )
            + "The worker survived"
            + (f"; its limit is {size(limit)}." if limit else ".")
            + (_OTHER_LIMIT.format(held=size(held)) if held else "")
        ),
        remedy=(
            f"{_RAISE if held else 'Make'} the input of one task smaller ("
            f"{more_pieces(of_host=is_of_host(case.run, failure.key))})"
            + (f": it requested {wanted} at once" if wanted else "")
            + (f", and a worker has {size(limit)}" if limit else "")
            + _split(wanted, limit, rows["nthreads"].max())
            + ". Check which shape or join grew so large."
        ),
        confidence="high" if case.blame.proven else "medium",
        retry_advice="code" if beyond else "environment" if held else None,
        retry_confidence="medium" if beyond or held else None,
        subject=failure.subject,
        evidence=(
            Evidence(
                text=f"{failure.key}: {short(str(failure), 400)}",
                source="errors",
                at=failure.at,
            ),
            *case.exception_evidence(),
        ),
    )


_OTHER_LIMIT = (
    " Its last sample was {held} of that, so it probably reached another limit: that of "
    "the process's address space (`ulimit -v`, RLIMIT_AS), of its container, or of the "
    "host's memory."
)
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

    return parse_bytes(text.replace(" ", "").replace(",", ""))


def _wanted(message: str) -> str | None:
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
    unknown = "Dask has no memory limit there, so it neither spilled nor paused."
    yield from verdict_on_deaths(
        case,
        TASK_MEMORY_ERROR,
        deaths,
        did="could not allocate memory",
        how="and closed themselves" if len(deaths) > 1 else "and closed itself",
        more=unknown if limits == {None} else "",
        remedy=(
            "Something other than Dask limits the memory of a process there: `ulimit "
            "-v` (login nodes and batch systems set it), or a machine without "
            "overcommit. Set `--memory-limit` below that limit, so that Dask spills in "
            "time. Otherwise make the pieces smaller, or have the limit raised."
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
            "Write the result from the workers (`to_parquet`, `to_zarr`) or reduce it "
            "before `compute()`. If it must be in one place, that worker (and the "
            f"driver) needs well over {inputs}: give it {need(2 * _bytes(inputs))}, "
            "for the inputs and the result."
        ),
        confidence="high",
        subject=Subject(key=key, prefix=case.prefix_of(key), worker=refused["worker"]),
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
    left = max(TERMINATED_AT * limit - peak, 0)
    comfortable = math.ceil(peak / _COMFORTABLE / _STEP) * _STEP
    paused = case.run.metrics.filter(pl.col("status") == "paused")["source"].n_unique()
    yield MEMORY_NEAR_LIMIT.found(
        f"Memory reached {peak / limit:.0%} of a worker's limit",
        cause=(
            f"{capital(case.name_of(top['source']))} reached {size(peak)} of "
            f"{size(limit)}; {size(left)} more, and its nanny would have terminated it at "
            f"95 %. {len(near):,} of {counted(len(peaks), 'worker')} came as close"
            + (
                f", and {counted(paused, 'worker')} paused for memory."
                if paused
                else "."
            )
        ),
        remedy=(
            f"Give each worker about {need(comfortable)} (then this peak is 70 % of the "
            "limit), run fewer tasks at once, or make the pieces smaller."
        ),
        confidence="high",
        subject=Subject(worker=top["source"]),
        cost=Cost(amount=max(comfortable - limit, 0), unit="bytes", share=peak / limit),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(row['source'])}: peak {size(row['peak'])} of "
                f"{size(row['memory_limit'])}",
                source="metrics",
            )
            for row in near.head(5).iter_rows(named=True)
        ),
    )


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
            remedy=_remedy(None, 0),
            confidence="high",
            evidence=lines,
        )
        return
    workers = len(host.limited)
    excess = host.limits - host.memory
    yield MEMORY_LIMIT_IGNORED.found(
        f"The memory limits of the workers on a host add up to {size(host.limits)}; it has "
        f"{size(host.memory)}",
        cause=(
            f"{counted(workers, 'worker')} on {host.name} may use "
            f"{size(host.limits / max(workers, 1))} each according to Dask, "
            f"{size(host.limits)} together: {size(excess)} more than the host has. "
            "They will not spill or pause in time: the kernel kills a process first."
            + (
                " Dask lowered a limit that was above the host's memory."
                if lines
                else ""
            )
        ),
        remedy=_remedy(host, workers),
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


def _remedy(host: Host | None, workers: int) -> str:
    if host is None or not host.memory or not workers:
        return (
            "Set `memory_limit` to what the host has, divided by its workers, or leave it "
            "at `auto`."
        )
    each = _PART * host.memory / workers
    return (
        f"Set `memory_limit` to at most {size(each)} (nine tenths of {size(host.memory)} for "
        f"{counted(workers, 'worker')}), or leave it at `auto`."
    )
