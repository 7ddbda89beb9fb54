"""The measures on a card, from the tables (docs/card.md says what each means)."""

from __future__ import annotations

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.facts.executions import (
    cached_keys_of,
    counts_of,
    executions_of,
    failed_keys_of,
    not_run_keys_of,
)
from dask_blackbox.analyse.facts.schedulers import schedulers_of
from dask_blackbox.analyse.facts.worker_exit_sources import (
    most_at_once,
    spilled_at_once,
    threads_of,
    worker_exits_of,
)
from dask_blackbox.analyse.run_state import seconds_of
from dask_blackbox.analyse.worker_memory import peaks_of
from dask_blackbox.events import FineMetrics, RecordingStarted, SchedulerInfo
from dask_blackbox.run_tables import FINISHED, RunTables

NUMBERS = {
    "duration": "seconds from the start of the run to its end (or last heartbeat)",
    "executions": "executions of tasks, however they ended",
    "tasks": "tasks that finished, each counted once per cluster",
    "cached": "finished tasks whose result came from the host's cache; left out if "
    "there are none",
    "not_run": "tasks that the host did not run, because their inputs had failed; left out if there are none",
    "task_failures": "tasks that raised, or whose host says that they failed",
    "host_failures": "those of them that failed for their host, and not for Dask; left out if there are none",
    "retried": "attempts that failed and were retried",
    "killed": "task executions that ended with their worker",
    "workers": "most workers at once",
    "threads": "most threads at once",
    "deaths": "workers that died",
    "restarts": "worker processes that replaced an earlier one",
    "peak_memory": "peak memory of any worker, bytes",
    "memory_limit": "memory limit of that worker, bytes",
    "peak_memory_share": "`peak_memory` divided by `memory_limit`",
    "spilled": "most bytes that workers had spilled to disk at once",
    "bytes_transferred": "bytes of results transferred between workers and to the driver",
    "result_bytes": "bytes of all results of tasks",
    "compute_seconds": "seconds that tasks computed, over all threads; at a worker's death, up to it",
    "transfer_seconds": "seconds that tasks waited for their inputs to arrive",
    "disk_seconds": "seconds that tasks waited for spilled data",
    "deserialize_seconds": "seconds that tasks and inputs took to deserialise",
    "thread_seconds": "seconds that threads of workers were there, whether or not they computed",
    "memory_gib_seconds": "GiB of the workers' memory limits, times the seconds that they were there; "
    "left out if a worker has no limit",
}
"""Every measure that a card can show, and its meaning."""

_READS = ("memory-read", "disk-read")
_AT_ONCE = 1.0
_GIB = 2**30


def numbers_of(case: Case) -> dict[str, float]:
    """Return the measures of a run, in the order of `NUMBERS`; unknown ones are left out."""
    run = case.run
    found: dict[str, float | None] = {
        "duration": seconds_of(run),
        "task_failures": len(case.failures)
        + len(failed_keys_of(run) - {each.key for each in case.failures}),
        "deaths": len(case.deaths),
        **_task_numbers(case),
        **_worker_numbers(run),
        **_memory_numbers(case),
        "bytes_transferred": _handed_over(run),
        "thread_seconds": case.loads.all_capacity,
        "memory_gib_seconds": _memory_gib_seconds(case),
    }
    return {
        name: round(float(value), 3)
        for name in NUMBERS
        if (value := found.get(name)) is not None
    }


def _task_numbers(case: Case) -> dict[str, float | None]:
    run = case.run
    tasks, counts = executions_of(run), counts_of(run)
    finished = tasks.filter(FINISHED)
    return {
        "executions": counts.executions,
        "tasks": _tasks(case, finished),
        "cached": len(cached_keys_of(run)) or None,
        "not_run": len(not_run_keys_of(run)) or None,
        "host_failures": len(failed_keys_of(run)) or None,
        "killed": counts.killed,
        "retried": len(run.errors.filter(pl.col("outcome") == "retried")),
        "result_bytes": float(finished["nbytes"].sum() or 0),
        "compute_seconds": float(tasks["compute"].sum() or 0),
        "transfer_seconds": float(tasks["transfer"].sum() or 0),
        "disk_seconds": float(tasks["disk"].sum() or 0),
        "deserialize_seconds": float(tasks["deserialize"].sum() or 0),
    }


