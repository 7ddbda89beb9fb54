"""What can be used is documented, and what is documented can be used."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from dask_blackbox.cli import VERBS
from dask_blackbox.tables import SCHEMAS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(DOCS / "findings").glob("*.md"),
        *ROOT.glob("*/README.md"),
    }
)

_ROW = re.compile(r"^\| `blackbox\.([a-z.-]+)` \| `([A-Z_]+)` \|", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def _settings() -> Iterator[str]:
    import dask_blackbox

    yaml_file = Path(dask_blackbox.__file__).with_name("blackbox.yaml")
    yield from _leaves(yaml.safe_load(yaml_file.read_text())["blackbox"])


def _leaves(tree: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def test_every_setting_has_an_effect() -> None:
    """Those of the store are read all at once."""
    packages = ("core", "airflow_provider", "prefect_collection")
    code = "\n".join(
        file.read_text() for each in packages for file in (ROOT / each).rglob("*.py")
    )
    read = set(re.findall(r"\bsetting\w*\(\s*\"([a-z.-]+)\"", code))

    assert {s for s in _settings() if not s.startswith("store.")} <= read


def _shown(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_pages_are_found() -> None:
    assert ROOT / "README.md" in PAGES
    assert DOCS / "findings" / "unknown.md" in PAGES


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented_with_its_options(verb: str) -> None:
    command: click.Command = getattr(import_module(f"dask_blackbox.cli.{verb}"), verb)
    chapters = (DOCS / "commands.md").read_text().split("\n## ")[1:]
    chapter = next((each for each in chapters if each.split("\n")[0] == verb), "")
    options = {
        option
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.startswith("--")
    }

    assert chapter, f"docs/commands.md has no chapter '## {verb}'"
    assert {option for option in options if option not in chapter} == set()


def test_every_setting_is_documented_and_no_other() -> None:
    documented = [name for name, _ in _ROW.findall(_configuration())]

    assert sorted(documented) == sorted(_settings())


def test_the_environment_variables_in_the_docs_set_their_settings() -> None:
    names = dict(_ROW.findall(_configuration()))
    values = {variable: f"set by {variable}" for variable in names.values()}
    code = (
        "import json, sys; from dask_blackbox.settings import setting; "
        "print(json.dumps({name: setting(name) for name in sys.argv[1:]}))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        env=os.environ | values,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout) == {
        name: values[variable] for name, variable in names.items()
    }


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_table_is_documented_with_its_columns(table: str) -> None:
    page = (DOCS / "tables.md").read_text()

    assert f"`{table}`" in page
    assert [name for name in SCHEMAS[table] if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=_shown)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = _LINK.findall(page.read_text())

    # As a site sees it: `docs/findings`, a symbolic link, is a folder of docs/.
    there = {each: Path(os.path.normpath(page.parent / each)) for each in targets}
    assert [each for each, path in there.items() if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=_shown)
def test_python_in_the_docs_is_python(page: Path) -> None:
    for block in _CODE.findall(page.read_text()):
        compile(block, str(page), "exec")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def _configuration() -> str:
    return (DOCS / "configuration.md").read_text()


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("dask_blackbox", "core/src/dask_blackbox/__init__.py"),
        (
            "prefect_dask_blackbox",
            "prefect_collection/src/prefect_dask_blackbox/__init__.py",
        ),
    ],
)
def test_all_that_is_public_is_in_the_reference(package: str, file: str) -> None:
    tree = ast.parse((ROOT / file).read_text())
    [public] = (
        ast.literal_eval(each.value)
        for each in tree.body
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and each.targets[0].id == "__all__"
    )
    page = (ROOT / "docs" / "api.md").read_text()
    # What a rule can ask is on a page of its own.
    elsewhere = {"Case", "__version__"}

    missing = {name for name in public if f"::: {package}.{name}\n" not in page}

    assert missing - elsewhere == set()
