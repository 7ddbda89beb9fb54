"""A script that runs tests itself, under `dask blackbox run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from dask_blackbox import RunCard
from scenario_runs import Home, begin_command, ended

pytestmark = pytest.mark.processes

TESTS = """
from dask.distributed import Client
import pytest


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, dashboard_address=None) as client:
        yield client


def test_sum(client):
    assert client.submit(sum, [1, 2]).result() == 3


@pytest.mark.xfail
def test_expected(client):
    assert client.submit(sum, [1, 2]).result() == 0


def test_product(client):
    assert client.submit(sum, [2, 3]).result() == 6
"""
SCRIPT = """
import sys
import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "test_of_sums.py"]))
"""


@pytest.mark.nightly
def test_pytest_called_by_a_script_reports_which_test_failed(
    homes: Callable[[], Home], tmp_path: Path
) -> None:
    (tmp_path / "test_of_sums.py").write_text(TESTS)
    script = tmp_path / "checks.py"
    script.write_text(SCRIPT.replace('"test_of', f'"{tmp_path}/test_of'))
    home, card = homes(), tmp_path / "card.json"

    command = ["run", "--store", str(tmp_path / "store"), "--card", str(card)]
    command += ["--", sys.executable, str(script)]
    finished = ended(home, begin_command(home, "blackbox", *command))

    assert finished.code == 1
    verdict = msgspec.json.decode(card.read_bytes(), type=RunCard).verdict
    assert verdict is not None
    assert verdict.rule == "driver-exception"
    assert "AssertionError" in verdict.title
    [test] = [e.text for e in verdict.evidence if e.text.startswith("The test")]
    assert "test_of_sums.py::test_product' failed with AssertionError" in test
