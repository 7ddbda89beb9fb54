"""Tables are the same by whatever way they come, and others can read them."""

from __future__ import annotations

import io
import random
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from dask_blackbox.events import COLUMNS
from dask_blackbox.segments import frame, open_segment, read_segment
from dask_blackbox.tables import (
    SCHEMAS,
    TABLES,
    frames_of,
    frames_of_batches,
    read_table,
    write_tables,
)
from dask_blackbox.testing import EPOCH, Fact, a_log, a_run, a_task, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal


def through_segments(*parts: dict[str, list[Any]]) -> dict[str, pl.DataFrame]:
    """Return tables of batches that were written and read back."""
    blob = open_segment("r", 1)
    for seq, rows in enumerate(parts):
        blob += frame("scheduler", seq, 1.0, rows)
    segment = read_segment(blob)

    assert segment.damage is None
    return frames_of_batches(segment.frames)


def tasks(count: int, *, keys: str = "array") -> list[Fact]:
    """Return executions of tasks as a real cluster makes them: hardly two alike."""
    dice = random.Random(7)
    key = "('sum-5f93c1e0a6d14c8f9be2d5a7c3e8f012', {}, {})".format
    threads = [(f"tcp://10.0.0.{n // 4}:4000", n * 4096) for n in range(32)]
    free = dict.fromkeys(threads, 1.0)
    made = []
    for number in range(count):
        at = dice.choice(threads)
        start, took = free[at] + dice.expovariate(3000), dice.lognormvariate(-6, 0.3)
        free[at] = start + took
        name = key(number // 100, number % 100)
        if keys == "hashes":
            name = f"inc-{dice.getrandbits(128):032x}"
        worker, thread = at
        made.append(
            a_task(name, worker=worker, thread=thread, start=start, compute=took)
        )
    return made


MICROS = st.integers(0, 4 * 10**15).map(lambda micros: micros / 1e6)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: st.none()
    | st.sampled_from(["", "a", "ü", "('x', 1)"])
    | st.text(max_size=9),
    pl.Int64: st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
    pl.Float64: st.none() | st.integers(0, 10**12).map(lambda micros: micros / 1e6),
}


