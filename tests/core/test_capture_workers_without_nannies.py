"""Workers without a nanny: their exits are reported all the same."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_runs import Home, ScenarioRun, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

ENDS = {
    "exit_with_0": (0, None),
    "exit_with_3": (3, None),
    "fault": (-11, "SIGSEGV"),
    "abort": (-6, "SIGABRT"),
}


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    return run_scenario(home, "workers_without_nannies.py", str(home.folder / "store"))


@pytest.mark.parametrize("way", ENDS)
def test_a_death_without_a_nanny_has_an_exit_report(
    finished: ScenarioRun, way: str
) -> None:
    key = finished.reported["keys"][way]
    # On a busy machine the recorder may read the worker's last lines as well, before the
    # report of the watcher has arrived; only the watcher knows the exit code for certain.
    reports = [
        each
        for each in details(finished.run, "worker-exit-report")
        if key in [task["key"] for task in each["executing"]]
    ]
    [report] = [each for each in reports if each["by"] == "watcher"]
    assert {each["exit_code"] for each in reports} <= {ENDS[way][0], None}

    assert (report["exit_code"], report["signal"]) == ENDS[way]
    assert report["memory"]
    if report["signal"] is not None:
        assert f"in {way}" in report["stack"]


def test_each_death_is_counted_once(finished: ScenarioRun) -> None:
    assert finished.card.numbers["deaths"] == len(ENDS)
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }


def test_nothing_is_left_behind(finished: ScenarioRun) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []


@pytest.mark.parametrize(
    "processes", [True, pytest.param(False, marks=pytest.mark.nightly)]
)
def test_stacks_are_written_at_sigterm_in_a_workers_own_process_alone(
    tmp_path: Path, *, processes: bool
) -> None:
    def unregistered() -> object:
        unregister: Callable[[int], object] = faulthandler.unregister
        return unregister(signal.SIGTERM)

    with (
        LocalCluster(
            n_workers=1, processes=processes, protocol="tcp://", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="stacks"),
    ):
        client.submit(abs, -1).result()

        assert list(client.run(unregistered).values()) == [processes]
