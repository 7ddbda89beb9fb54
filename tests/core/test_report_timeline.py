"""The timeline holds every execution of a run, with its times, thread and outcome."""

from __future__ import annotations

import base64
import zlib
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pytest
from dask_blackbox.analyse.facts.critical_path import last_inputs_of
from dask_blackbox.analyse.facts.executions import counts_of, executions_of
from dask_blackbox.card import card_of
from dask_blackbox.report import html, performance_html
from dask_blackbox.report.axis import axis_of
from dask_blackbox.report.curves import curves_of
from dask_blackbox.report.prefix_graph import prefix_rows
from dask_blackbox.report.timeline import Timeline, marks_of, timeline_of
from dask_blackbox.report.workers import worker_processes
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import frames_of
from runs_from_rows import (
    LIMIT,
    MIB,
    START,
    a_death,
    a_departure,
    a_failed_task,
    a_graph,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    succeeded,
)

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


class Drawn(NamedTuple):
    """An execution as the page reads it: times in units of `unit` µs since the axis began."""

    worker: str
    lane: int
    begin: int
    stop: int
    prefix: str
    outcome: str
    key: str | None


def unpacked(text: str) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in zlib.decompress(base64.b64decode(text)):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value, shift = 0, 0
    return values


def unpacked_signed(text: str) -> list[int]:
    return [-(n + 1) // 2 if n % 2 else n // 2 for n in unpacked(text)]


def unpacked_texts(text: str) -> list[str]:
    return msgspec.json.decode(zlib.decompress(base64.b64decode(text)), type=list[str])


def timeline(run: RunTables) -> Timeline:
    waits = last_inputs_of(run)
    return timeline_of(
        executions_of(run), axis_of(run), worker_processes(run), set(), waits
    )


def drawn(run: RunTables) -> list[Drawn]:
    """Return what the page reads from its packed columns, lane by lane."""
    made = timeline(run)
    pack = made.pack
    lanes = [
        (worker.label, lane - worker.first)
        for worker in made.workers
        for lane in range(worker.first, worker.first + worker.lanes)
    ]
    gaps = unpacked_signed(pack.gap)
    lengths, prefixes = unpacked(pack.length), unpacked(pack.prefix)
    odd = dict(
        zip(np.cumsum(unpacked(pack.outcome_at)), unpacked(pack.outcome), strict=True)
    )
    keys = dict(
        zip(
            np.cumsum(unpacked(pack.keys.at)),
            unpacked_texts(pack.keys.texts),
            strict=True,
        )
    )
    found: list[Any] = []
    for lane, number in enumerate(unpacked(pack.counts)):
        end = 0
        for _ in range(number):
            row = len(found)
            begin = end + gaps[row]
            end = begin + lengths[row]
            found.append(
                Drawn(
                    *lanes[lane], begin + pack.origin, end + pack.origin,
                    made.prefixes[prefixes[row]], made.outcomes[odd.get(row, 0)],
                    keys.get(row),
                )
            )  # fmt: skip
    return found


@pytest.mark.parametrize("number", [0, 1, 1_000, 130_000])
def test_every_execution_is_drawn_once_with_its_share_of_time(number: int) -> None:
    run = a_crowd(number)

    found, unit = drawn(run), timeline(run).pack.unit

    assert len(found) == number
    busy = sum(each.stop - each.begin for each in found) * unit / 1e6
    assert busy == pytest.approx(number * EACH, rel=0.02)


def test_an_execution_lies_where_it_was_to_the_microsecond() -> None:
    run = a_run(
        a_worker(nthreads=1, name="bee"),
        a_task("load-1", start=3, compute=2),
        succeeded(at=10),
    )

    assert drawn(run) == [
        Drawn("bee", 0, 3_000_000, 5_000_000, "load", "finished", "load-1")
    ]


def test_what_began_before_the_run_and_what_overlaps_keeps_its_times() -> None:
    run = a_run(
        a_worker(nthreads=1),
        a_task("load-1", start=-5, compute=2),
        a_task("load-2", start=3, compute=4),
        a_task("load-3", start=4, compute=1),
        succeeded(at=10),
    )

    times = {each.key: (each.begin, each.stop) for each in drawn(run)}

    length = round((axis_of(run).start - START) * 1e6)
    assert length == -5_000_000
    assert times == {
        "load-1": (0, 2_000_000),
        "load-2": (8_000_000, 12_000_000),
        "load-3": (9_000_000, 10_000_000),
    }


def test_failed_tasks_among_many_have_their_keys() -> None:
    found = drawn(a_crowd(130_000))

    assert all(each.key for each in found if each.outcome == "erred")
    assert sum(each.outcome == "erred" for each in found) == 130


def a_killed_run() -> RunTables:
    """Two attempts of a task take their workers along; the scheduler knows no times."""
    killed = ("task", ("join-7", "join", "join", "tcp://w2", None, None, None, 0.0, 0.0, 0.0, 0.0, None, None, "killed"))  # fmt: skip
    return a_run(
        a_worker("tcp://w1"),
        a_worker("tcp://w2", pid=2),
        a_task("load-1", start=3, compute=2),
        a_death("tcp://w1", exit_code=-9, at=12, executing=["join-7"]),
        a_death("tcp://w2", exit_code=-9, pid=2, at=15, executing=["join-7"]),
        killed,
        raised_in("join-7", killed_worker("join-7"), at=15.1, worker="tcp://w2"),
    )


def test_the_execution_at_the_decisive_death_has_its_bar() -> None:
    killed = [each for each in drawn(a_killed_run()) if each.outcome == "killed"]

    assert [(each.begin, each.stop) for each in killed] == [
        (11_000_000, 12_000_000),
        (14_000_000, 15_000_000),
    ]


def test_killed_work_counts_the_same_everywhere() -> None:
    run = a_killed_run()
    card = card_of(run, ())

    counts = counts_of(run)
    assert (counts.executions, counts.finished, counts.killed) == (3, 1, 2)
    assert counts.seconds == pytest.approx(4.0)
    assert (card.numbers["executions"], card.numbers["killed"]) == (3, 2)
    assert sum(row.tasks for row in prefix_rows(executions_of(run))) == 3
    assert sum(process.tasks for process in worker_processes(run)) == 3
    assert sum(process.busy for process in worker_processes(run)) == pytest.approx(4.0)
    assert timeline(run).summary.startswith("3 task executions")
    assert "number of task executions: 3" in performance_html(run, card)


def test_a_retried_attempt_has_a_thread_that_was_free() -> None:
    def attempt(
        key: str, start: float, thread: int | None, outcome: str
    ) -> tuple[str, Any]:
        begun = START + start
        return "task", (key, "fetch", "fetch", "tcp://w1", thread, begun, begun + 2, 2.0, 0.0, 0.0, 0.0, 1, "int", outcome)  # fmt: skip

    run = a_run(
        a_worker(nthreads=2),
        attempt("fetch-1", 3, 71, "finished"),
        attempt("fetch-2", 6, 72, "finished"),
        attempt("fetch-3", 4, None, "retried"),
        succeeded(at=10),
    )

    lanes = {each.key: each.lane for each in drawn(run)}
    assert lanes == {"fetch-1": 0, "fetch-2": 1, "fetch-3": 1}


def test_the_peak_of_a_worker_is_the_highest_that_it_or_the_scheduler_saw() -> None:
    run = a_run(
        a_worker(),
        a_sample(memory=300),
        an_event("process-load", "tcp://w1", at=9, seconds=10, peak_memory=380),
    )

    (process,) = worker_processes(run)

    assert process.peak == 380


def test_a_worker_that_did_nothing_has_its_row_and_a_restarted_one_keeps_it() -> None:
    run = a_run(
        a_worker("tcp://w1:1", name="0"),
        a_departure("tcp://w1:1", at=5),
        a_worker("tcp://w1:2", at=6, pid=2, name="0"),
        a_worker("tcp://w1:3", at=7, pid=3, name="0"),
        succeeded(at=10),
    )

    workers = timeline(run).workers
    labels = [process.label for process in worker_processes(run)]

    assert [worker.processes for worker in workers] == [[0, 1], [2]]
    assert len(set(labels)) == 3
    assert len({worker.label for worker in workers}) == 2


def test_no_mark_is_left_out() -> None:
    run = a_run([a_graph(at=n / 100) for n in range(3_000)], succeeded(at=60))

    assert sum(mark.kind == "graph" for mark in marks_of(run, axis_of(run), [])) == 3000


def test_a_cluster_that_its_own_driver_closes_has_not_failed() -> None:
    def kinds(run: RunTables) -> set[str]:
        marks = marks_of(run, axis_of(run), worker_processes(run))
        return {m.kind for m in marks if m.text.startswith("the scheduler closed")}

    closing = an_event("scheduler-closing", "tcp://s", at=30)
    early = an_event("scheduler-closing", "tcp://s", at=10)

    assert kinds(a_run(a_worker(), closing, succeeded(at=30))) == {"end"}
    assert kinds(a_run(early, a_failed_task(at=20), failed_with(at=40))) == {"failure"}


def test_the_last_value_of_the_nanny_is_the_end_of_the_curve() -> None:
    run = a_run(
        a_worker(),
        a_sample(at=5, memory=100 * MIB),
        an_event("worker-restarted-for-memory", "tcp://w1", at=11.9, pid=100, rss=395 * MIB),
        a_death(exit_code=-15, at=12, executing=["hog-1"], memory=[(11, 316 * MIB)]),
        failed_with(an_exception("KilledWorker", "gone")),
    )  # fmt: skip

    (curve,) = curves_of(run, axis_of(run), worker_processes(run)).workers

    assert (curve.at[-1], curve.memory[-1]) == (12_000, 395.0)
    assert curve.died == 12_000


def test_a_page_of_two_hundred_thousand_executions_has_its_size() -> None:
    run = a_crowd(200_000, workers=100)

    assert len(html(run, card_of(run, ()))) < 1_500_000


def test_a_peak_of_memory_survives_thinning() -> None:
    samples = [a_sample(at=n / 100, memory=MIB * 100) for n in range(5_000)]
    run = a_run(
        a_worker(), samples, a_sample(at=23.456, memory=LIMIT), succeeded(at=60)
    )

    (curve,) = curves_of(run, axis_of(run), worker_processes(run)).workers

    assert len(curve.at) < 1_300
    assert max(m for m in curve.memory if m is not None) == LIMIT / MIB


def test_a_clock_that_is_off_by_months_does_not_hide_the_run() -> None:
    run = a_run(
        a_worker(), a_task(start=-90 * 86400.0), a_task(start=3), succeeded(at=10)
    )

    assert axis_of(run).length == pytest.approx(10)


def test_what_each_execution_waited_for_is_in_the_page() -> None:
    run = a_run(
        a_worker(nthreads=2),
        a_task("load-1", start=3, compute=2, last_input=""),
        a_task("load-2", start=3, compute=3, last_input=""),
        a_task("join-1", start=7, compute=1, last_input="load-2"),
        a_task("save-1", start=8, compute=1, last_input="join-1"),
        succeeded(at=10),
    )
    keys, waits = [each.key for each in drawn(run)], timeline(run).pack.waits

    at = np.cumsum(unpacked(waits.at))
    inputs = at + np.array(unpacked_signed(waits.input))
    chain = np.cumsum(unpacked_signed(waits.chain_at))

    assert waits.number == 2
    assert {keys[a]: keys[b] for a, b in zip(at, inputs, strict=True)} == {
        "join-1": "load-2",
        "save-1": "join-1",
    }
    assert [keys[n] for n in chain] == ["load-2", "join-1", "save-1"]


def test_the_chain_and_named_tasks_of_many_show_what_they_waited_for() -> None:
    run = a_crowd(130_000)
    before = pl.col("key").shift(8).fill_null("")  # of the same thread
    tables = {
        name: getattr(run, name) for name in ("errors", "logs", "metrics", "events")
    }
    tasks = run.tasks.with_columns(before.alias("last_input"))
    run = RunTables(run.manifest, None, {"tasks": tasks, **tables})
    chain, waits = last_inputs_of(run).longest, timeline(run).pack.waits

    assert chain is not None
    assert waits.chain == len(chain.rows) > 100
    assert 2_000 <= waits.number < 30_000


def test_pauses_and_the_begin_of_spilling_are_marked() -> None:
    run = a_run(
        a_worker("tcp://w1"),
        a_worker("tcp://w2", pid=2),
        [a_sample(at=n, status="paused" if n in (3, 4, 8) else "running") for n in range(1, 9)],
        [a_sample("tcp://w2", at=n, spilled=MIB * (n > 2 and n != 5)) for n in range(1, 8)],
        succeeded(at=10),
    )  # fmt: skip

    marks = marks_of(run, axis_of(run), worker_processes(run))

    kinds = ("paused", "resumed", "spilling")
    assert [(m.at, m.kind, m.subject) for m in marks if m.kind in kinds] == [
        (3_000, "paused", "tcp://w1"),
        (3_000, "spilling", "tcp://w2"),
        (5_000, "resumed", "tcp://w1"),
        (6_000, "spilling", "tcp://w2"),
        (8_000, "paused", "tcp://w1"),
    ]
