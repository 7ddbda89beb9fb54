"""Runs made of rows about load: threads, computing, CPU time and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask_blackbox.analyse import findings_in
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables
from runs_from_rows import MIB, START, Piece, a_task, a_worker, an_event

__all__ = ["a_load", "demand", "fine", "graphs", "slugs", "tasks", "the", "workers"]


def demand(
    *wanted: int, cpu: float = 10.0, turn: float = 0.02, since: int = 2
) -> list[Piece]:
    """Return the scheduler's samples, one a second: how many tasks were wanted."""
    return [
        ("metric", (
            START + since + n, "scheduler", cpu, 100 * MIB, None, None, 10, 0.0, 0.0, 0.0,
            0.0, turn, number, 0, 0, "running",
        ))
        for n, number in enumerate(wanted)
    ]  # fmt: skip


def tasks(
    prefix: str,
    number: int,
    *,
    seconds: float,
    threads: int = 2,
    every: float | None = None,
    since: float = 2.0,
    nbytes: int = 100,
) -> list[Piece]:
    """Return tasks one after the other on each thread, a new one every so often."""
    pace = seconds if every is None else every
    return [
        a_task(
            f"{prefix}-{n}",
            worker=f"tcp://w{n % threads + 1}",
            start=since + n // threads * pace,
            compute=seconds,
            nbytes=nbytes,
        )
        for n in range(number)
    ]


def graphs(*moments: float) -> list[Piece]:
    return [an_event("graph-updated", "Client-1", at=at, tasks=1) for at in moments]


def workers(number: int = 2, nthreads: int = 1) -> list[Piece]:
    return [
        a_worker(f"tcp://w{n + 1}", pid=100 + n, nthreads=nthreads, at=0.5)
        for n in range(number)
    ]


def a_load(
    address: str = "tcp://w1",
    *,
    seconds: float = 40.0,
    at: float = 42.0,
    **reported: Any,
) -> Piece:
    """Return what a worker's process reported of itself."""
    usual = {
        "cpu": seconds, "gc": 0.0, "host_busy": seconds, "wakeups": 400, "late_wakeups": 0,
        "late_seconds": 0.1, "cores": 4, "host_memory": 2**34,
    }  # fmt: skip
    return an_event(
        "process-load", address, at=at, seconds=seconds, **{**usual, **reported}
    )


def fine(*totals: Sequence[Any], at: float = 50.0) -> Piece:
    return an_event("fine-metrics", at=at, totals=[list(each) for each in totals])


def the(slug: str, run: RunTables) -> Finding:
    found = [each for each in findings_in(run) if each.rule == slug]
    assert found, [each.title for each in findings_in(run)]
    return found[0]


def slugs(run: RunTables) -> list[str]:
    return [each.rule for each in findings_in(run)]
