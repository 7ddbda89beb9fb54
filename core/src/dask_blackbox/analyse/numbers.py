"""The measures on a card, from the tables (docs/card.md says what each means)."""

from __future__ import annotations

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
    "bytes_transferred": "bytes that the workers' hosts received over the network",
    "result_bytes": "bytes of all results of tasks",
    "compute_seconds": "seconds that tasks computed, over all threads",
    "transfer_seconds": "seconds that tasks waited for their inputs to arrive",
    "disk_seconds": "seconds that tasks waited for spilled data",
    "deserialize_seconds": "seconds that tasks and inputs took to deserialise",
}
"""Every measure that can stand on a card, and what it means."""


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
        "bytes_transferred": _received(run),
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
    named = lives["name"].drop_nulls()
    return {
        "workers": int(moves["one"].cum_sum().max() or 0) if len(moves) else 0,  # type: ignore[arg-type]
        "threads": int(moves["threads"].cum_sum().max() or 0) if len(moves) else 0,  # type: ignore[arg-type]
        "restarts": len(named) - named.n_unique(),
    }


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


def _received(run: RunTables) -> float | None:
    """Return the bytes received by the workers' hosts; workers of a host see the same."""
    rates = run.metrics.filter(
        (pl.col("source") != "scheduler") & pl.col("net_read").is_not_null()
    )
    if not len(rates):
        return None
    hosts = run.workers.select(source="address", host="host").unique("source")
    seconds = pl.col("at").diff().over("source").dt.total_microseconds() / 1e6
    by_source = (
        rates.sort("at")
        .with_columns((pl.col("net_read") * seconds).alias("bytes"))
        .group_by("source")
        .agg(pl.col("bytes").sum())
        .join(hosts, on="source", how="left")
    )
    by_host = by_source.group_by("host").agg(pl.col("bytes").max())
    return float(by_host["bytes"].sum() or 0)
