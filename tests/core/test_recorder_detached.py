"""The recorder is no child of the driver, which may wait for all that it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from scenario_runs import Home, ScenarioRun, begin, ended
from stored_events import details

pytestmark = pytest.mark.processes

_RIGHTS = () if os.geteuid() == 0 else ("--user", "--map-root-user")
_NAMESPACE = ("unshare", *_RIGHTS, "--pid", "--fork", "--mount-proc")
_EXITED = 60
_FIRST = f"""
import os, subprocess, sys
from pathlib import Path

def exited():
    pids = Path("/proc/1/task/1/children").read_text().split()
    status = (Path("/proc", pid, "stat").read_text().rpartition(")")[2] for pid in pids)
    return sum(each.split()[0] == "Z" for each in status)

while exited() < {_EXITED}:  # their parent exits before them, and nobody reaps them here
    subprocess.run(["/bin/sh", "-c", "true & true & true & true &"])
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""
_WITHOUT_INIT = (*_NAMESPACE, sys.executable, "-c", _FIRST)


def recorded(home: Home, how: str, *by: str) -> ScenarioRun:
    """Return the run of a driver that waits for its children."""
    words = ("waits_for_children.py", str(home.folder / "store"), how)
    process = begin(home, *words, by=by, PYTHONWARNINGS="always::ResourceWarning")
    finished = ended(home, process)
    home.quiet()
    assert finished.code == 0, finished.errors
    assert finished.card.state == "succeeded"
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert finished.run.tasks["key"].n_unique() == finished.reported["tasks"]
    assert finished.reported["left"] == []
    assert "is still running" not in finished.errors
    assert home.left_over() == []
    return finished


def test_a_driver_that_waits_until_no_child_is_left_finds_its_own_alone(
    homes: Callable[[], Home],
) -> None:
    finished = recorded(homes(), "loop")

    assert sorted(finished.reported["waited"]) == sorted(finished.reported["own"])
    assert details(finished.run, "recorder-restarted") == []


@pytest.mark.nightly
def test_a_driver_that_ignores_the_end_of_its_children_is_recorded(
    homes: Callable[[], Home],
) -> None:
    finished = recorded(homes(), "ignored")

    assert finished.reported["waited"] == []
    assert details(finished.run, "recorder-restarted") == []


@pytest.mark.nightly
def test_a_handler_that_reaps_all_children_finds_one_more_at_most(
    homes: Callable[[], Home],
) -> None:
    """That one has started the recorder and exits at once."""
    finished = recorded(homes(), "handler")
    others = set(finished.reported["waited"]) - set(finished.reported["own"])

    assert set(finished.reported["own"]) <= set(finished.reported["waited"])
    assert len(others) <= 1, others
    assert details(finished.run, "recorder-restarted") == []


@pytest.mark.nightly
def test_a_recorder_that_takes_over_is_no_child_either(
    homes: Callable[[], Home],
) -> None:
    finished = recorded(homes(), "killed")

    assert set(finished.reported["own"]) <= set(finished.reported["waited"])
    assert len(details(finished.run, "recorder-restarted")) == 1


@pytest.fixture
def namespaces() -> None:
    """Skip where a test may not be the first process of a namespace."""
    command = [*_NAMESPACE, "true"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make namespaces of processes")


WAYS = [
    pytest.param(_NAMESPACE, id="first", marks=pytest.mark.nightly),
    pytest.param(_WITHOUT_INIT, id="no init"),
]


@pytest.mark.nightly
@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("by", WAYS)
def test_a_recorder_that_stays_a_child_gives_way_to_a_driver_that_waits_for_it(
    homes: Callable[[], Home], by: tuple[str, ...]
) -> None:
    finished = recorded(homes(), "loop", *by)

    assert set(finished.reported["own"]) < set(finished.reported["waited"])
    assert len(details(finished.run, "recorder-restarted")) == 1
    assert "waits for all of its children" in finished.errors


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("by", WAYS)
def test_without_an_init_a_recorder_leaves_no_exited_process(
    homes: Callable[[], Home], by: tuple[str, ...]
) -> None:
    finished = recorded(homes(), "works", *by)

    assert details(finished.run, "recorder-restarted") == []
    before, after = finished.reported["exited"]
    assert set(after) == set(before)
