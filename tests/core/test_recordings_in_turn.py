"""Recordings of one long-lived cluster: what its processes keep of those that have ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from dask_blackbox import Run, RunCard, recording
from dask_blackbox.capture import logs
from dask_blackbox.layout import RunAddress
from distributed import Client, LocalCluster
from scenario_runs import Home, ScenarioRun, begin, ended, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

TASKS = 5


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    process = begin(home, "in_turn.py", str(home.folder / "store"))
    finished = ended(home, process, timeout=280)
    assert finished.code == 0, finished.errors[-5000:]
    return finished


@pytest.mark.nightly
@pytest.mark.parametrize("where", ["scheduler", "workers", "nannies", "driver"])
def test_no_more_is_held_after_many_recordings_than_after_one(
    finished: ScenarioRun, where: str
) -> None:
    assert finished.reported["after"][where] == finished.reported["before"][where]


@pytest.mark.nightly
def test_neither_lines_nor_threads_nor_files_nor_recordings_are_held(
    finished: ScenarioRun,
) -> None:
    after = finished.reported["after"]

    for process in (after["scheduler"], *after["workers"], *after["nannies"]):
        assert process["lines"] == 0
        assert process["threads"] == []
        assert process["files"] == 0
        assert not [kind for kind in process["objects"] if kind.endswith("Capture")]
    assert after["driver"]["handlers"] == []


@pytest.mark.nightly
def test_each_recording_holds_its_own_tasks_and_lines(finished: ScenarioRun) -> None:
    for reported in finished.reported["cards"]:
        card = msgspec.convert(reported, RunCard)
        run = Run.open(card.links["recording"])
        lines = run.logs["message"].to_list()

        assert card.completeness == {
            "recorded": True,
            "kept": "store",
            "complete": True,
        }
        assert run.tasks["key"].n_unique() == TASKS
        assert sum("a line of" in text for text in lines) == TASKS


def test_a_worker_that_dies_after_another_recording_has_ended_is_reported_by_its_nanny(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    finished = run_scenario(home, "one_of_two_ends.py", str(home.folder / "store"))

    [reported] = details(finished.run, "worker-exit-report")
    assert reported["signal"] == "SIGKILL"
    assert "by" not in reported  # else somebody else has found out


@pytest.mark.nightly
def test_nothing_is_left_over(finished: ScenarioRun) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []


def test_the_numbers_of_lines_are_kept_of_the_newest_recordings_only() -> None:
    for n in range(2 * logs._MOST_COUNTS):
        tap = logs.LogTap(f"ended-{n}", "worker", lambda role: role, print)
        _, numbers = tap.numbered("worker")
        next(numbers)
    again = logs.LogTap(f"ended-{n}", "worker", lambda role: role, print)

    assert len(logs._COUNTS) <= logs._MOST_COUNTS
    assert next(again.numbered("worker")[1]) == 2


def _warn(text: str) -> None:
    logging.getLogger("distributed.scheduler").warning(text)


def test_recordings_at_once_take_no_lines_of_each_others_schedulers(
    tmp_path: Path,
) -> None:
    clients: dict[str, Client] = {}
    with ExitStack() as stack:
        for job in ("a", "b"):
            cluster = stack.enter_context(
                LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            stack.enter_context(
                recording(client, store=tmp_path, job=job, run_id="one")
            )
            clients[job] = client
        for job, client in clients.items():
            client.run_on_scheduler(_warn, f"said by {job}")

    for job in clients:
        run = Run.open(str(tmp_path / RunAddress.of(job, "one", 1).folder))
        messages = run.logs["message"].to_list()
        assert [text for text in messages if "said by" in text] == [f"said by {job}"]


def test_what_a_cluster_logs_after_its_recording_is_in_no_other_one(
    tmp_path: Path,
) -> None:
    """As when the cluster of a subflow closes while its parent is recorded."""
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as outer,
        Client(outer, set_as_default=False) as client,
        recording(client, store=tmp_path, job="outer", run_id="one"),
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as inner,
        Client(inner, set_as_default=False) as other,
    ):
        with recording(other, store=tmp_path, job="inner", run_id="one"):
            other.submit(int).result()
        other.run_on_scheduler(_warn, "said by inner, when it closes")
        client.run_on_scheduler(_warn, "said by outer")

    run = Run.open(str(tmp_path / RunAddress.of("outer", "one", 1).folder))
    messages = run.logs["message"].to_list()
    assert [text for text in messages if "said by" in text] == ["said by outer"]
