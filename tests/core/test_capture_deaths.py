"""Every way in which a worker can die, seen in the recording of one cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from dask_blackbox import Run
from scenario_runs import Home, ScenarioRun, messages, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

LINES, BURST = 2_000, 20_000
LIMIT = 320 * 2**20
ENDS = {
    "exit 0": (0, None),
    "exit 3": (3, None),
    "SIGKILL": (-9, "SIGKILL"),
    "SIGSEGV": (-11, "SIGSEGV"),
    "SIGABRT": (-6, "SIGABRT"),
    "SIGTERM from outside": (-15, "SIGTERM"),
    "lines": (-9, "SIGKILL"),
    "prints": (-9, "SIGKILL"),
    "burst": (-9, "SIGKILL"),
    "memory": (-15, "SIGTERM"),
}


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    return run_scenario(home, "deaths.py", str(home.folder / "store"))


@pytest.fixture(scope="module")
def run(finished: ScenarioRun) -> Run:
    return finished.run


def report(run: Run, key: str) -> dict[str, Any]:
    """Return the exit report of the worker that took this task along."""
    [found] = [
        each
        for each in details(run, "worker-exit-report")
        if key in [task["key"] for task in each.get("executing", ())]
    ]
    return found


@pytest.mark.parametrize("end", ENDS)
def test_a_death_has_an_exit_report_with_its_exit_code_and_its_task(
    finished: ScenarioRun, run: Run, end: str
) -> None:
    found = report(run, finished.reported["keys"][end])

    assert (found["exit_code"], found["signal"]) == ENDS[end]
    assert not found["asked_to_close"]
    assert [task["key"] for task in found["executing"]] == [
        finished.reported["keys"][end]
    ]
    assert found["lines_overwritten"] == 0


@pytest.mark.parametrize("end", ENDS)
def test_a_death_is_in_the_life_of_its_worker(
    finished: ScenarioRun, run: Run, end: str
) -> None:
    found = report(run, finished.reported["keys"][end])
    life = run.workers.row(
        by_predicate=(pl.col("address") == found["subject"])
        & (pl.col("pid") == found["pid"]),
        named=True,
    )

    assert life["exit_code"] == ENDS[end][0]
    assert life["joined"] < life["left"]
    assert life["expected"] is False
    assert life["lost"] == 1


@pytest.mark.parametrize("end", ENDS)
def test_a_killed_task_is_recorded_with_its_last_worker(
    finished: ScenarioRun, run: Run, end: str
) -> None:
    key = finished.reported["keys"][end]
    task = run.tasks.row(by_predicate=pl.col("key") == key, named=True)
    error = run.errors.row(by_predicate=pl.col("key") == key, named=True)

    assert task["outcome"] == error["outcome"] == "killed"
    assert error["exception"] == "distributed.scheduler.KilledWorker"
    assert task["worker"] == error["worker"] == report(run, key)["subject"]


@pytest.mark.parametrize("end", ENDS)
def test_an_exit_report_has_the_memory_curve(
    finished: ScenarioRun, run: Run, end: str
) -> None:
    curve = report(run, finished.reported["keys"][end])["memory"]

    assert curve
    assert [at for at, _ in curve] == sorted(at for at, _ in curve)
    assert all(10 * 2**20 < rss < 2 * LIMIT for _, rss in curve)


def test_the_memory_curve_climbs_to_the_limit(finished: ScenarioRun, run: Run) -> None:
    curve = report(run, finished.reported["keys"]["memory"])["memory"]

    assert curve[-1][1] > 0.8 * LIMIT > 0.5 * LIMIT > curve[0][1]
    [restart] = details(run, "worker-restarted-for-memory")
    assert restart["pid"] == report(run, finished.reported["keys"]["memory"])["pid"]


@pytest.mark.parametrize(
    ("end", "function"),
    [
        ("SIGSEGV", "fault"),
        ("SIGABRT", "abort"),
        ("memory", "hoard"),
        ("SIGTERM from outside", "wait_to_be_killed"),
    ],
)
def test_an_exit_report_has_the_python_stack(
    finished: ScenarioRun, run: Run, end: str, function: str
) -> None:
    stack = report(run, finished.reported["keys"][end])["stack"]

    assert f"in {function}" in stack
    assert "deaths.py" in stack


@pytest.mark.parametrize(
    ("mark", "end"), [("numbered", "lines"), ("printed", "prints")]
)
def test_no_line_written_before_sigkill_is_lost(
    finished: ScenarioRun, run: Run, mark: str, end: str
) -> None:
    key = finished.reported["keys"][end]

    assert messages(run.logs.filter(pl.col("key") == key), f"{mark} ") == [
        f"{mark} {i}" for i in range(LINES)
    ]


def test_what_a_burst_of_lines_loses_at_sigkill_is_named(
    finished: ScenarioRun, run: Run
) -> None:
    own = report(run, finished.reported["keys"]["burst"])
    worker = own["subject"]
    # Another worker may have had its port, and so its address, before or after it.
    lines = run.logs.filter(
        (pl.col("source") == worker) & (pl.col("pid") == own["pid"])
    )
    numbers = [int(m.split()[-1]) for m in messages(lines, "burst ")]
    lost = BURST - len(numbers)

    assert numbers == sorted(set(numbers))
    assert numbers[-1] == BURST - 1
    assert lines["seq"].max() - lines.height == lost  # type: ignore[operator]
    assert (lost == 0) == (worker not in finished.card.completeness.get("missing", {}))


def test_what_tasks_print_is_still_printed(finished: ScenarioRun) -> None:
    printed = [line for line in finished.output.splitlines() if "printed" in line]

    assert printed == [f"printed {i}" for i in range(LINES)]


def test_lines_of_one_source_are_counted_without_gaps(
    finished: ScenarioRun, run: Run
) -> None:
    burst = report(run, finished.reported["keys"]["burst"])["subject"]
    counted = run.logs.group_by("source", "pid").agg(
        pl.col("seq").sort(), pl.len().alias("count")
    )

    for source, _, numbers, count in counted.iter_rows():
        if source != burst:
            assert numbers == list(range(1, count + 1)), source


def test_lines_of_all_roles_are_recorded(run: Run) -> None:
    roles = run.logs.group_by("role").agg(pl.col("logger").unique())
    loggers = dict(roles.iter_rows())

    assert set(loggers) >= {"scheduler", "worker", "nanny"}
    assert "distributed.scheduler" in loggers["scheduler"]
    assert {"job.numbers", "stdout", "distributed.core"} <= set(loggers["worker"])
    assert {"distributed.nanny", "distributed.nanny.memory"} <= set(loggers["nanny"])


def test_retirement_and_clean_shutdown_are_no_deaths(
    finished: ScenarioRun, run: Run
) -> None:
    retired, closed = finished.reported["peaceful"]
    lives = {life["address"]: life for life in run.workers.iter_rows(named=True)}

    assert lives[retired]["expected"] is True
    assert lives[closed]["closing"] == "nanny-close"
    assert finished.card.numbers["deaths"] == len(ENDS)


def test_a_run_that_survived_its_deaths_has_succeeded(finished: ScenarioRun) -> None:
    assert finished.card.state == "succeeded"
    assert finished.card.verdict is None
    assert "workers-died" in [finding.rule for finding in finished.card.findings]


def test_nothing_is_left_behind(finished: ScenarioRun) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []
