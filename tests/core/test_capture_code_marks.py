"""Code by prefix: known again while it is the same, another one when it changes."""

from __future__ import annotations

import functools
import importlib
import resource
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dask._task_spec import Task
from dask_blackbox.analyse.changes.code_changes import alike, is_hash_of_code
from dask_blackbox.capture.driver.driver_environment import code_facts, machine_facts
from dask_blackbox.capture.scheduler.code_hashes import CodeMarks, _marked
from sketches import a_night


def mark_of(run_spec: object) -> str | None:
    """Return the hash of the functions that a task runs; None if none is known."""
    return _marked(run_spec).mark or None


def modules_of(known: set[str]) -> dict[str, str]:
    """Return the hash of each module of the user's own that was not known before."""
    return code_facts(known)["modules"]


def made(source: str, name: str = "work", file: str = "/jobs/shop.py") -> Any:
    """Return a function of a module with this source."""
    scope: dict[str, Any] = {"__name__": "shop"}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


WORK = "def helper(x):\n    return x + 1\n\ndef work(x):\n    return helper(x)\n"


NAMES_VARIABLES = """
import os

def step():
    return float(os.environ["GRID_STEP"])

class Target:
    url = os.environ.get("TARGET_URL", "nowhere")
    token = os.environ.get("TARGET_TOKEN")
    limit = os.environ.get("NOT_SET_HERE")
"""


def test_the_variables_that_the_own_code_names_are_reported_but_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRID_STEP", "0.5")
    monkeypatch.setenv("TARGET_URL", "https://lake.example/prod")
    monkeypatch.setenv("TARGET_TOKEN", "a-secret-of-the-lake")
    monkeypatch.setenv("ANOTHER_VARIABLE", "1")
    (tmp_path / "grid_of_ours.py").write_text(NAMES_VARIABLES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "grid_of_ours", raising=False)

    known = set[str]()
    code_facts(known)  # the tests' own modules

    def variables() -> dict[str, str]:
        importlib.import_module("grid_of_ours")
        known.discard("grid_of_ours")
        return code_facts(known)["environment"]

    first = variables()
    monkeypatch.setenv("TARGET_URL", "https://lake.example/test")
    second = variables()
    monkeypatch.delitem(sys.modules, "grid_of_ours")

    assert first["GRID_STEP"] == "0.5"
    assert first.keys() == second.keys() == {"GRID_STEP", "TARGET_URL"}
    assert "lake" not in first["TARGET_URL"]
    assert first["TARGET_URL"] != second["TARGET_URL"]


def test_the_same_code_elsewhere_in_its_file_has_the_same_mark() -> None:
    moved = f"# a comment\n\n\n{WORK}"

    assert mark_of(Task("a", made(WORK), 1)) == mark_of(Task("b", made(moved), 2))


def test_the_same_code_in_another_folder_has_the_same_mark() -> None:
    elsewhere = made(WORK, file="/builds/2026-11-21/shop.py")

    assert mark_of(Task("a", made(WORK))) == mark_of(Task("a", elsewhere))


def test_a_docstring_is_no_code() -> None:
    reported = WORK.replace("def work(x):\n", 'def work(x):\n    """Work."""\n')
    retold = reported.replace("Work.", "Work hard.")

    assert mark_of(Task("a", made(reported))) == mark_of(Task("a", made(retold)))


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


JOB = '''
import functools

RATE = 3
TABLE = {"tax": 0.19}


def logged(f):
    @functools.wraps(f)
    def wrapper(rows):
        return f(rows)[:9]
    return wrapper


def adder(n):
    def add(rows):
        return [r + n for r in rows]
    return add


class Model:
    """A model."""

    def fit(self, rows):
        return self.weight(len(rows))

    @staticmethod
    def weight(n):
        return n * 2


class Caller:
    def __call__(self, rows):
        return len(rows) + 1


def rated(rows):
    def inner(r):
        """Inner."""
        return r * RATE + TABLE["tax"]
    return [inner(r) for r in rows]


def modelled(rows):
    return Model().fit(rows)


def scale(rows, by=7):
    return [r * by for r in rows]


@logged
def sorted_rows(rows):
    return sorted(rows)


HOLDERS = {
    "add": adder(5),
    "caller": Caller(),
    "fit": Model().fit,
    "lambda": lambda rows: rows[:10],
    "modelled": modelled,
    "partial": functools.partial(scale, by=8),
    "rated": rated,
    "scale": scale,
    "sorted": sorted_rows,
}
'''


