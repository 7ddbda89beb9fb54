"""What a remedy may offer: only what this run's cluster and tasks leave to change."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.facts.worker_exit_sources import (
    most_at_once,
    threads_of,
    worker_exits_of,
)
from dask_blackbox.events import DriverAttached
from dask_blackbox.formatting import counted, need, size

_SLACK = 1.05  # a host's memory is never all for workers; nor is a proposed limit exact


def several_threads(case: Case) -> bool:
    """Return whether a worker had several threads, so that fewer of them can be asked for."""
    return any(threads_of(each) > 1 for each in worker_exits_of(case.run))


def several_workers(case: Case) -> bool:
    """Return whether there was more than one worker at once, each with data of its own."""
    return len(most_at_once(worker_exits_of(case.run), lambda _: 1)) > 1


def is_local(case: Case) -> bool:
    """Return whether all workers are those of a `LocalCluster`: they share a host, and no queue."""
    kinds = {e.cluster.kind for e in case.run.of(DriverAttached) if e.cluster}
    return kinds == {"LocalCluster"}


def beyond_host(case: Case, wanted: int, workers: Collection[str] = ()) -> str:
    """Return a sentence if a host has not the memory for its workers to have so much each.

    Args:
        case: The run.
        wanted: Bytes for each worker.
        workers: Addresses of workers whose hosts are meant; empty: all.
    """
    short = _short_host(case, wanted, workers)
    if short is None:
        return ""
    has = f" Their host or container has {size(short.memory)}"
    if not short.fits:
        return f"{has} in all: that takes a larger one."
    return (
        f"{has} in all, which is enough for {counted(short.fits, 'such worker')}, not for "
        f'{short.at_once}: start fewer (`n_workers={short.fits}, memory_limit="{need(wanted)}"`; '
        f"`--nworkers {short.fits}`), or take a larger one."
    )


def is_beyond_host(case: Case, wanted: int) -> bool:
    """Return whether a host has not the memory for a single worker with so much.

    Args:
        case: The run.
        wanted: Bytes for each worker.
    """
    short = _short_host(case, wanted)
    return short is not None and not short.fits


def with_nannies(case: Case) -> bool:
    """Return whether nannies started the run's workers, as far as is known."""
    nannies = case.run.workers["nanny"].to_list()
    return not nannies or any(nannies)


class _ShortHost(NamedTuple):
    """A host that has too little memory: what it has, and for how many of its workers."""

    memory: int
    at_once: int
    fits: int


def _short_host(
    case: Case, wanted: int, workers: Collection[str] = ()
) -> _ShortHost | None:
    for host in case.task_activity.hosts:
        at_once = len(host.limited)
        concerned = not workers or {*workers} & {*host.limited}
        if not concerned or not host.memory or not at_once:
            continue
        fits = int(_SLACK * host.memory // wanted)
        if fits < at_once:
            return _ShortHost(host.memory, at_once, fits)
    return None


def share_of_full_time(case: Case, prefix: str, threads: int) -> float:
    """Return in which share of its tasks' time all threads were occupied, from 0 to 1."""
    table = executions_of(case.run).filter(pl.col("begin").is_not_null())
    own = pl.col("prefix") == prefix
    moves = (
        pl.concat(
            [
                table.select(at="begin", all=pl.lit(1), own=own.cast(pl.Int64)),
                table.select(at="stop", all=pl.lit(-1), own=-own.cast(pl.Int64)),
            ]
        )
        .sort("at")
        .with_columns(
            pl.col("all").cum_sum(),
            pl.col("own").cum_sum(),
            seconds=pl.col("at").diff().shift(-1).dt.total_microseconds() / 1e6,
        )
    )
    spent = moves.select("all", spent=pl.col("own") * pl.col("seconds"))
    total = float(spent["spent"].sum() or 0.0)
    full = float(spent.filter(pl.col("all") >= threads)["spent"].sum() or 0.0)
    return full / total if total else 0.0
