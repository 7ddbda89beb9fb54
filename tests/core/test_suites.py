"""`tools/suites.py` runs every test once, and scales deadlines by the load."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FAILS = """
from pathlib import Path

def test_fails():
    with Path(__file__).with_name("ran").open("a") as ran:
        ran.write("once ")
    assert False
"""
OF_THE_NIGHT = """
import pytest

def test_of_a_change(): pass

@pytest.mark.nightly
def test_of_the_night(): assert False
"""
LOGS_AT_EXIT = """
import atexit

def test_it(): atexit.register(print, "closed after", flush=True)
"""
SHARES = """
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def cluster():
    with Path(__file__).with_name("started").open("a") as started:
        started.write("once ")

@pytest.mark.parametrize("number", range(8))
def test_it(cluster, number): pass
"""
READS_THE_FACTOR = """
import os
from pathlib import Path

def test_it():
    Path(__file__).with_name("factor").write_text(os.environ["TEST_LOAD_FACTOR"])
"""
LACKS_SOMETHING = """
import pytest

@pytest.mark.parametrize("number", range(2))
@pytest.mark.skipif(True, reason="NOT TESTED: Slurm (no slurmd)")
def test_it(number): pass

@pytest.mark.skip(reason="of another system")
def test_another(): pass
"""
TAKES_LONGER = """
import time
import pytest

@pytest.mark.timeout(0.02)
def test_it(): time.sleep(0.2)
"""
SETTINGS = """
[tool.pytest.ini_options]
addopts = ["--import-mode=importlib"]
markers = ["nightly: at night"]
pythonpath = ["support"]
timeout = 300
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    for tool in ("suites.py", "load_factor.py"):
        shutil.copy(ROOT / "tools" / tool, tmp_path / "tools")
    (tmp_path / ".venvs").symlink_to(ROOT / ".venvs")
    (tmp_path / "tests" / "install").mkdir(parents=True)
    (tmp_path / "support").mkdir()
    shutil.copy(ROOT / "tests/support/conditions.py", tmp_path / "support")
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "tests")
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    return tmp_path


def run_suite(
    project: Path, *options: str, text: str, **environ: str
) -> tuple[int, list[str]]:
    (project / "tests" / "install" / "test_it.py").write_text(text)
    known = {k: v for k, v in os.environ.items() if k != "TEST_LOAD_FACTOR"}
    done = subprocess.run(
        [sys.executable, "tools/suites.py", "install", *options],
        cwd=project,
        env=known | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def test_a_test_that_fails_fails_the_run_and_runs_once(project: Path) -> None:
    code, printed = run_suite(project, text=FAILS)

    assert code == 1
    assert re.fullmatch(
        r"install +FAILED +\d+ s +\d+ s CPU   1 failed in .*", printed[-1]
    )
    assert (project / "tests" / "install" / "ran").read_text() == "once "
    # A log that is cut to its end still has them.
    assert printed[-3].startswith("FAILED tests/install/test_it.py::test_fails")


def test_what_is_logged_after_the_end_does_not_replace_the_summary(
    project: Path,
) -> None:
    code, printed = run_suite(project, text=LOGS_AT_EXIT)

    assert code == 0
    assert any("closed after" in line for line in printed)
    assert re.fullmatch(r"install +ok +\d+ s +\d+ s CPU   1 passed in .*", printed[-1])


def test_what_the_machine_lacks_is_said_at_the_end(project: Path) -> None:
    code, printed = run_suite(project, text=LACKS_SOMETHING)

    assert code == 0
    said = [each for each in printed if each.startswith("NOT TESTED: ")]
    assert said[:1] == ["NOT TESTED: Slurm (no slurmd)"]
    assert not any("another system" in each for each in said)


def test_tests_of_the_night_run_only_with_all(project: Path) -> None:
    code, printed = run_suite(project, text=OF_THE_NIGHT)

    assert code == 0
    assert re.fullmatch(
        r"install +ok +\d+ s +\d+ s CPU   1 passed, 1 deselected .*", printed[-1]
    )

    code, printed = run_suite(project, "--all", text=OF_THE_NIGHT)

    assert code == 1
    assert "1 failed, 1 passed" in printed[-1]


def test_what_tests_of_a_file_share_starts_once_however_many_processes_run_them(
    project: Path,
) -> None:
    (project / "tests" / "install" / "test_it.py").write_text(SHARES)
    command = [sys.executable, "-m", "pytest", "--numprocesses=2", "--dist=loadgroup"]

    subprocess.run([*command, "tests/install"], cwd=project, check=True)

    assert (project / "tests" / "install" / "started").read_text() == "once "


def test_an_unknown_option_is_an_error_that_lists_the_suites(project: Path) -> None:
    code, printed = run_suite(project, "--quick", text=OF_THE_NIGHT)

    assert code == 2
    assert "processes" in printed[-1]
    assert "--all" in printed[-1]


def test_the_load_is_measured_once_and_given_to_the_tests(project: Path) -> None:
    code, _ = run_suite(project, text=READS_THE_FACTOR)

    assert code == 0
    factor = float((project / "tests" / "install" / "factor").read_text())
    assert 3.0 <= factor <= 12.0


def test_a_factor_that_is_given_scales_the_time_a_test_may_take(project: Path) -> None:
    code, printed = run_suite(project, text=TAKES_LONGER, TEST_LOAD_FACTOR="1")

    assert code == 1
    assert any("Timeout" in line for line in printed)

    code, _ = run_suite(project, text=TAKES_LONGER, TEST_LOAD_FACTOR="6000")

    assert code == 0


def test_every_file_of_tests_belongs_to_one_suite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from suites import SUITES

    files = [file for suite in SUITES for file in suite.test_files()]

    everything = {
        str(file.relative_to(ROOT))
        for folder in ("tests", "failure_benchmark/tests")
        for file in (ROOT / folder).rglob("test_*.py")
    }
    assert sorted(files) == sorted(everything)


def test_what_runs_scenarios_waits_for_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import suites

    monkeypatch.setattr(suites, "ROOT", tmp_path)
    files = {
        "test_marked.py": "pytestmark = pytest.mark.processes\n",
        "test_first_of_marks.py": "pytestmark = [\n    pytest.mark.kills,\n]\n",
        "test_scenario.py": "from scenario_runs import Home\n",
        "test_computes.py": "import polars\n",
    }
    (tmp_path / "tests" / "core").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "tests" / "core" / name).write_text(text)

    found = {
        suite.name: [Path(file).name for file in suite.test_files()]
        for suite in suites.SUITES
        if suite.files == "tests/core"
    }

    assert found == {
        "core": ["test_computes.py"],
        "processes": ["test_marked.py", "test_scenario.py"],
        "kills": ["test_first_of_marks.py"],
    }


def test_how_long_scenarios_wait_follows_the_load() -> None:
    waits = re.compile(r"timeout=(?:[2-9]\d|\d{3,})(?!\d)")

    fixed = {
        f"{file.name}: {found[0]}"
        for file in (ROOT / "tests" / "core" / "scenarios").glob("*.py")
        for found in waits.finditer(file.read_text("utf-8"))
    }

    assert fixed == set()  # `scaled` of `scenario_reports.py`
