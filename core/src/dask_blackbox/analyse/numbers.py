"""The measures on a card, from the tables (docs/card.md says what each means)."""

from __future__ import annotations

from typing import Any

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.memory import peaks_of
from dask_blackbox.analyse.state import last_sign_of_life
from dask_blackbox.run import RunTables

__all__ = ["NUMBERS", "numbers_of"]

NUMBERS = {
    "duration": "seconds from the start of the run to its end (or last sign of life)",
    "tasks": "task executions that finished",
    "task_failures": "tasks that failed of themselves",
    "retried": "attempts that failed and were tried again",
    "workers": "most workers at once",
    "threads": "most threads at once",
    "deaths": "workers that died",
    "restarts": "worker processes that took the place of an earlier one",
    "peak_memory": "most memory that any worker was seen with, bytes",
    "memory_limit": "memory limit of that worker, bytes",
    "peak_memory_share": "the former by the latter",
    "spilled": "most bytes that workers had spilled to disk at once",
    "bytes_transferred": "bytes of results that workers handed to each other and to the driver",
    "result_bytes": "bytes of all results of tasks",
    "compute_seconds": "seconds that tasks computed, over all threads",
    "transfer_seconds": "seconds that tasks waited for their inputs to arrive",
    "disk_seconds": "seconds that tasks waited for spilled data",
    "deserialize_seconds": "seconds that tasks and inputs took to deserialise",
}
"""Every measure that can stand on a card, and what it means."""

_READS = ("memory-read", "disk-read")
_AT_ONCE = 1.0


def numbers_of(case: Case) -> dict[str, float]:
    """Return the measures of a run, in the order of `NUMBERS`; unknown ones are left out."""
    run = case.run
    found: dict[str, float | None] = {
        "duration": max(last_sign_of_life(run) - run.manifest.started, 0.0),
        "task_failures": len(case.failures),
        "deaths": len(case.deaths),
        **_of_tasks(run),
        **_of_workers(run),
        **_of_memory(case),
        "bytes_transferred": _handed_over(run),
    }
    return {
        name: round(float(value), 3)
        for name in NUMBERS
        if (value := found.get(name)) is not None
    }


def _of_tasks(run: RunTables) -> dict[str, float | None]:
    tasks = run.tasks
    finished = tasks.filter(pl.col("outcome") == "finished")
    return {
        "tasks": len(finished),
        "retried": len(run.errors.filter(pl.col("outcome") == "retried")),
        "result_bytes": float(finished["nbytes"].sum() or 0),
        "compute_seconds": float(tasks["compute"].sum() or 0),
        "transfer_seconds": float(tasks["transfer"].sum() or 0),
        "disk_seconds": float(tasks["disk"].sum() or 0),
        "deserialize_seconds": float(tasks["deserialize"].sum() or 0),
    }


def _of_workers(run: RunTables) -> dict[str, float | None]:
    lives = run.workers
    came = lives.select(
        at="joined", one=pl.lit(1), threads=pl.col("nthreads").fill_null(0)
    )
    went = lives.filter(pl.col("left").is_not_null()).select(
        at="left", one=pl.lit(-1), threads=-pl.col("nthreads").fill_null(0)
    )
    # Those who leave at the very moment that others come are counted out first.
    moves = pl.concat([went, came]).sort("at", maintain_order=True)
    return {
        "workers": int(moves["one"].cum_sum().max() or 0) if len(moves) else 0,  # type: ignore[arg-type]
        "threads": int(moves["threads"].cum_sum().max() or 0) if len(moves) else 0,  # type: ignore[arg-type]
        "restarts": _restarts(run),
    }


def _restarts(run: RunTables) -> int:
    """Return how many processes took the place of one that had left.

    The place is the nanny's; where names are all there is, they are the scheduler's own:
    a second cluster has a worker 0 too.
    """
    schedulers = run.details("scheduler-info")
    left: set[tuple[Any, ...]] = set()
    number = 0
    moves = []
    for life in run.workers.iter_rows(named=True):
        known = sum(fact["at"] <= life["joined"] for fact in schedulers)
        # The schedulers that were known then: the newest of them is the worker's.
        scheduler = schedulers[known - 1]["subject"] if known else None
        places = {("nanny", life["nanny"]), ("name", life["name"], scheduler)}
        places -= {("nanny", None), ("name", None, scheduler)}
        moves.append((life["joined"], 1, places))
        if life["left"] is not None:
            moves.append((life["left"], 0, places))
    for _, came, places in sorted(moves, key=lambda move: move[:2]):
        number += bool(came and places & left)
        left = left - places if came else left | places
    return number


def _of_memory(case: Case) -> dict[str, float | None]:
    peaks = [
        (row["peak"], row["memory_limit"] or 0)
        for row in peaks_of(case.run).iter_rows(named=True)
    ]
    peaks += [
        (d.peak_memory, d.memory_limit or 0) for d in case.deaths if d.peak_memory
    ]
    if not peaks:
        return {}
    # The worker that came nearest to its limit; without limits, the largest.
    peak, limit = max(peaks, key=lambda pair: (pair[0] / (pair[1] or 2**60), pair[0]))
    metrics = case.run.metrics
    spilled = metrics.group_by("source").agg(pl.col("spilled").max())["spilled"].sum()
    return {
        "peak_memory": peak,
        "memory_limit": limit or None,
        "peak_memory_share": peak / limit if limit else None,
        "spilled": float(spilled or 0),
    }


def _handed_over(run: RunTables) -> float | None:
    """Return the bytes of results that workers handed to each other and to the driver.

    By Dask's own count; what a long-lived scheduler had counted before is taken off.
    """
    schedulers = {fact["subject"] for fact in run.details("scheduler-info")}
    told = run.details("fine-metrics")
    if not told or len(schedulers) > 1:  # totals are each scheduler's own
        return None
    begun = run.details("recording-started")
    first = told[0]
    soon = begun and first["at"].timestamp() - begun[0]["at"].timestamp() < _AT_ONCE
    return _served(told[-1]) - (_served(first) if soon else 0.0)


def _served(told: dict[str, Any]) -> float:
    return sum(
        float(row[-1])
        for row in told.get("totals") or ()
        if row[0] == "get-data" and row[-3] in _READS and row[-2] == "bytes"
    )
