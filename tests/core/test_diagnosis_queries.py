"""What is derived from a run is derived once, and the cost does not grow with what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest.mock import MagicMock, patch

import polars as pl
import pytest
from dask_blackbox.analyse import findings_in, verdict_in
from dask_blackbox.analyse.case import Case
from dask_blackbox.card import card_of
from dask_blackbox.events import GraphUpdated, WorkerAdded
from dask_blackbox.events.coding import KINDS
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables import SCHEMAS, without_empty_queries
from polars.testing import assert_frame_equal
from runs_from_rows import (
    a_failed_task,
    a_graph,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
)


@pytest.fixture
def queries() -> Iterator[MagicMock]:
    """Count the queries of polars."""
    lazy = pl.DataFrame.lazy
    with patch.object(
        pl.DataFrame, "lazy", autospec=True, side_effect=lazy
    ) as counting:
        yield counting


def a_small_run() -> RunTables:
    return a_run(
        a_worker(),
        a_graph(),
        a_task("load-1"),
        a_failed_task("sum-1", "ValueError", "bad price 'n/a'"),
        failed_with(an_exception("ValueError", "bad price 'n/a'")),
    )


def test_events_of_all_kinds_are_found_by_a_few_queries(queries: MagicMock) -> None:
    run = a_run(*(an_event(kind, at=n) for n, kind in enumerate(KINDS)))
    queries.reset_mock()

    found = {kind: run.of(struct) for kind, struct in KINDS.items()}

    assert all(found.values())
    assert queries.call_count <= 4


def test_a_small_run_is_diagnosed_with_few_queries(queries: MagicMock) -> None:
    run = a_small_run()
    queries.reset_mock()

    card = card_of(run, findings_in(run))

    assert card.verdict is not None
    assert card.verdict.rule == "task-exception"
    assert queries.call_count <= 240


def test_the_verdict_alone_is_the_same_as_with_all_other_findings() -> None:
    found = findings_in(a_small_run())

    assert verdict_in(a_small_run()) == found[0]
    assert [each.severity for each in found].count("failure") == 1
    assert verdict_in(a_run(a_worker(), a_graph())) is None


def test_the_card_uses_what_the_diagnosis_derived() -> None:
    run = a_small_run()
    first, second = Case(run), Case(run)

    assert first.blame.failure is not None
    assert first.blame is second.blame
    assert first.outcome is second.outcome
    assert first.failures is second.failures
    assert first.loads is second.loads


def test_what_follows_from_the_state_is_derived_again_for_another_state() -> None:
    run = a_small_run()
    run.ending = None
    run.last_heartbeat = run.manifest.started + 5
    lost = Case(run)
    assert lost.state == "lost"
    assert lost.outcome.kind == "vanished"

    run.clock_ahead = 1e12  # the run goes on
    running = Case(run)

    assert running.state == "running"
    assert running.outcome.kind == "still-running"
    assert running.blame.failure is None


def test_events_come_in_order_of_time_and_those_of_one_moment_as_they_came() -> None:
    run = a_run(
        an_event("graph-updated", "third", at=9),
        an_event("graph-updated", "first", at=2),
        an_event("worker-added", "w", at=5),
        an_event("graph-updated", "second", at=2),
    )

    assert [e.subject for e in run.of(GraphUpdated)] == ["first", "second", "third"]
    assert [e.subject for e in run.of(WorkerAdded)] == ["w"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_table_without_rows_is_the_same_after_a_query(name: str) -> None:
    plain = pl.DataFrame(schema=SCHEMAS[name])
    column = plain.columns[0]
    empty = without_empty_queries(plain)

    queries: list[Callable[[pl.DataFrame], pl.DataFrame]] = [
        lambda table: table.filter(pl.col(column).is_not_null()),
        lambda table: table.sort(column, maintain_order=True),
        lambda table: table.unique(column),
        lambda table: table.drop_nulls(),
        lambda table: table.select(column).filter(pl.col(column).is_null()),
        lambda table: table.group_by(column, maintain_order=True).len(),
    ]
    for query in queries:
        assert_frame_equal(query(empty), query(plain))


def test_a_table_with_rows_is_queried() -> None:
    tasks = a_small_run().tasks

    assert len(tasks)
    assert not len(tasks.filter(pl.col("prefix") == "nobody"))
