"""The texts that the source of a package can print: their constant parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["filled_texts", "texts_in", "texts_of"]

_FILLED = re.compile(r"%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[srdfgi]|\{[^{}]*\}")
_FIXED = 10
"""The least number of fixed letters that tells one text from the others."""


def texts_in(line: str, packages: list[Path]) -> Iterator[str]:
    """Yield the texts in the source that a line, or a part of it, is printed from.

    Args:
        line: As it is printed.
        packages: Folders of the source.
    """
    line = _spaced(line)
    for package in packages:
        for text in texts_of(package):
            # What fills the gaps is not looked at; all that is fixed has to be there.
            if text[0] in line and re.search(".*?".join(map(re.escape, text)), line):
                yield "…".join(text)


@cache
def texts_of(package: Path) -> tuple[tuple[str, ...], ...]:
    """Return the texts in the source of a package, each as its fixed parts, long ones first."""
    found = set()
    for file in package.rglob("*.py"):
        if "tests" in file.parts or file.name == "utils_test.py":
            continue
        for text in _texts(ast.parse(file.read_text(encoding="utf-8"))):
            fixed = tuple(part.strip() for part in map(_spaced, text) if part.strip())
            if sum(len(re.findall(r"\w", part)) for part in fixed) >= _FIXED:
                found.add(fixed)
    return tuple(sorted(found, key=lambda text: -len("".join(text))))


def filled_texts(package: Path, value: str) -> set[str]:
    """Return the texts in the source of a package, with a value in each of their gaps."""
    found = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = (x.value if isinstance(x, ast.Constant) else value for x in parts)
            if isinstance(node, ast.JoinedStr | ast.Constant):
                found.add("".join(map(str, texts)))
    return found


def _texts(node: ast.AST) -> Iterator[list[str]]:
    parts = _parts(node)
    if parts is not None:
        yield parts  # what is part of it is no text by itself
        return
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


def _parts(node: ast.AST) -> list[str] | None:
    """Return the fixed parts of a text, a formatted one or a sum of them; None of others."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [part.replace("%%", "%") for part in _FILLED.split(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts: list[str] = [""]
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts[-1] += str(value.value)
            else:
                parts.append("")
        return parts
    return None


def _spaced(text: str) -> str:
    return re.sub(r"\s+", " ", text)
