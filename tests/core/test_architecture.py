"""The architecture, kept: who imports whom, what is loaded, how long a module may be."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import dask_blackbox
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = Path(dask_blackbox.__file__).parent
SOURCES = [
    ROOT / "core" / "src",
    ROOT / "airflow_provider" / "src",
    ROOT / "prefect_collection" / "src",
    ROOT / "failure_benchmark" / "src",
]
MODULES = sorted(file for source in SOURCES for file in source.rglob("*.py"))
LINT_IMPORTS = ROOT / ".venvs" / "lint" / "bin" / "lint-imports"

HEAVY = ("bokeh", "boto3", "distributed", "fastapi", "jinja2", "pandas", "polars")
"""What a second of a DAG file's parsing would go into."""


def _loaded_after(code: str) -> set[str]:
    """Return the modules that a fresh process has loaded after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_packages_import_as_the_contracts_say() -> None:
    if not LINT_IMPORTS.exists():
        pytest.skip("import-linter is in .venvs/lint: `make environments`")
    path = os.pathsep.join(str(source) for source in SOURCES)

    done = subprocess.run(
        [LINT_IMPORTS, "--no-cache"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import dask_blackbox",
        "import dask_blackbox.card, dask_blackbox.finding",
        "import dask_blackbox.errors, dask_blackbox.guard",
        "import dask_blackbox.cli",
    ],
)
def test_what_is_imported_all_day_is_light(code: str) -> None:
    loaded = _loaded_after(code)

    assert "dask_blackbox" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_cards_are_shown_without_tables() -> None:
    loaded = _loaded_after("from dask_blackbox.report import markdown, text")

    assert loaded.isdisjoint({"polars", "bokeh", "distributed"})


def test_modules_say_what_they_are_for_and_are_named_for_it() -> None:
    vague = {"utils.py", "helpers.py", "common.py", "misc.py", "manager.py"}
    silent = [
        str(file)
        for file in MODULES
        if not ast.get_docstring(ast.parse(file.read_text()))
    ]

    assert [file for file in MODULES if file.name in vague] == []
    assert silent == []


def test_modules_of_the_analysis_have_different_names() -> None:
    names = Counter(
        file.name
        for file in (PACKAGE / "analyse").rglob("*.py")
        if file.name != "__init__.py"
    )

    assert [name for name, number in names.items() if number > 1] == []


_PATTERNS = frozenset({"bounded", "_matches", "_Effect"})
_NAMES = frozenset({"environment variable ", "the manager of the "})
"""What is compared with what was recorded, and what a thing without a name is called."""


def _sentences(code: str) -> list[str]:
    """Return the parts of sentences in a module: two words in a row that are no pattern.

    A text that is a constant of the module by itself is one that others write, and that is
    looked for.  A row of the table has its reason in `because`; what fails is named in the
    log by `guard`.
    """
    tree, apart = ast.parse(code), set[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):  # a docstring
                apart.add(node.value)
            case ast.Module(body=body):
                apart |= {*chain.from_iterable(map(_text_of_others, body))}
            case ast.Call(func=ast.Name(id=name)) if name in {*_PATTERNS, "guard"}:
                apart |= {*ast.walk(node)}
            case ast.keyword(arg="because"):
                apart |= {*ast.walk(node)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in apart
        and node.value not in _NAMES
        and re.search(r"[a-z]{2,} [a-z]{2,}", node.value)
        and not re.search(r"\(\?|\\", node.value)
    ]


def _text_of_others(statement: ast.stmt) -> list[ast.AST]:
    """Return the text of a constant that is one text; else nothing."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as text):
            return [text] if name.isupper() else []
    return []


@pytest.mark.parametrize(
    "code",
    [
        'x = Earlier(text="the worker left")',
        'x = f"the driver {did} {name}"',
        'x = f"{who} had " + "gone away"',
        'def f(x):\n    """Say it."""\n    return f"{x} was removed"',
        '_HOW = {"evicted": "{unit} was evicted"}',
    ],
)
def test_a_sentence_is_found(code: str) -> None:
    assert _sentences(code)


@pytest.mark.parametrize("package", ["causes", "facts"])
def test_neither_graph_nor_facts_make_sentences(package: str) -> None:
    found = {
        file.name: _sentences(file.read_text())
        for file in (PACKAGE / "analyse" / package).rglob("*.py")
    }

    assert len(found) > 15
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_every_package_is_in_docs_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    folders = {f"`{file.parent.name}/`" for file in PACKAGE.glob("*/__init__.py")}
    files = {f"`{file.name}`" for file in PACKAGE.glob("[a-z]*.py")}

    assert {name for name in folders | files if name not in page} == set()


def test_every_end_to_end_test_belongs_to_a_suite() -> None:
    found = {file.name for file in (ROOT / "tests" / "end_to_end").glob("test_*.py")}

    hosts = ("test_core_", "test_airflow_", "test_prefect_")
    assert {name for name in found if not name.startswith(hosts)} == set()