def _tasks(case: Case, finished: pl.DataFrame) -> int:
    """Return how many tasks finished.

    One whose result was lost is executed again, and is still one task; the same key on
    another cluster of the run is another task.  One that failed may have finished before;
    and to Dask, it finishes where its host says that it failed, or did not run it.
    """
    run = case.run
    failed = {each.key for each in case.failures} | failed_keys_of(run)
    others = [*failed, *not_run_keys_of(run)]
    finished = finished.filter(~pl.col("key").is_in(others))
    schedulers = schedulers_of(run)
    cluster_of = {
        each.address: schedulers.of_worker(each.scheduler, each.joined)
        for each in worker_exits_of(run)
    }
    if len(set(cluster_of.values())) <= 1:
        return finished["key"].n_unique()
    cluster = pl.col("worker").replace_strict(cluster_of, default="")
    return int(
        finished.group_by(cluster, maintain_order=True)
        .agg(pl.col("key").n_unique())["key"]
        .sum()
    )


def _worker_numbers(run: RunTables) -> dict[str, float | None]:
    known = worker_exits_of(run)
    return {
        "workers": len(most_at_once(known, lambda _: 1)),
        "threads": sum(map(threads_of, most_at_once(known, threads_of))),
        "restarts": _restarts(run),
    }


def _memory_gib_seconds(case: Case) -> float | None:
    """Return GiB of memory limits times seconds; None: a worker's limit is not known."""
    started, stopped = case.loads.started, case.loads.stopped
    total = 0.0
    for each in worker_exits_of(case.run):
        if not each.memory_limit:
            return None
        until = stopped if each.gone is None else min(each.gone, stopped)
        total += each.memory_limit * max(until - max(each.joined, started), 0.0)
    return total / _GIB


def _restarts(run: RunTables) -> int:
    """Return how many processes took the place of one that had left.

    The place is the nanny's; where names are all there is, they are the scheduler's own:
    a second cluster has a worker 0 too.
    """
    schedulers = schedulers_of(run)
    moves: list[tuple[float, int, set[tuple[str, ...]]]] = []
    for each in worker_exits_of(run):
        places: set[tuple[str, ...]] = set()
        if each.nanny:
            places.add(("nanny", each.nanny))
        if each.name:
            scheduler = schedulers.of_worker(each.scheduler, each.joined)
            places.add(("name", each.name, scheduler))
        moves.append((each.joined, 1, places))
        if each.left is not None:
            moves.append((each.left, 0, places))
    left: set[tuple[str, ...]] = set()
    number = 0
    for _, came, places in sorted(moves, key=lambda move: move[:2]):
        number += bool(came and places & left)
        left = left - places if came else left | places
    return number


def _memory_numbers(case: Case) -> dict[str, float | None]:
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
    return {
        "peak_memory": peak,
        "memory_limit": limit or None,
        "peak_memory_share": peak / limit if limit else None,
        "spilled": float(spilled_at_once(case.run)),
    }


def _handed_over(run: RunTables) -> float | None:
    """Return the bytes of results that workers handed to each other and to the driver.

    By Dask's own count; what a long-lived scheduler had counted before is taken off.
    """
    schedulers = {fact.subject for fact in run.of(SchedulerInfo)}
    reported = run.of(FineMetrics)
    if not reported or len(schedulers) > 1:  # totals are each scheduler's own
        return None
    begun = run.of(RecordingStarted)
    first = reported[0]
    soon = begun and first.at - begun[0].at < _AT_ONCE
    return _served(reported[-1]) - (_served(first) if soon else 0.0)


def _served(reported: FineMetrics) -> float:
    return sum(
        float(row[-1] or 0.0)
        for row in reported.totals
        if row[0] == "get-data" and row[-3] in _READS and row[-2] == "bytes"
    )
