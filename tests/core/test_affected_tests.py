"""`make test-changed` chooses tests by the import graph."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = "core/src/dask_blackbox"
STOPPING = "airflow_provider/src/airflow_dask_blackbox/stopping.py"
CHANGED = (
    f"{PRODUCT}/report/text_card.py",
    f"{PRODUCT}/segments/__init__.py",
    STOPPING,
    "tests/core/test_guard.py",
    "tests/support/kill_runs.py",
    "docs/findings.md",
    "uv.lock",
)
ASK = """
import json, sys
sys.path.insert(0, "tools")
from affected_tests import affected_tests
print(json.dumps({each: sorted(affected_tests([each])) for each in sys.argv[1:]}))
"""

Affected = dict[str, set[str]]


@pytest.fixture(scope="module")
def affected() -> Affected:
    """Return the tests that a change of each file reaches, of one reading of all imports."""
    for each in CHANGED:
        assert (ROOT / each).exists(), each
    done = subprocess.run(
        [ROOT / ".venvs" / "lint" / "bin" / "python", "-c", ASK, *CHANGED],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {file: set(tests) for file, tests in json.loads(done.stdout).items()}


def test_a_change_of_reports_reaches_tests_of_reports_and_none_of_segments(
    affected: Affected,
) -> None:
    found = affected[f"{PRODUCT}/report/text_card.py"]

    assert "tests/core/test_report_text.py" in found
    assert "tests/core/test_run_command.py" in found  # its process prints the card
    assert not {each for each in found if "/test_segments_roundtrip" in each}
    assert not {each for each in found if "/test_store_contract" in each}


def test_a_change_of_segments_reaches_what_reads_recordings(affected: Affected) -> None:
    found = affected[f"{PRODUCT}/segments/__init__.py"]

    assert "tests/core/test_segments_roundtrip.py" in found
    assert "tests/core/test_reader_run.py" in found  # through other modules


def test_a_change_of_a_host_reaches_all_of_its_tests_and_no_others(
    affected: Affected,
) -> None:
    found = affected[STOPPING]

    folder = ROOT / "tests" / "airflow_provider"
    assert {
        f"tests/airflow_provider/{each.name}" for each in folder.glob("test_*")
    } == {each for each in found if each.startswith("tests/airflow_provider/")}
    assert not {each for each in found if each.startswith("tests/prefect_collection/")}
    assert "tests/core/test_guard.py" not in found


def test_a_test_reaches_itself_and_a_helper_those_that_import_it(
    affected: Affected,
) -> None:
    assert affected["tests/core/test_guard.py"] == {"tests/core/test_guard.py"}

    found = affected["tests/support/kill_runs.py"]

    assert "tests/core/test_kill_matrix.py" in found
    assert "tests/core/test_guard.py" not in found


def test_a_page_reaches_the_tests_that_read_pages(affected: Affected) -> None:
    found = affected["docs/findings.md"]

    assert {"tests/core/test_docs.py", "tests/core/test_language.py"} <= found
    assert "tests/core/test_guard.py" not in found


def test_the_lock_reaches_every_test(affected: Affected) -> None:
    everything = affected["uv.lock"]

    assert {
        "tests/core/test_guard.py",
        "tests/install/test_distributions.py",
    } <= everything
