"""The words that docs/glossary.md rules out appear in no text that users read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
SOURCES = [
    ROOT / "core" / "src",
    ROOT / "airflow_provider" / "src",
    ROOT / "prefect_collection" / "src",
]
PAGES = sorted(
    page
    for page in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*/README.md"),
        *(path for source in SOURCES for path in source.rglob("*.md")),
    ]
    if page.parent.name != "decisions"
)
MODULES = sorted(path for source in SOURCES for path in source.rglob("*.py"))
TEMPLATES = sorted(path for source in SOURCES for path in source.rglob("*.html"))

_NAME = re.compile(r"`[\w-]+`")
"""Names in code: the stored format keeps its own."""

_ROW = re.compile(r"^\| (?P<words>[a-z][a-z ,]*) \| [^|]+ \|$", re.MULTILINE)


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _table() -> str:
    return GLOSSARY.read_text().partition("## Words to avoid")[2]


def _ruled_out() -> re.Pattern[str]:
    rows = [row["words"] for row in _ROW.finditer(_table()) if row["words"] != "word"]
    words = [word.strip() for row in rows for word in row.split(",")]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


RULED_OUT = _ruled_out()


def found_in(text: str) -> list[str]:
    """Return the words of a text that the glossary rules out."""
    return RULED_OUT.findall(re.sub(r"\s+", " ", text))


def messages_of(module: Path) -> Iterator[str]:
    """Yield the texts of several words in a module; of commands, the help as well."""
    tree = ast.parse(module.read_text("utf-8"))
    described = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    helped = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if module.parent.name == "cli"
        and isinstance(node, ast.FunctionDef)
        and node.decorator_list
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in described - helped
            and " " in node.value.strip()
        ):
            yield node.value


def test_the_glossary_lists_words_to_avoid() -> None:
    assert found_in("It was told of a flight") == ["told", "flight"]
    assert found_in("The run failed for want\nof memory") == ["for want of"]
    assert found_in("The run succeeded") == []


@pytest.mark.parametrize("page", PAGES, ids=_shown)
def test_pages_use_the_glossarys_terms(page: Path) -> None:
    text = page.read_text("utf-8")
    if page == GLOSSARY:
        text = text.replace(_table(), "")

    assert found_in(_NAME.sub("", text)) == []


def test_messages_and_help_use_the_glossarys_terms() -> None:
    texts = [(module, text) for module in MODULES for text in messages_of(module)]
    wrong = [
        f"{_shown(module)}: {text[:100]!r}" for module, text in texts if found_in(text)
    ]

    assert len(texts) > 1000
    assert wrong == []


@pytest.mark.parametrize("template", TEMPLATES, ids=_shown)
def test_pages_of_hosts_use_the_glossarys_terms(template: Path) -> None:
    assert found_in(template.read_text("utf-8")) == []


def names_in(module: Path) -> Iterator[str]:
    """Yield the names that a module defines: functions, classes, arguments, variables."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_names_in_code_use_the_glossarys_terms() -> None:
    wrong = [
        f"{_shown(module)}: {name}"
        for module in MODULES
        if "dask_blackbox" in module.parts
        for name in names_in(module)
        if found_in(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name))
    ]

    assert wrong == []
