"""Code by prefix: known again while it is the same, another one when it changes."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import pytest
from dask._task_spec import Task
from dask_blackbox.capture.marks import CodeMarks, mark_of
from dask_blackbox.capture.surroundings import machine_facts, modules_of
from sketching import a_night


def made(source: str, name: str = "work", file: str = "/jobs/shop.py") -> Any:
    """Return a function of a module with this source."""
    scope: dict[str, Any] = {"__name__": "shop"}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


WORK = "def helper(x):\n    return x + 1\n\ndef work(x):\n    return helper(x)\n"


def test_the_same_code_elsewhere_in_its_file_has_the_same_mark() -> None:
    moved = f"# a comment\n\n\n{WORK}"

    assert mark_of(Task("a", made(WORK), 1)) == mark_of(Task("b", made(moved), 2))


def test_the_same_code_in_another_folder_has_the_same_mark() -> None:
    elsewhere = made(WORK, file="/builds/2026-11-21/shop.py")

    assert mark_of(Task("a", made(WORK))) == mark_of(Task("a", elsewhere))


def test_a_docstring_is_no_code() -> None:
    told = WORK.replace("def work(x):\n", 'def work(x):\n    """Work."""\n')
    retold = told.replace("Work.", "Work hard.")

    assert mark_of(Task("a", made(told))) == mark_of(Task("a", made(retold)))


@pytest.mark.parametrize(
    ("old", "new"), [("return helper(x)", "return helper(x) * 2"), ("x + 1", "x + 2")]
)
def test_other_code_has_another_mark_also_in_what_it_calls(old: str, new: str) -> None:
    changed = made(WORK.replace(old, new))

    assert mark_of(Task("a", made(WORK))) != mark_of(Task("a", changed))


def test_a_function_is_found_in_what_holds_it() -> None:
    work = made(WORK)
    other = made(WORK.replace("x + 1", "x + 2"))
    holders: list[Callable[[Any], Any]] = [
        lambda f: functools.partial(f, 1),
        lambda f: (map, f),
        lambda f: Task("a", map, f, [1]),
        lambda f: Task("a", map, [1], func={"given": f}),
    ]
    for holder in holders:
        assert mark_of(holder(work)) != mark_of(holder(other))
        assert mark_of(holder(work)) == mark_of(holder(made(WORK)))


def test_data_has_no_mark() -> None:
    assert mark_of([1, "two", {"three": 3.0}]) is None


class Hostile:
    """Something of the user's that does not want to be looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return super().__getattribute__(name)
        raise AssertionError(f"asked for {name}")

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = object.__hash__


def test_the_users_objects_are_not_asked_for_anything() -> None:
    task = Task("a", made(WORK))
    task.args = (Hostile(),)

    assert mark_of(task) == mark_of(Task("a", made(WORK)))


def test_a_prefix_is_marked_once() -> None:
    marks = CodeMarks()
    ts = types.SimpleNamespace(run_spec=Task("a", made(WORK)))

    assert list(marks.of({"work": ts})) == ["work"]
    assert marks.of({"work": ts}) == {}
    assert list(marks.of({"work": ts, "more": ts})) == ["more"]


def test_a_task_that_cannot_be_read_has_no_mark() -> None:
    assert CodeMarks().of({"work": object()}) == {}


def test_modules_of_the_users_own_are_hashed_once() -> None:
    assert a_night.__module__ == "sketching"
    known: set[str] = set()
    found = modules_of(known)

    assert "sketching" in found
    assert not {"json", "dask", "dask_blackbox.run"} & {*found}
    assert modules_of(known) == {}


def test_what_a_machine_is_does_not_name_it() -> None:
    facts = machine_facts()

    assert {"system", "machine", "cores", "memory"} == {*facts}
