"""Compares written events with the types that declare them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from dask_blackbox.events import KINDS, EventRow, Unrecognised, decoded, encoded
from dask_blackbox.segments import read_segment

__all__ = ["undeclared", "undeclared_in_folder", "written_by_hand"]

Place = tuple[str, ...]


def undeclared(rows: Iterable[EventRow]) -> set[str]:
    """Return what the types do not declare of some events, as `kind: what`."""
    return {f"{row[1]}: {problem}" for row in rows for problem in _problems(row)}


def undeclared_in_folder(folder: Path) -> set[str]:
    """Return what the types do not declare of all recordings in a folder."""
    return undeclared(
        row for path in sorted(folder.rglob("*")) for row in _events_of(path)
    )


def _events_of(path: Path) -> Iterator[EventRow]:
    if path.suffix == ".seg":
        for frame in read_segment(path.read_bytes()).frames:
            for at, kind, subject, detail in frame.rows.get("event", ()):
                yield at, kind, subject, detail
    elif path.name == "events.parquet":
        table = pl.read_parquet(path)
        for kind, subject, detail in table[["kind", "subject", "detail"]].rows():
            yield 0.0, kind, subject, detail


def _problems(row: EventRow) -> Iterator[str]:
    event = decoded(*row)
    if isinstance(event, Unrecognised):
        yield "the kind"
        return
    yield from (f"{name} does not fit its type" for name in event.malformed)
    yield from (f"{name} is not declared" for name in event.extra)
    if not event.malformed:
        kept = set(_places(json.loads(encoded(event)[3])))
        for place in set(_places(json.loads(row[3]))) - kept:
            yield f"{'.'.join(place)} is not declared"


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield where there is something in a JSON value."""
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _places(inside, (*place, name))
    elif isinstance(value, list):
        for inside in value:
            yield from _places(inside, (*place, "[]"))
    elif value is not None:
        yield place


def written_by_hand(source: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that code writes of events, as kind and name.

    They are the keywords beside a kind, and the keys of a dictionary there, also if it has a
    name in that function.
    """
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            named = [
                (target.id, node.value)
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            ]
            for node in ast.walk(function):
                yield from _fields_beside_a_kind(node, named)


def _fields_beside_a_kind(
    node: ast.AST, named: list[tuple[str, ast.expr]]
) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call) and not ast.unparse(node.func).endswith("_ask"):
        parts, words = node.args, node.keywords
    elif isinstance(node, ast.List | ast.Tuple):
        parts, words = node.elts, []
    else:
        return
    constants = [each.value for each in parts if isinstance(each, ast.Constant)]
    kinds = [str(each) for each in constants if each in KINDS]
    if len(kinds) == 1:
        yield from ((kinds[0], each.arg) for each in words if each.arg)
        for part in parts:
            yield from ((kinds[0], key) for key in _keys(part, named))


def _keys(node: ast.expr, named: list[tuple[str, ast.expr]]) -> Iterator[str]:
    """Yield the keys of a dictionary, of those merged into it, and of what `json.dumps` gets."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value)
            elif key is None:
                yield from _keys(value, named)
    elif isinstance(node, ast.Name):
        for name, value in named:
            if name == node.id and not isinstance(value, ast.Name):
                yield from _keys(value, named)
    elif isinstance(node, ast.BinOp):
        yield from (*_keys(node.left, named), *_keys(node.right, named))
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "json.dumps":
        yield from _keys(node.args[0], named)