def rows_for(kind: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Return rows as capture emits them."""
    columns = [
        st.none() | MICROS
        if isinstance(dtype, pl.Datetime)
        else VALUES[dtype].filter(lambda value: "\ud800" not in str(value))
        for dtype in SCHEMAS[TABLES[kind]].values()
    ]
    return st.lists(st.tuples(*columns), max_size=25)


@given(
    st.sampled_from(list(COLUMNS)).flatmap(
        lambda kind: st.tuples(st.just(kind), rows_for(kind), rows_for(kind))
    )
)
@settings(max_examples=120, deadline=None)
def test_tables_are_the_same_whether_of_rows_or_of_segments(
    drawn: tuple[str, list[Any], list[Any]],
) -> None:
    kind, first, second = drawn
    if kind == "log":  # numbered, as lines that came twice count once
        first, second = (
            [(*row[:4], base + n, *row[5:]) for n, row in enumerate(rows)]
            for base, rows in ((0, first), (1000, second))
        )
    if kind == "event":  # likewise, the same events
        first, second = (
            [(float(base + n), *row[1:]) for n, row in enumerate(rows)]
            for base, rows in ((0, first), (1000, second))
        )
    found = through_segments({kind: first}, {kind: second})

    wanted = frames_of({kind: [*first, *second]})
    for name, table in wanted.items():
        assert_frame_equal(found[name], table, check_exact=False, abs_tol=1e-9)


def test_batches_that_are_coded_in_different_ways_make_one_table() -> None:
    few, many = tasks(3), tasks(60)
    same = [a_task("k", start=2.0 + n, nbytes=2**62) for n in range(20)]
    found = through_segments(rows_of(*few), rows_of(*many), rows_of(*same), {})

    wanted = frames_of(rows_of(*few, *many, *same))
    assert_frame_equal(found["tasks"], wanted["tasks"], check_exact=False, abs_tol=1e-6)


def test_columns_of_another_version_are_left_out_or_left_empty() -> None:
    at = EPOCH + 1
    newer = [(at + n, "graph-updated", "c", "{}", "new") for n in range(9)]
    older = [(at + 20 + n, "graph-updated") for n in range(9)]
    events = through_segments({"event": newer}, {"event": older})["events"]

    assert events.columns == list(COLUMNS["event"])
    assert events["subject"].to_list() == ["c"] * 9 + [None] * 9


def test_kinds_of_another_version_are_left_out() -> None:
    found = through_segments({"weather": [(1, "rain")] * 20, "log": [a_log("dry")[1]]})

    assert found.keys() == set(TABLES.values())
    assert found["logs"].height == 1


def test_a_value_of_another_kind_costs_that_value_only() -> None:
    odd = [(EPOCH, "w", "x", "12", True, 2**70, None, 1.5, 0, 0, 0, 0, 0, 0, 0, 1)] * 2
    good = [(EPOCH, "w", *range(13), "running")] * 12
    metrics = through_segments({"metric": odd}, {"metric": good})["metrics"]

    assert metrics["source"].to_list() == ["w"] * 14
    assert metrics["cpu"].to_list() == [None] * 2 + [0.0] * 12
    assert metrics["status"].to_list() == ["1"] * 2 + ["running"] * 12
    assert metrics["fds"].to_list() == [None] * 2 + [4] * 12


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 1e300, "soon", None])
def test_a_moment_that_is_none_is_null(moment: Any) -> None:
    rows = [(moment, "graph-updated", "", "{}")] * 10
    events = through_segments({"event": rows})["events"]

    assert events["at"].to_list() == [None] * 10
    assert events["at"].dtype == SCHEMAS["events"]["at"]


def test_finalising_twice_gives_the_same_bytes() -> None:
    facts = [*tasks(3000), *(a_log(f"line {n}", seq=n, at=n % 7) for n in range(500))]
    first, second = (
        write_tables(a_run_read_back(facts[:900], facts[900:])) for _ in range(2)
    )

    assert first.keys() == SCHEMAS.keys()
    assert first == second


def a_run_read_back(*parts: list[Fact]) -> Any:
    """Return a run whose tables come from segments."""
    run = a_run()
    run._frames = through_segments(*(rows_of(*part) for part in parts))
    return run


@pytest.mark.parametrize(("keys", "most"), [("array", 20.0), ("hashes", 30.0)])
def test_a_task_takes_few_bytes_in_its_table(keys: str, most: float) -> None:
    blob = write_tables(a_run(*tasks(20_000, keys=keys)))["tasks"]

    assert len(blob) / 20_000 < most


def test_tables_are_parquet_that_others_read() -> None:
    blob = write_tables(a_run(a_task("('x', 1)", start=1.5, compute=0.1234567)))[
        "tasks"
    ]
    table = pq.read_table(io.BytesIO(blob))  # type: ignore[no-untyped-call]

    assert table.column_names == list(COLUMNS["task"])
    row = table.to_pylist()[0]
    assert row["key"] == "('x', 1)"
    assert row["start"] == datetime.fromtimestamp(EPOCH + 1.5, UTC)
    assert row["compute"] == 0.123457
    assert row["nbytes"] == 8


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_a_table_is_read_back_as_it_was(name: str) -> None:
    run = a_run(*tasks(50), *tasks(20, keys="hashes"), a_log("line"))

    assert_frame_equal(
        read_table(name, write_tables(run)[name]),
        getattr(run, name),
        check_exact=False,
        abs_tol=1e-6,
    )


def test_a_table_of_another_version_has_our_columns() -> None:
    buffer = io.BytesIO()
    table = a_run(a_log("line")).logs.drop("key").with_columns(new=pl.lit(1))
    table.with_columns(pl.col("level").cast(pl.Int8)).write_parquet(buffer)

    found = read_table("logs", buffer.getvalue())
    assert found.schema == a_run().logs.schema
    assert found["key"].to_list() == [None]


@pytest.mark.parametrize("blob", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_what_is_no_table_is_reported(blob: bytes) -> None:
    with pytest.raises(ValueError, match=r"logs\.parquet cannot be read"):
        read_table("logs", blob)
