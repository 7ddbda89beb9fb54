"""What is refused before a case is recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from dask_failures import FailureSet
from dask_failures.errors import WrongScriptError

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import record


def a_case(folder: Path, **files: str) -> FailureSet:
    """Return a set of one case, a folder with these Python files."""
    scripts = folder / "scripts" / "tide_fields"
    scripts.mkdir(parents=True)
    for name, source in files.items():
        (scripts / f"{name}.py").write_text(source)
    (folder / "set.json").write_text('{"name": "open", "title": "Cases."}')
    (folder / "expected.toml").write_text('[tide_fields]\ntext = "It fails."\n')
    return FailureSet.open(folder)


def test_a_module_that_comes_first_by_name_is_no_script(tmp_path: Path) -> None:
    found = a_case(tmp_path, field="X = 1\n", tide_fields="from field import X\n")

    with pytest.raises(
        WrongScriptError, match=r"runs field\.py.* which tide_fields\.py"
    ):
        record.check_script(found, "tide_fields")


@pytest.mark.parametrize(
    "files",
    [
        {"tide_fields": "import zone\n", "zone": "X = 1\n"},
        {"tide_fields": "print(1)\n"},
        {"tide_fields": "import os\n", "zone": "this is no Python\n"},
    ],
)
def test_a_script_that_comes_first_is_run(
    tmp_path: Path, files: dict[str, str]
) -> None:
    record.check_script(a_case(tmp_path, **files), "tide_fields")
