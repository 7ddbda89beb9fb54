"""What Dask itself tells of a run: spans, topics, fine metrics, profile; of the dead as well."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from dask_blackbox import Run
from scenario_runs import Home, ScenarioRun, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

TOPICS, HEAVY = 2_500, 100_000


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    return run_scenario(home, "dask_events.py", str(home.folder / "store"))


@pytest.fixture(scope="module")
def run(finished: ScenarioRun) -> Run:
    return finished.run


def said_on(run: Run, topic: str) -> list[Any]:
    reported = details(run, "user-event")
    return [each["message"] for each in reported if each["topic"] == topic]


def test_nested_spans_are_recorded_with_their_own_tasks(run: Run) -> None:
    found = {row["name"]: row for row in run.spans.iter_rows(named=True)}

    assert set(found) == {"etl", "etl/load", "default"}
    assert found["etl/load"]["parent"] == found["etl"]["span"]
    assert (found["etl/load"]["tasks"], found["etl/load"]["failed"]) == (5, 0)
    assert (found["etl"]["tasks"], found["etl"]["failed"]) == (1, 1)
    # Starts are of the worker's clock, which Dask corrects by half of a heartbeat's time:
    # on a busy machine, it may put them before what the scheduler did earlier.
    assert found["etl"]["enqueued"] <= found["etl/load"]["enqueued"]
    assert found["etl/load"]["start"] is not None
    assert found["etl/load"]["nbytes"] > 0


def test_a_span_reports_where_its_time_went(run: Run) -> None:
    [*_, last] = [
        reported
        for reported in details(run, "span")
        if reported["name"] == ["etl", "load"]
    ]

    assert last["done"] is True
    assert {"execute", "loaded"} <= {word for each in last["metrics"] for word in each}


def test_topics_of_the_users_are_recorded_however_many(
    finished: ScenarioRun, run: Run
) -> None:
    assert said_on(run, "from-the-driver") == [{"step": 1}]
    assert sorted(said_on(run, "many")) == list(range(TOPICS))
    assert len(said_on(run, "from-a-task")) == 1


def test_what_dask_logs_of_a_client_is_no_message_of_the_user(run: Run) -> None:
    topics = {each["topic"] for each in details(run, "user-event")}

    assert topics == {"from-the-driver", "from-a-task", "many", "heavy"}


def test_a_heavy_message_is_cut_and_reports_it(run: Run) -> None:
    [message] = said_on(run, "heavy")

    assert len(message) < HEAVY / 5
    assert "cut" in message


def test_a_graph_that_was_not_taken_is_recorded_with_what_it_was_to_make(
    run: Run,
) -> None:
    graphs = [each for each in details(run, "graph-failed") if "keys" in each]

    assert [(g["status"], g["keys"], g["wanted"]) for g in graphs] == [
        ("error", ["refused"], 1),
        ("cancelled", ["needs-it"], 1),
    ]


def test_fine_metrics_count_the_work_of_a_worker_that_died(run: Run) -> None:
    last = details(run, "fine-metrics")[-1]["totals"]
    busy = [row for row in last if "busy" in row and row[-2] == "seconds"]

    assert sum(row[-1] for row in busy) >= 2.5


def test_the_profile_holds_what_a_worker_did_that_died(run: Run) -> None:
    trees = [reported["tree"] for reported in details(run, "profile")]

    assert any("busy" in json.dumps(tree) for tree in trees)


def test_the_death_was_recorded(finished: ScenarioRun, run: Run) -> None:
    [died] = [
        row for row in run.workers.iter_rows(named=True) if row["exit_code"] == -9
    ]

    assert died["address"] == finished.reported["victim"]
