"""Threads that decode a type for the first time at once do not crash the process."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conditions import scaled

pytestmark = pytest.mark.processes

SOURCES = Path(__file__).parents[2] / "core" / "src" / "dask_blackbox"
SCRIPT = Path(__file__).parents[1] / "support" / "first_decoding.py"


@pytest.mark.nightly
def test_threads_that_decode_first_thing_do_not_crash() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "60"],
        capture_output=True,
        text=True,
        check=True,
        timeout=scaled(120),
    )

    assert done.stdout == "{0: 60}\n"


def test_no_type_is_described_while_decoding() -> None:
    """`decode(…, type=…)` describes the type at its first call, in whatever thread."""
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno}"
        for path in sorted(SOURCES.rglob("*.py"))
        if "type=" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "decode"
        and any(each.arg == "type" for each in node.keywords)
    ]

    assert found == []


def test_decoders_are_made_at_import() -> None:
    """A decoder that is made within a function describes its type there and then."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text()
        for function in ast.walk(ast.parse(text)) if "Decoder" in text else ():
            if isinstance(
                function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
            ):
                found += [
                    f"{path.relative_to(SOURCES)}:{node.lineno}"
                    for node in ast.walk(function)
                    if isinstance(node, ast.Attribute) and node.attr == "Decoder"
                ]

    assert found == []
