"""The examples of CONTRIBUTING.md work when they are followed to the letter."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
COPIED = ("core/src", "failure_benchmark/open", "failure_benchmark/src")

_STEP = re.compile(
    r"^\d\. (?P<what>New file|Append to|Insert into) `(?P<path>[^`]+)`"
    r"(?: before `(?P<line>[^`]+)`)?[^\n]*:\n\n"
    r"(?P<fence>`{3,})\w+\n(?P<text>.*?)\n(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
_QUESTION = re.compile(
    r"^\| Where [^|]+\? \| (?P<files>[^|]+) \| `(?P<symbol>[\w.]+)` \|$", re.MULTILINE
)
QUESTIONS = list(_QUESTION.finditer(PAGE))


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source to which every example was applied."""
    copy = tmp_path_factory.mktemp("copy")
    for each in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / each, copy / each, ignore=ignored)
    (copy / "tests" / "core").mkdir(parents=True)
    for step in _STEP.finditer(PAGE):
        path, text = copy / step["path"], f"{step['text']}\n"
        assert path.exists() == (step["what"] != "New file"), step["path"]
        before = path.read_text("utf-8") if path.exists() else ""
        if step["what"] == "Insert into":
            line = f"\n{step['line']}\n"
            assert before.count(line) == 1, step["line"]
            after = before.replace(line, f"\n{text}{line[1:]}")
        else:
            after = f"{before}\n\n{text}" if before else text
        path.write_text(after, "utf-8")
    return copy


def test_the_examples_pass_their_own_tests(followed: Path) -> None:
    tests = sorted(followed.glob("tests/core/test_*.py"))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=followed,
        env=os.environ | {"PYTHONPATH": str(followed / "core" / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert {file.name for file in tests} == {
        "test_events_throttled.py",
        "test_rules_licences.py",
        "test_store_compressed.py",
    }


@pytest.mark.nightly
def test_the_example_of_a_case_is_recorded_and_right(followed: Path) -> None:
    code = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT / "failure_benchmark" / "tools")!r})
        from pathlib import Path
        from record import record
        print(record("division_by_zero", place=Path("failure_benchmark/open")))
    """

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=followed,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("right   division_by_zero: task-exception"), (
        done.stdout
    )
    assert (followed / "failure_benchmark/open/recordings/division_by_zero").is_dir()


def test_every_kind_of_addition_has_an_example() -> None:
    paths = [step["path"] for step in _STEP.finditer(PAGE)]

    for part in ("analyse/findings", "benchmark/open/scripts", "/events/", "/store/"):
        assert any(part in path for path in paths), part


def defined_in(module: Path) -> set[str]:
    """Return the functions, classes, methods and constants that a module defines."""
    found = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.Assign):
            found |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            found |= {
                f"{node.name}.{each.name}"
                for each in node.body
                if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
    return found


def test_there_are_at_least_ten_questions() -> None:
    assert len(QUESTIONS) >= 10


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row["symbol"])
def test_a_question_leads_to_the_file_that_defines_its_answer(
    row: re.Match[str],
) -> None:
    core = ROOT / "core" / "src" / "dask_blackbox"
    answers = re.findall(r"`([\w/.-]+)`", row["files"])
    files = [core / each if (core / each).exists() else ROOT / each for each in answers]

    assert [each for each in files if not each.exists()] == []
    assert row["symbol"] in defined_in(files[0])
