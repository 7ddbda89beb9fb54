"""Spans: the table that is made of them, and what the report shows of it."""

from __future__ import annotations

import json
from typing import Any

from dask_blackbox.card import card_of
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.report import html
from dask_blackbox.run_tables import RunTables

EPOCH = 1_700_000_000.0


def span(at: float, name: str, *words: str, **facts: Any) -> list[Any]:
    reported = {"name": words, "parent": None, "enqueued": EPOCH, "groups": [], **facts}
    return [EPOCH + at, "span", name, json.dumps(reported)]


def task(at: float, key: str, group: str, outcome: str = "finished") -> list[Any]:
    times = [EPOCH + at, EPOCH + at + 1, 1.0, 0.25, 0.0, 0.0]
    return [key, group, group, "tcp://1", 1, *times, 100, "int", outcome]


def run_of(events: list[list[Any]], tasks: list[list[Any]]) -> RunTables:
    manifest = Manifest(recording="r", job="j", run_id="1", started=EPOCH)
    ending = Ending(state="succeeded", ended=EPOCH + 60)
    return RunTables.of_rows(manifest, ending, {"event": events, "task": tasks})


TWO = run_of(
    [
        span(1, "a", "etl", start=EPOCH + 1),
        span(5, "b", "etl", "<load>", parent="a", groups=["x", "y"]),
        span(9, "b", "etl", "<load>", parent="a", groups=["x", "y", "z"]),
        span(9, "c", "again", enqueued=EPOCH + 20, groups=["x"]),
    ],
    [
        task(1, "x-1", "x"),
        task(-0.5, "x-0", "x"),
        task(2, "z-1", "z", "erred"),
        task(21, "x-2", "x"),
        task(3, "other", "other"),
    ],
)


def test_a_span_is_reported_of_once_with_its_own_executions() -> None:
    found = {row["span"]: row for row in TWO.spans.iter_rows(named=True)}

    assert [row["name"] for row in found.values()] == ["etl", "etl/<load>", "again"]
    assert [row["tasks"] for row in found.values()] == [0, 3, 1]
    assert (found["b"]["failed"], found["b"]["parent"]) == (1, "a")
    assert (found["b"]["compute"], found["b"]["nbytes"]) == (3.0, 300)


def test_a_worker_whose_clock_is_slow_does_not_move_tasks_to_an_earlier_span() -> None:
    began = EPOCH + 19.9  # by the worker; the scheduler enqueued the span before
    run = run_of(
        [
            span(9, "a", "first", start=EPOCH + 1, groups=["x"]),
            span(30, "b", "again", enqueued=EPOCH + 20, start=began, groups=["x"]),
        ],
        [task(1, "x-0", "x"), task(19.9, "x-1", "x"), task(21, "x-2", "x")],
    )

    assert dict(run.spans.select("span", "tasks").iter_rows()) == {"a": 1, "b": 2}


def test_without_a_span_of_the_users_there_is_none() -> None:
    assert run_of([span(1, "d", "default", groups=["x"])], []).spans.is_empty()
    assert run_of([], []).spans.is_empty()


def test_the_report_shows_spans_escaped() -> None:
    page = html(TWO, card_of(TWO, ()))

    assert '<section id="spans"' in page
    assert "etl/&lt;load&gt;" in page
    assert '<section id="spans"' not in html(run_of([], []), card_of(TWO, ()))