def marks_of(source: str) -> dict[str, str | None]:
    """Return the mark of each thing that the job submits."""
    held = made(source, "HOLDERS")
    return {name: mark_of(Task("a", each, 1)) for name, each in held.items()}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("adder(5)", "adder(6)", {"add"}),
        ("len(rows) + 1", "len(rows) + 2", {"caller"}),
        ("return n * 2", "return n * 3", {"fit", "modelled"}),
        ("rows[:10]", "rows[:11]", {"lambda"}),
        ("by=8", "by=9", {"partial"}),
        ("by=7", "by=6", {"partial", "scale"}),
        ("return [r * by", "return [r + by", {"partial", "scale"}),
        ("RATE = 3", "RATE = 4", {"rated"}),
        ("0.19", "0.07", {"rated"}),
        ("return r * RATE", "return r + RATE", {"rated"}),
        ("sorted(rows)", "sorted(rows)[1:]", {"sorted"}),
        ("f(rows)[:9]", "f(rows)[:8]", {"sorted"}),
    ],
)
def test_a_change_marks_what_runs_it_and_nothing_else(
    old: str, new: str, changed: set[str]
) -> None:
    before, after = marks_of(JOB), marks_of(JOB.replace(old, new))

    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 3", "\n\n\n# the rate\nRATE = 3"),
        ('"""Inner."""', '"""Within."""'),
        ('"""A model."""', '"""A fine model."""'),
        ('    """A model."""\n\n', ""),
        ("def scale(rows, by=7):\n", 'def scale(rows, by=7):\n    """Scale."""\n'),
        ("def modelled(rows):\n", "def modelled(rows):\n    # so\n"),
    ],
)
def test_comments_docstrings_and_places_are_no_code(
    old: str, new: str, tmp_path: Path
) -> None:
    assert marks_of(JOB) == marks_of(JOB.replace(old, new))
    assert module_hash(tmp_path, JOB) == module_hash(tmp_path, JOB.replace(old, new))


def test_other_code_in_a_module_is_another_hash(tmp_path: Path) -> None:
    other = JOB.replace("return n * 2", "return n * 3")

    assert module_hash(tmp_path, JOB) != module_hash(tmp_path, other)


def module_hash(folder: Path, source: str) -> str:
    """Return the hash of a module with this source, loaded from a file of its own.

    The next source of a folder is another version of the same file.
    """
    file = folder / "nightly_of_marks.py"
    before = file.stat().st_mtime_ns if file.exists() else None
    file.write_text(source)
    while file.stat().st_mtime_ns == before:  # until the file system's clock has moved
        file.write_text(source)
    module = types.ModuleType("nightly_of_marks")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    try:
        return modules_of(set())[module.__name__]
    finally:
        del sys.modules[module.__name__]


def test_a_function_that_was_renamed_has_the_same_mark() -> None:
    renamed = WORK.replace("def work", "def labour")

    assert mark_of(Task("a", made(WORK))) == mark_of(Task("a", made(renamed, "labour")))


def test_moments_and_numbers_of_runs_are_no_code() -> None:
    def bound(value: Any) -> str | None:
        return mark_of(functools.partial(made(WORK), value))

    assert bound("2026-11-20T02:00:00") == bound("2026-11-21T02:00:00")
    assert bound(1_795_000_000) == bound(1_795_086_400)
    assert bound("price") != bound("cost")


class Decorated:
    """What decorators make of functions, as Prefect's does."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function


def test_a_function_is_found_behind_what_a_framework_makes_of_it() -> None:
    def mark(source: str) -> str | None:
        return mark_of(Task("a", map, [1], task=Decorated(made(source))))

    assert mark(WORK) == mark(f"# so\n{WORK}")
    assert mark(WORK) != mark(WORK.replace("x + 1", "x + 2"))
    flow = {"flow": {"run": Decorated(made(WORK))}}
    assert mark_of(Task("a", map, [1], context=flow)) == mark_of(Task("a", map, [1]))


def test_a_mark_that_knows_only_a_librarys_names_says_so() -> None:
    library, own = mark_of(Task("a", map, [1])), mark_of(Task("a", made(WORK)))

    assert library is not None
    assert own is not None
    assert library.startswith("lib.")
    assert alike(library, own)
    assert not alike(own, own.replace("2py", "1py"))
    assert (is_hash_of_code(library), is_hash_of_code(own)) == (False, True)


def test_lambdas_of_later_graphs_are_marked_too() -> None:
    marks = CodeMarks()
    tasks = [
        types.SimpleNamespace(run_spec=Task("a", made(f"work = lambda x: x + {n}")))
        for n in range(3)
    ]
    found = [marks.of({"lambda": ts}) for ts in (*tasks, tasks[0])]

    assert len({each["lambda"] for each in found[:3]}) == 3
    assert found[3] == {}


def test_only_the_users_own_modules_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("my_dask_blackbox", "dask_blackbox", "prefect_dask_blackbox"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "etl.py"
        file.write_text("ROWS = 1\n")
        module = types.ModuleType(f"{folder}.etl")
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, module.__name__, module)

    found = modules_of(set())

    assert [name for name in found if name.endswith(".etl")] == ["my_dask_blackbox.etl"]


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
    assert a_night.__module__ == "sketches"
    known: set[str] = set()
    found = modules_of(known)

    assert "sketches" in found
    assert not {"json", "dask", "dask_blackbox.run_tables"} & {*found}
    assert modules_of(known) == {}


def test_a_file_that_could_not_be_read_for_a_moment_is_read_for_the_next_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "nightly_of_marks.py"
    file.write_text(JOB)
    module = types.ModuleType(file.stem)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))  # no file can be opened
    try:
        unread = modules_of(set())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert file.stem not in unread
    assert file.stem in modules_of(set())


def test_what_a_machine_is_does_not_name_it() -> None:
    facts = machine_facts()

    assert {"system", "machine", "cores", "memory"} == {*facts}
