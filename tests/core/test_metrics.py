"""What `make metrics` counts, and the check that keeps functions from growing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "metrics.py"

COMPLEX = "def long(a):\n    return " + " or ".join(f"a == {n}" for n in range(16))


def _measured(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, *options, folder],
        capture_output=True,
        text=True,
        check=False,
    )


def _row(text: str, folder: Path) -> dict[str, str]:
    (folder / "module.py").write_text(text)
    header, row = _measured(folder).stdout.splitlines()
    return dict(zip(header.split(), row.split(), strict=True))


@pytest.mark.parametrize(
    ("body", "decisions"),
    [
        ("return 1", 1),
        ("return 1 if a else 2", 2),
        ("return a and b or c", 3),
        ("return [x for x in a if x if b]", 4),
        ("return (lambda: 1 if a else 2)()", 2),
        ("for x in a:\n        if x:\n            return 1", 3),
        ("try:\n        return a\n    except ValueError:\n        return b", 2),
        ("match a:\n        case 1:\n            return b\n        case 2:\n            return c", 3),
    ],
)  # fmt: skip
def test_expressions_are_decisions_like_statements(
    body: str, decisions: int, tmp_path: Path
) -> None:
    row = _row(f"def f(a, b, c):\n    {body}\n", tmp_path)

    assert row["decisions"] == str(decisions)


def test_private_functions_with_one_caller_are_counted(tmp_path: Path) -> None:
    row = _row(
        "def _once(): ...\n"
        "def _twice(): ...\n"
        "def _itself(): return _itself()\n"
        "def public(): return _once(), _twice(), _twice()\n",
        tmp_path,
    )

    assert row["one_caller"] == "1"


def test_complex_functions_fail_and_are_listed(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(COMPLEX)

    done = _measured(tmp_path, "--check")

    assert done.returncode == 1
    assert f"{tmp_path / 'module.py'}:1 long has 16 decisions" in done.stdout


def test_modules_that_import_each_other_in_functions_fail(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "card.py").write_text(
        "from importlib import import_module\n"
        "def text():\n    return import_module('package.report')\n"
    )
    (package / "report.py").write_text(
        "def card():\n    from package.card import text\n"
    )
    (package / "types.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from package.user import x\n"
    )
    (package / "user.py").write_text("from package import types\n")

    done = _measured(package, "--check")

    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "These modules import each other: package.card, package.report"
    ]
