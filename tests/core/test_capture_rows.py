"""The scheduler's buffer: nothing is lost that fits, and what doesn't fit is counted."""

from __future__ import annotations

from typing import Any

import msgspec
from dask_blackbox.capture.scheduler.row_buffer import RowBuffer
from hypothesis import given
from hypothesis import strategies as st

KINDS = st.sampled_from(["task", "log", "event"])
ROWS = st.lists(st.tuples(KINDS, st.text(max_size=2_000)), max_size=60)


def pulled(buffer: RowBuffer, *, limit: int = 10) -> list[tuple[str, str]]:
    """Pull everything, losing every second answer on its way."""
    rows: list[tuple[str, str]] = []
    acknowledged, lose = 0, True
    while (answer := buffer.pull(acknowledged, limit, 0.0))["rows"] is not None:
        lose = not lose
        if lose:
            continue
        acknowledged = answer["seq"]
        batch: dict[str, list[Any]] = msgspec.msgpack.decode(answer["rows"])
        rows += [(kind, row[1]) for kind, some in batch.items() for row in some]
    return rows


@given(ROWS)
def test_rows_arrive_once_however_often_an_answer_is_lost(
    rows: list[tuple[str, str]],
) -> None:
    buffer = RowBuffer(100_000)
    for kind, text in rows:
        buffer.put(kind, (1.0, text))

    assert sorted(pulled(buffer)) == sorted(rows)
    assert buffer.drained
    assert buffer.dropped == {}


@given(ROWS, st.integers(1, 20))
def test_what_does_not_fit_is_counted_by_kind(
    rows: list[tuple[str, str]], limit: int
) -> None:
    buffer = RowBuffer(limit)
    for kind, text in rows:
        buffer.put(kind, (1.0, text))

    kept = pulled(buffer)
    for kind in ("task", "log", "event"):
        there = sum(1 for k, _ in rows if k == kind)
        arrived = sum(1 for k, _ in kept if k == kind)
        assert arrived + buffer.dropped.get(kind, 0) == there


def test_long_lines_weigh_more_than_executions() -> None:
    buffer = RowBuffer(1_000)
    for _ in range(1_000):
        buffer.put("log", (1.0, "x" * 32_000))

    kept = len(buffer)
    assert 0 < kept < 20
    assert buffer.dropped == {"log": 1_000 - kept}
    first = buffer.pull(0, 200, 0.0)
    assert first["waiting"] == kept - 2  # a batch is bounded as well


def test_a_flood_of_lines_leaves_space_to_all_else() -> None:
    buffer = RowBuffer(1_000)
    for _ in range(2_000):
        buffer.put("log", (1.0, "a line"))
    for _ in range(2_000):
        buffer.put("task", (1.0, "a task"))
    for number in range(40):
        buffer.put("error", (1.0, f"error {number}"))
    lines, tasks = buffer.dropped["log"], buffer.dropped["task"]

    assert set(buffer.dropped) == {"log", "task"}
    assert (2_000 - lines, 2_000 - tasks) == (875, 63)
    first = msgspec.msgpack.decode(buffer.pull(0, 100, 0.0)["rows"])
    assert len(first["error"]) == 40
    assert len(first["log"]) == len(first["task"]) == 30


def test_there_is_room_again_after_a_pull() -> None:
    buffer = RowBuffer(10)
    for _ in range(12):
        buffer.put("event", (1.0, "y"))
    assert buffer.dropped == {"event": 2}
    pulled(buffer)
    buffer.put("event", (1.0, "again"))

    assert pulled_after(buffer) == [("event", "again")]


def pulled_after(buffer: RowBuffer) -> list[tuple[str, str]]:
    """Pull as a puller that has acknowledged everything so far."""
    answer = buffer.pull(10_000, 10, 0.0)
    batch: dict[str, list[Any]] = msgspec.msgpack.decode(answer["rows"])
    return [(kind, row[1]) for kind, some in batch.items() for row in some]


def test_half_a_surrogate_pair_does_not_lose_its_neighbours() -> None:
    buffer = RowBuffer(10)
    buffer.put("log", (1.0, "before"))
    buffer.put("log", (1.0, "half \udcff a pair"))
    buffer.put("log", (1.0, "after"))

    assert [text for _, text in pulled(buffer)] == ["before", "half ? a pair", "after"]
