"""However a driver ends: its end stays its own, and the recording tells of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from dask_blackbox import Run
from scenario_runs import Home, ScenarioRun, run_scenario
from stored_events import details

pytestmark = pytest.mark.processes

ScenarioRuns = Callable[[str], ScenarioRun]
ENDS = {
    # how it ends: its exit code, the state, the exception, the exit code reported
    "fine": (0, "succeeded", None, None),
    "raise": (1, "failed", "LookupError", None),
    "untellable": (1, "failed", "__main__.UntellableError", None),
    "surrogate": (1, "failed", "ValueError", None),
    "interrupt": (-2, "aborted", "KeyboardInterrupt", None),
    "exit-0": (0, "succeeded", None, 0),
    "exit-none": (0, "succeeded", None, 0),
    "exit-3": (3, "failed", None, 3),
    "exit-text": (1, "failed", "SystemExit", 1),
    "sigkill": (-9, "aborted", None, -9),
    "sigterm": (-15, "aborted", None, -15),
}
CHECKOUT = str(Path(__file__).parents[2])
KILLED = ("sigkill", "sigterm")
NIGHTLY_ENDS = ("untellable", "surrogate", "exit-0", "exit-none", "exit-text")


def ends(*without: str) -> list[ParameterSet]:
    """Return the ends as parameters, but some."""
    return [
        pytest.param(each, marks=[pytest.mark.nightly] * (each in NIGHTLY_ENDS))
        for each in ENDS
        if each not in without
    ]


@pytest.fixture(scope="module")
def finished_runs(homes: Callable[[], Home]) -> ScenarioRuns:
    """Return what runs a driver that ends in a way, once."""

    @cache
    def finished(how: str) -> ScenarioRun:
        # No store is given: a folder of the user's is the default.
        return run_scenario(homes(), "endings.py", "", how, code=None)

    return finished


def recording_of(finished: ScenarioRun) -> Run:
    """Return the one recording in the user's default folder, as soon as it is final."""
    finished.home.quiet()
    [folder] = (finished.home.data / "dask-blackbox").glob("runs/*/*/*/")
    return Run.open(folder)


@pytest.mark.parametrize("how", ends())
def test_the_driver_ends_as_it_would_have(
    finished_runs: ScenarioRuns, how: str
) -> None:
    finished = finished_runs(how)

    assert finished.code == ENDS[how][0]
    assert finished.reported.get("result") == ("the result" if how == "fine" else None)
    # Tracebacks name files of this checkout, whatever its folder is called.
    assert "dask-blackbox" not in finished.errors.replace(CHECKOUT, "")


@pytest.mark.parametrize("how", ends())
def test_the_recording_reports_how_the_driver_ended(
    finished_runs: ScenarioRuns, how: str
) -> None:
    run = recording_of(finished_runs(how))
    _, state, exception, exit_code = ENDS[how]

    assert run.state == state
    assert run.ending is not None
    assert run.ending.exit_code == exit_code
    reported = run.ending.exception
    assert (reported.exception if reported else None) == exception


@pytest.mark.parametrize("how", ends(*KILLED))
def test_the_driver_holds_the_card(finished_runs: ScenarioRuns, how: str) -> None:
    finished = finished_runs(how)

    assert finished.card.state == ENDS[how][1]
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert finished.reported["running"] == "being recorded"
    links = dict(finished.card.links)
    assert ("finding" in links) == (finished.card.verdict is not None)
    links.pop("finding", None)  # known at the end
    assert finished.reported["links"] == links


@pytest.mark.parametrize("how", KILLED)
def test_a_driver_that_is_killed_leaves_a_final_recording(
    finished_runs: ScenarioRuns, how: str
) -> None:
    run = recording_of(finished_runs(how))
    card = run.store.get(f"{run.folder}card.json")

    assert b'"aborted"' in card
    assert [each["pid"] for each in details(run, "driver-lost")] == [
        each["pid"] for each in details(run, "driver-attached")
    ]


@pytest.mark.nightly
def test_what_cannot_be_reported_is_reported_as_far_as_it_can(
    finished_runs: ScenarioRuns,
) -> None:
    ending = recording_of(finished_runs("untellable")).ending
    strange = recording_of(finished_runs("surrogate")).ending

    assert ending is not None
    assert ending.exception is not None
    assert ending.exception.message.startswith("<its text cannot be rendered")
    assert strange is not None
    assert strange.exception is not None
    assert strange.exception.message == "not \\udcff text"


def test_parameters_of_any_shape_are_recorded(finished_runs: ScenarioRuns) -> None:
    [driver] = details(recording_of(finished_runs("fine")), "driver-attached")

    assert driver["parameters"]["how"] == "fine"
    assert list(driver["parameters"]["odd"]) == ["('a', 1)"]
    assert "circle" in driver["parameters"]


def test_the_default_store_is_a_folder_of_the_users(
    finished_runs: ScenarioRuns,
) -> None:
    finished = finished_runs("fine")

    assert finished.card.links["recording"].startswith(str(finished.home.data))
    assert (finished.card.job, finished.card.run_id) == ("endings", "fine")


@pytest.mark.parametrize("how", ends())
def test_nothing_is_left_behind(finished_runs: ScenarioRuns, how: str) -> None:
    finished = finished_runs(how)
    finished.home.quiet()

    assert finished.home.left_over() == []


def test_a_run_that_is_recorded_again_is_the_next_attempt(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    first, second = (
        run_scenario(home, "endings.py", "", "fine").card for _ in range(2)
    )

    assert (first.attempt, second.attempt) == (1, 2)
    assert Run.open(first.links["recording"]).manifest.attempt == 1
    assert Run.open(second.links["recording"]).manifest.attempt == 2


def test_identity_is_read_from_the_hosts_environment(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    card = run_scenario(
        home,
        "plain.py",
        AIRFLOW_CTX_DAG_ID="nightly",
        AIRFLOW_CTX_TASK_ID="load",
        AIRFLOW_CTX_DAG_RUN_ID="manual__1",
        AIRFLOW_CTX_TRY_NUMBER="3",
    ).card

    assert (card.job, card.run_id, card.attempt) == ("nightly.load", "manual__1", 3)


INTERRUPTED = """
import asyncio, os, signal, sys
from dask_blackbox.driver.run_end import end_of

async def work():
    try:
        if sys.argv[1] == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
        else:
            asyncio.current_task().cancel()
        await asyncio.sleep(60)
    except asyncio.CancelledError as error:
        end = end_of(error, None)
        print(end.state, end.exception.exception)
        raise

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    asyncio.run(work())
except (asyncio.CancelledError, KeyboardInterrupt):
    pass
"""


@pytest.mark.parametrize(
    ("how", "end"),
    [
        ("interrupted", ["aborted", "KeyboardInterrupt"]),
        ("cancelled", ["failed", "asyncio.exceptions.CancelledError"]),
    ],
)
def test_an_interrupt_that_asyncio_made_a_cancellation_of_is_one(
    how: str, end: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, how],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == end
