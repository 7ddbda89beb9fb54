"""Workers without a nanny: their exits are reported all the same."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from dask_blackbox import recording
from dask_blackbox.capture.nanny.worker_watcher import NEEDED
from dask_blackbox.capture.shipping import _needed_by
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


SLOW = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "distributed":
            time.sleep(20)

if "pickle.load(sys.stdin.buffer)" in str(sys.orig_argv):
    sys.meta_path.insert(0, Slow())
"""
"""Has what watches a worker take as long to import Dask as it does on a very busy machine."""


def test_exit_codes_are_known_on_a_host_where_their_reports_are_late(
    homes: Callable[[], Home], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    home = homes()
    scenario = "workers_without_nannies.py", str(home.folder / "store")
    late = run_scenario(home, *scenario, PYTHONPATH=str(tmp_path))

    codes = {
        each["executing"][0]["key"]: each["exit_code"]
        for each in details(late.run, "worker-exit-report")
    }
    keys = late.reported["keys"]
    assert codes == {keys[way]: code for way, (code, _) in ENDS.items()}
    assert late.card.numbers["deaths"] == len(ENDS)


def test_what_watches_a_worker_gets_the_modules_that_it_needs_and_no_others() -> None:
    needed = _needed_by("nanny.worker_watcher")

    assert {name for name, _ in needed} == {*NEEDED}
    assert not [name for name, source in needed if "\nfrom distributed" in source]


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
