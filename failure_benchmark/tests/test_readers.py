"""`dask-failures readers`: one reader, several texts of the same runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from dask_failures.readers import question

_READER = """
import json, re, sys
asked = sys.stdin.read()
line, material, _ = re.split(r"^={70}$", asked, flags=re.M)
found = re.search(r"The tool says ([a-z-]+)|(ValueError)", material)
cause = "unknown" if found is None else found[1] or "task-exception"
print("Here it is:", json.dumps({"cause": cause, "subject": None, "text": material.strip()[-300:]}), "Bye.")
"""

_TOOL = """
import json, sys
for line in sys.stdin:
    answer = {"cause": "stalled", "text": "The tool says stalled.", "evidence": ["a fact"]}
    print(json.dumps(answer), flush=True)
"""


def readers(
    a_set: Path, tmp_path: Path, *words: str
) -> tuple[str, dict[str, list[dict[str, str]]]]:
    """Return what is printed, and the results by material."""
    reader, out = tmp_path / "reader.py", tmp_path / "out.json"
    reader.write_text(_READER)
    asked = ["readers", "--reader", f"{sys.executable} {reader}", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "dask_failures", *asked, "--sets", str(a_set), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text())


def test_a_reader_answers_from_each_text(a_set: Path, tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text(_TOOL)

    printed, found = readers(a_set, tmp_path, "--tool", f"{sys.executable} {tool}")

    assert printed.startswith("| kind of failure | runs | exception | logs | tool |")
    assert {len(results) for results in found.values()} == {len(found["tool"])}
    assert {each["cause"] for each in found["tool"]} == {"stalled"}
    assert all("a fact" in each["text"] for each in found["tool"])
    assert all("The driver exited with" in each["text"] for each in found["logs"])
    assert "task-exception" in {each["cause"] for each in found["exception"]}


def test_without_a_tool_there_are_two_texts(a_set: Path, tmp_path: Path) -> None:
    printed, found = readers(a_set, tmp_path)

    assert list(found) == ["exception", "logs"]
    assert "tool" not in printed


def test_a_long_text_is_cut_at_its_beginning_and_says_so() -> None:
    asked = question("x" * 500_000 + "the end")

    assert "(100,007 characters before this are left out)" in asked
    assert "the end" in asked
    assert len(asked) < 410_000
