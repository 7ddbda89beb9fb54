"""What was written into a segment is what is read, whatever it was."""

from __future__ import annotations

import math
import random
import uuid
from typing import Any

import pytest
from dask_blackbox.events import COLUMNS
from dask_blackbox.segments import (
    MOST_ROWS,
    SegmentWriter,
    frame,
    open_segment,
    read_segment,
)
from hypothesis import given, settings
from hypothesis import strategies as st

MICROS = st.integers(-(10**14), 4 * 10**15).map(lambda micros: micros / 1e6)
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
HASHES = st.uuids().flatmap(lambda u: st.sampled_from([u.hex, str(u)]))
KEYS = st.one_of(
    st.text(max_size=20),
    st.builds("{}-{}".format, WORDS, HASHES),
    st.builds("map-64f2d311-4f9d-44d4-8555-0123456789ab-{}".format, st.integers()),
    st.builds("('{}-{}', {}, {})".format, WORDS, HASHES, st.integers(), st.integers()),
    st.builds("('sum-aggregate', {})".format, st.integers(-3, 10**20)),
    st.sampled_from(
        [
            "('x', 007)",
            "('x', -0)",
            "(1.5, 2)",
            "%d %s %",
            "( 1)",
            "('a\nb', 1)",
            "\0\1",
        ]
    ),
)
INTS = st.integers(-(2**63), 2**63 - 1)
SCALARS = st.one_of(
    st.none(), st.booleans(), INTS, MICROS, WORDS, st.binary(max_size=9)
)
OF_COLUMN: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("at", "start", "stop"), MICROS),
    **dict.fromkeys(("compute", "transfer", "disk", "deserialize"), MICROS),
    "event_loop": st.none() | MICROS,
    "key": KEYS,
    "nbytes": INTS,
    "thread": st.sampled_from([139_637_976_727_552, 139_637_976_731_648]),
    "worker": st.sampled_from(["tcp://10.0.0.1:1", "tcp://10.0.0.2:1"]),
    "cpu": st.none() | st.floats(allow_nan=False),
    "level": st.integers(0, 50),
}


def rows_of(kind: str, *, at_least: int = 0) -> st.SearchStrategy[list[Any]]:
    """Rows of a kind: mostly as they should be, in some columns anything at all."""
    row = st.tuples(*(OF_COLUMN.get(name, WORDS | st.none()) for name in COLUMNS[kind]))
    anything = st.tuples(*(SCALARS for _ in COLUMNS[kind]))
    return st.one_of(
        st.lists(row, min_size=at_least, max_size=30),
        st.lists(row, min_size=at_least, max_size=5 + at_least).map(
            lambda rows: rows * 4
        ),
        st.lists(row | anything, min_size=at_least, max_size=30),
    )


BATCHES = st.fixed_dictionaries({kind: rows_of(kind) for kind in COLUMNS})


def assert_same(found: Any, given_: Any) -> None:
    """Compare rows; times may differ below the microsecond, by what a float can hold."""
    assert found.keys() == {kind for kind, rows in given_.items() if rows}
    for kind, rows in found.items():
        assert len(rows) == len(given_[kind])
        for row, wanted in zip(rows, given_[kind], strict=True):
            for value, wish in zip(row, wanted, strict=True):
                if isinstance(wish, float):
                    assert math.isclose(value, wish, rel_tol=1e-12, abs_tol=1e-6)
                else:
                    assert value == wish


@given(BATCHES, st.one_of(st.none(), st.integers(0, 2**40)))
@settings(max_examples=60, deadline=None)
def test_a_batch_is_read_back_as_it_was_written(
    rows: dict[str, list[Any]], seq: int | None
) -> None:
    writer = SegmentWriter("recording-1", 7)
    writer.append("scheduler tcp://h:1", seq, 12.5, rows, {"task": 3})
    blob = writer.close()
    segment = read_segment(blob)

    assert writer.size == len(blob)
    assert writer.rows == sum(map(len, rows.values()))
    assert (segment.recording, segment.number, segment.damage) == (
        "recording-1",
        7,
        None,
    )
    (batch,) = segment.frames
    assert (batch.source, batch.seq, batch.at) == ("scheduler tcp://h:1", seq, 12.5)
    assert batch.dropped == {"task": 3}
    assert_same(batch.rows, rows)


@given(st.data(), st.sampled_from(list(COLUMNS)))
@settings(max_examples=120, deadline=None)
def test_rows_that_are_enough_to_be_coded_come_back(data: Any, kind: str) -> None:
    rows = {kind: data.draw(rows_of(kind, at_least=8))}

    assert_same(read_back(**rows), rows)


