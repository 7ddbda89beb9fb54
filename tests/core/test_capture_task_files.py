"""The files that a failed task was reading: what looks like one, and what stays out."""

from __future__ import annotations

import functools
import importlib
import pathlib
from typing import Any

import pytest
from dask._task_spec import Task
from dask_blackbox.capture.scheduler.task_files import files_of, looks_like_a_file

fsspec: Any = importlib.import_module("fsspec")  # it has no types


def read(*given: Any, **named: Any) -> None:
    raise AssertionError(given, named)


def write_orders(*given: Any) -> None:
    raise AssertionError(given)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("s3://bucket/year=2026/part-17.csv", "s3://bucket/year=2026/part-17.csv"),
        ("/data/in/part 1.csv", "/data/in/part 1.csv"),
        ("../in/orders.parquet", "../in/orders.parquet"),
        ("orders.csv.gz", "orders.csv.gz"),
        (pathlib.Path("/data/in"), "/data/in"),
        ("https://u:pw@example.org/a.csv?X-Amz-Signature=1f", "https://example.org/a.csv"),
        ("postgresql://me:pw@db.example.org:5432/shop", "postgresql://db.example.org:5432/shop"),
        ("s3://bucket/AKIAZQ3DUMMYKEY4TEST/a.csv", "s3://bucket/[redacted]/a.csv"),
        (fsspec.open("/data/a.csv"), "/data/a.csv"),
        (fsspec.open("memory://orders/a.csv"), "memory:///orders/a.csv"),
    ],
)  # fmt: skip
def test_a_path_or_a_url_is_shown_without_secrets(value: Any, shown: str) -> None:
    assert looks_like_a_file(value) == shown


@pytest.mark.parametrize(
    "value",
    [
        "Bonn", "Europe/Berlin", "application/json", "a / b", "see part-1.csv, please",
        "tcp://10.0.0.1:8786", "http://localhost:9000/", "/", "first\n/data/a.csv", "3.5", "x" * 500 + ".csv",
        b"/data/a.csv", 17, None, "order,qty\n1,2\n",
    ],
)  # fmt: skip
def test_other_arguments_are_not_shown(value: Any) -> None:
    assert looks_like_a_file(value) is None


def test_files_are_found_in_nested_arguments_and_those_written_apart() -> None:
    task = Task(
        "k",
        functools.partial(write_orders, "/data/out/orders.csv"),
        Task(None, read, "/data/in/orders.csv", {"more": ["/data/in/cities.csv"]}),
    )

    assert files_of(task) == (
        ["/data/in/orders.csv", "/data/in/cities.csv"],
        ["/data/out/orders.csv"],
    )


def test_a_graph_of_the_old_kind_is_read_too() -> None:
    assert files_of((read, (read, "/data/in/a.csv"), 3)) == (["/data/in/a.csv"], [])


def test_a_task_with_many_files_names_the_first_few() -> None:
    task = Task("k", read, [f"/data/in/{i}.csv" for i in range(10_000)])

    assert files_of(task)[0] == [f"/data/in/{i}.csv" for i in range(5)]


def test_arguments_that_hold_themselves_are_left() -> None:
    circle: list[Any] = ["/data/in/a.csv"]
    circle.append(circle)

    assert files_of((read, circle)) == (["/data/in/a.csv"], [])
