"""`tools/deciding.py` counts in how many recordings a function decides anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SET = ROOT / "tests" / "kept" / "serialization.tar.xz"


def test_functions_are_counted_by_what_they_decide() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "deciding.py", SET, "--fewer", "1"],
        capture_output=True,
        text=True,
        check=True,
    )

    table = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    unused = {tuple(line.split()[1:3]) for line in done.stdout.splitlines()}
    assert ("rules/serialization.py", "GRAPH_NOT_SERIALIZABLE") not in unused
    assert ("rules/shuffle.py", "P2P_OUT_OF_DISK") in unused
    functions, never, nothing, few, lines, seldom = map(int, table["all"])
    assert functions > 1_000
    assert functions >= never + nothing + few > 0
    assert lines > seldom > 0
