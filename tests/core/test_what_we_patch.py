"""`docs/what-we-patch.md` names every place that changes a process of the host's or the user's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "what-we-patch.md"
PARTS = {
    "core/src/dask_blackbox": ("capture", "autorecord", "driver", "preload.py"),
    "airflow_provider/src/airflow_dask_blackbox": ("",),
    "prefect_collection/src/prefect_dask_blackbox": ("",),
}
"""What runs in processes that are not ours."""

LEFT_OUT = (
    "capture/replacements.py",  # these two replace what others name
    "capture/driver/patches.py",
    "driver/recorder_process.py",  # what it sets, it sets in the recorder
    "prefect_dask_blackbox/late_ends.py",  # and this in a process that it starts
)

CALLS = {
    "atexit.register",
    "os.environ.update",
    "sys.meta_path.append",
    "sys.meta_path.insert",
    "sys.path.insert",
    "faulthandler.enable",
    "faulthandler.register",
    "os.putenv",
    "os.register_at_fork",
    "signal.set_wakeup_fd",
    "signal.signal",
    "sys.addaudithook",
    "sys.setprofile",
    "sys.settrace",
    "threading.setprofile",
    "threading.settrace",
}
REGISTERS = re.compile(r"(?:add|register)_(?:\w+_)?plugin$|addHandler$|addFilter$")


def _files() -> Iterator[tuple[str, ast.Module]]:
    for package, parts in PARTS.items():
        for part in parts:
            place = ROOT / package / part
            for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
                name = file.relative_to(ROOT).as_posix()
                if not name.endswith(LEFT_OUT):
                    yield name, ast.parse(file.read_text("utf-8"))


def changes_of(tree: ast.Module) -> Iterator[str]:
    """Yield what a module changes in its process: `os.system`, `atexit.register`.

    Of an object that is no module of others only the attribute is known, and of one whose name
    is a variable nothing: an empty text.
    """
    nodes = [*ast.walk(tree)]
    others = {name for node in nodes for name in _imported(node)}
    functions = {each.name for each in nodes if isinstance(each, ast.FunctionDef)}
    for node in nodes:
        if isinstance(node, ast.Assign):
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            wraps = made is node.value or "inner" in ast.unparse(node.value)
            is_function = isinstance(made, ast.Name) and made.id in functions and wraps
            for target in _targets(node):
                yield from _assigned(target, others, is_function=is_function)
        elif isinstance(node, ast.Call):
            yield from _called(node, others)
        elif isinstance(node, ast.Attribute) and REGISTERS.match(node.attr):
            yield node.attr


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement imports from others than our own packages."""
    if isinstance(node, ast.Import):
        yield from ((e.asname or e.name).partition(".")[0] for e in node.names)
    elif isinstance(node, ast.ImportFrom):
        own = node.level or "dask_blackbox" in (node.module or "")
        yield from () if own else (each.asname or each.name for each in node.names)


def _targets(node: ast.Assign) -> Iterator[ast.expr]:
    for target in node.targets:
        yield from target.elts if isinstance(target, ast.Tuple) else [target]


def _assigned(
    target: ast.expr, others: set[str], *, is_function: bool
) -> Iterator[str]:
    owner = ast.unparse(getattr(target, "value", target))
    if isinstance(target, ast.Attribute):
        if owner.partition(".")[0] in others:
            yield ast.unparse(target)
        elif is_function and owner not in ("self", "cls"):
            yield target.attr
    elif isinstance(target, ast.Subscript):
        if owner in ("os.environ", "sys.modules"):
            yield owner
        elif owner.endswith(".handlers"):
            yield "handlers"


def _called(call: ast.Call, others: set[str]) -> Iterator[str]:
    name = ast.unparse(call.func)
    owner = ast.unparse(call.args[0]) if call.args else ""
    if name in CALLS:
        yield name
    elif name == "setattr" and owner.partition(".")[0] in others:
        yield owner
    elif name.endswith(".replace") and len(call.args) in (3, 4):
        attribute = call.args[1]
        if not isinstance(call.args[0], ast.Constant):
            yield str(attribute.value) if isinstance(attribute, ast.Constant) else ""


def _rows() -> list[tuple[str, str]]:
    """Return the places of the page's tables, each with the text of its row."""
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        place = re.search(r"\| `([\w/]+\.py)` \|$", line)
        if place is not None:
            found.append((place[1], line))
    return found


def test_every_change_of_a_process_of_others_is_on_the_page() -> None:
    rows = _rows()
    missing = [
        f"{name} in {file}"
        for file, tree in _files()
        for name in dict.fromkeys(changes_of(tree))
        if not any(file.endswith(f"/{place}") and name in row for place, row in rows)
    ]

    assert missing == []


def test_the_page_names_no_change_that_is_not_made() -> None:
    made = {file: {*changes_of(tree)} for file, tree in _files()}
    wrong = [
        row
        for place, row in _rows()
        if not any(
            file.endswith(f"/{place}") and any(name in row for name in names)
            for file, names in made.items()
        )
    ]

    assert len(_rows()) > 20
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os\nos.system = print", ["os.system"]),
        ("import os\nos.environ['A'] = 'b'", ["os.environ"]),
        ("import sys\nsys.meta_path.insert(0, x)", ["sys.meta_path.insert"]),
        ("import threading\np.replace(threading, 'excepthook', a)", ["excepthook"]),
        ("p.replace(owner, name, a)", [""]),
        ("from distributed import Client\nsetattr(Client, name, b)", ["Client"]),
        ("client.register_plugin(a)", ["register_plugin"]),
        ("worker.handlers['a'] = b", ["handlers"]),
        ("def kill(): ...\nworker.kill = kill", ["kill"]),
        ("def kill(): ...\nself.kill = kill\n'a'.replace('b', 'c')", []),
        ("from dask_blackbox.capture import logs\nlogs.taps = 1", []),
    ],
)
def test_ways_to_change_a_process_are_seen(code: str, found: list[str]) -> None:
    assert [*changes_of(ast.parse(code))] == found
