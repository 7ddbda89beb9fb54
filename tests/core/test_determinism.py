"""The same recording gives the same card, to the byte, whichever process makes it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conditions import scaled

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "core" / "src" / "dask_blackbox"
_CARDS = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from kept_recordings import diagnosed, names
for of, name in names():
    card = diagnosed(of, name).card.to_json()
    print(of, name, hashlib.sha256(card).hexdigest())
"""


@pytest.mark.nightly
@pytest.mark.timeout(900)  # all kept recordings, twice
def test_two_processes_make_the_same_cards() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _CARDS, str(ROOT / "tests" / "support")],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    first, second = (
        each.communicate(timeout=scaled(800))[0].splitlines() for each in processes
    )

    assert [each.returncode for each in processes] == [0, 0]
    assert len(first) > 100
    assert [
        pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]
    ] == []


def test_groups_of_rows_keep_their_order() -> None:
    """Polars groups in threads: sums of floats, and ties, would depend on them."""
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno}"
        for package in ("analyse", "tables", "report")
        for path in sorted((SOURCES / package).rglob("*.py"))
        for node in _groupings(path)
        if not any(each.arg == "maintain_order" for each in node.keywords)
    ]

    assert found == []


def _groupings(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "group_by"
        ):
            yield node
