"""The timeline counts every execution, whether it draws it alone or in a sum."""

from __future__ import annotations

import base64

import numpy as np
import polars as pl
import pytest
from building import (
    LIMIT,
    MIB,
    START,
    a_death,
    a_run,
    a_sample,
    a_task,
    a_worker,
    succeeded,
)
from dask_blackbox.report.axis import axis_of
from dask_blackbox.report.curves import curves_of
from dask_blackbox.report.executions import executions_of
from dask_blackbox.report.lives import lives_of
from dask_blackbox.report.timeline import Timeline, timeline_of
from dask_blackbox.run import RunTables
from dask_blackbox.tables import frames_of

EACH = 0.01


def a_crowd(number: int, *, workers: int = 4, threads: int = 2) -> RunTables:
    """Return a run whose threads are busy 80 % of the time, without a gap in between."""
    run = a_run(
        *(a_worker(f"tcp://w{n}", nthreads=threads, pid=n) for n in range(workers))
    )
    n = np.arange(number)
    lane, place = n % (workers * threads), n // (workers * threads)
    start = START + 2 + place * EACH / 0.8
    columns = {
        "key": pl.Series([f"load-{i}" for i in n]),
        "prefix": pl.Series(np.where(n % 3 == 0, "load", "join")),
        "worker": pl.Series([f"tcp://w{w}" for w in lane // threads]),
        "thread": pl.Series(lane % threads),
        "start": pl.Series((start * 1e6).astype(np.int64)).cast(
            pl.Datetime("us", "UTC")
        ),
        "stop": pl.Series(((start + EACH) * 1e6).astype(np.int64)).cast(
            pl.Datetime("us", "UTC")
        ),
        "compute": pl.Series(np.full(number, EACH)),
        "outcome": pl.Series(np.where(n % 1000 == 7, "erred", "finished")),
    }
    empty = frames_of({})["tasks"]
    tasks = empty.clear(number).with_columns(
        **{name: values.cast(empty.schema[name]) for name, values in columns.items()}
    )
    frames = {
        name: getattr(run, name) for name in ("errors", "logs", "metrics", "events")
    }
    return RunTables(run.manifest, None, {"tasks": tasks, **frames})


def drawn(run: RunTables) -> Timeline:
    lives = lives_of(run)
    return timeline_of(executions_of(run, lives), axis_of(run), lives)


def in_cells(timeline: Timeline, name: str, kind: str) -> np.ndarray:
    assert timeline.grid is not None
    return np.frombuffer(base64.b64decode(getattr(timeline.grid, name)), dtype=kind)


@pytest.mark.parametrize("number", [0, 1, 1_000, 100_000])
def test_every_execution_is_counted_once(number: int) -> None:
    timeline = drawn(a_crowd(number))

    alone = len(timeline.marked.key)
    summed = int(in_cells(timeline, "count", "<u2").sum()) if timeline.grid else 0
    assert alone + summed == number


def test_few_executions_are_all_drawn_where_they_were() -> None:
    run = a_run(
        a_worker(nthreads=1), a_task("load-1", start=3, compute=2), succeeded(at=10)
    )

    marked = drawn(run).marked

    assert (marked.key, marked.begin, marked.stop) == (
        ["load-1"],
        [3_000_000],
        [5_000_000],
    )


def test_of_very_many_all_that_failed_are_drawn_alone() -> None:
    timeline = drawn(a_crowd(100_000))

    assert sum(1 for outcome in timeline.marked.outcome if outcome) == 100
    assert "all 100 that failed" in timeline.said
    assert "the other 87,900" in timeline.said


def test_the_sum_is_as_busy_as_the_threads_were() -> None:
    timeline = drawn(a_crowd(100_000))

    assert timeline.grid is not None
    shares = in_cells(timeline, "fill", "u1") / 255
    alone = sum(
        stop - begin
        for begin, stop in zip(timeline.marked.begin, timeline.marked.stop, strict=True)
    )
    seconds = (shares.sum() * timeline.grid.step + alone) / 1e6
    assert seconds == pytest.approx(100_000 * EACH, rel=0.02)


def test_what_a_dead_worker_was_running_is_drawn_as_killed() -> None:
    run = a_run(
        a_worker(),
        a_task("load-1", start=3, compute=2),
        a_death(exit_code=-9, at=12, executing=["join-7"]),
        succeeded(at=20),
    )

    marked = drawn(run).marked

    row = marked.key.index("join-7")
    assert marked.outcome[row] == 3
    assert (marked.begin[row], marked.stop[row]) == (11_000_000, 12_000_000)


def test_a_worker_that_did_nothing_has_its_lane() -> None:
    run = a_run(
        a_worker("tcp://w1"), a_worker("tcp://w2", pid=2), a_task(worker="tcp://w1")
    )

    assert {lane.worker for lane in drawn(run).lanes} == {"tcp://w1", "tcp://w2"}


def test_a_peak_of_memory_survives_thinning() -> None:
    samples = [a_sample(at=n / 100, memory=MIB * 100) for n in range(5_000)]
    run = a_run(
        a_worker(), samples, a_sample(at=23.456, memory=LIMIT), succeeded(at=60)
    )

    (curve,) = curves_of(run, axis_of(run), lives_of(run)).workers

    assert len(curve.at) < 1_300
    assert max(m for m in curve.memory if m is not None) == LIMIT / MIB


def test_a_clock_that_is_off_by_months_does_not_hide_the_run() -> None:
    run = a_run(
        a_worker(), a_task(start=-90 * 86400.0), a_task(start=3), succeeded(at=10)
    )

    assert axis_of(run).length == pytest.approx(10)