def many_tasks(count: int, *, keys: str = "array") -> list[tuple[Any, ...]]:
    """Return task rows as a cluster of 8 workers with 4 threads each makes them."""
    dice = random.Random(count)
    rows = []
    threads = [
        (f"tcp://10.0.0.{w}:40000", 139_637_976_727_552 + w * 97 + t)
        for w in range(8)
        for t in range(4)
    ]
    now = dict.fromkeys(threads, 1_795_230_000.0)
    for number in range(count):
        worker, thread = dice.choice(threads)
        prefix = ("random_sample", "add", "sum")[number % 3]
        group = f"{prefix}-{uuid.uuid5(uuid.NAMESPACE_OID, prefix).hex}"
        key = f"('{group}', {number // 300}, {number // 3 % 100})"
        if keys == "hashes":
            prefix = "inc"
            key = group = f"inc-{dice.getrandbits(128):032x}"
        start = now[worker, thread] + dice.expovariate(3000)
        compute = 0.004 * dice.lognormvariate(0, 0.3)
        stop = now[worker, thread] = start + compute
        parts = (compute, 0.0, 0.0, 0.0, 8_000_000, "numpy.ndarray", "finished")
        rows.append((key, prefix, group, worker, thread, start, stop, *parts))
    return rows


@pytest.mark.parametrize(("keys", "most"), [("array", 10.0), ("hashes", 24.0)])
def test_a_task_takes_few_bytes(keys: str, most: float) -> None:
    rows = many_tasks(5000, keys=keys)
    parts = [rows[start : start + 1000] for start in range(0, 5000, 1000)]
    writer = SegmentWriter("recording-1", 1)
    for seq, part in enumerate(parts):
        writer.append("scheduler", seq, 1.0, {"task": part})
    segment = read_segment(writer.close())

    # The hash of a key takes 16 bytes, whatever one does.
    assert writer.size / len(rows) < most
    assert segment.damage is None
    for batch, part in zip(segment.frames, parts, strict=True):
        assert_same(batch.rows, {"task": part})


def test_lone_tasks_among_those_of_arrays_come_back() -> None:
    rows = [*many_tasks(30), *many_tasks(30, keys="hashes"), *many_tasks(3)]
    random.Random(3).shuffle(rows)

    assert_same(read_back(task=rows), {"task": rows})


def test_tasks_without_times_are_kept() -> None:
    row = ("k", "k", "k", "w", 1, None, None, None, None, None, None, -1, "", "killed")
    rows = [row, *many_tasks(20), row]

    assert_same(read_back(task=rows), {"task": rows})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_times_that_are_none_are_kept_as_they_are(value: float) -> None:
    rows = [(value, "graph-updated", "", "{}")] * 10

    found = [row[0] for row in read_back(event=rows)["event"]]
    assert str(found) == str([value] * 10)


def test_what_the_format_has_no_word_for_is_written_as_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    rows = [
        (1.0, "graph-updated", "\ud800 half a letter", 2**70),
        (Odd(), (1,), {}, b"x"),
    ]

    assert read_back(event=rows)["event"] == [
        (1.0, "graph-updated", "\\ud800 half a letter", str(2**70)),
        ("odd", "(1,)", "{}", b"x"),
    ]


def test_rows_of_unequal_length_are_filled_up() -> None:
    rows = [(1.0, "graph-updated"), (2.0, "graph-updated", "s", "{}", "new column")]

    assert read_back(event=rows)["event"] == [
        (1.0, "graph-updated", None, None, None),
        (2.0, "graph-updated", "s", "{}", "new column"),
    ]


def test_kinds_that_this_version_does_not_know_are_carried_along() -> None:
    rows = [(number, "a", 1.5) for number in range(20)]

    assert read_back(weather=rows) == {"weather": rows}


def test_a_batch_without_rows_still_reports_that_it_was_there() -> None:
    blob = open_segment("r", 1) + frame(
        "driver 12", None, 3.0, {"task": []}, {"log": 2}
    )
    (batch,) = read_segment(blob).frames

    assert (batch.source, batch.rows, batch.dropped) == ("driver 12", {}, {"log": 2})


def test_a_batch_that_is_too_large_is_refused_by_the_writer() -> None:
    class Endless(list[Any]):
        def __len__(self) -> int:
            return MOST_ROWS + 1

    with pytest.raises(ValueError, match="rows of a kind"):
        frame("s", 1, 1.0, {"task": Endless([()])})


def read_back(**rows: list[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Write rows and read them again."""
    segment = read_segment(open_segment("r", 1) + frame("s", 1, 1.0, rows))

    assert segment.damage is None
    return segment.frames[0].rows
