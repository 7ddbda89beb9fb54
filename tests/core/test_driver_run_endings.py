"""However a driver ends: its end stays its own, and the recording tells of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from dask_blackbox import Run
from scenario_runs import Flight, Home, fly
from stored_events import details

Flights = dict[str, Future[Flight]]
ENDS = {
    # how it ends: its exit code, the state, the exception, the exit code told
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


@pytest.fixture(scope="module")
def flights(homes: Callable[[], Home]) -> Iterator[Flights]:
    """Return a flight for each end; two are in the air at a time."""

    def flight(how: str) -> Flight:
        # No store is given: a folder of the user's is the default.
        return fly(homes(), "endings.py", "", how, code=None)

    with ThreadPoolExecutor(2) as pilots:
        yield {how: pilots.submit(flight, how) for how in ENDS}


def recording_of(flight: Flight) -> Run:
    """Return the one recording in the user's default folder, as soon as it is final."""
    flight.home.quiet()
    [folder] = (flight.home.data / "dask-blackbox").glob("runs/*/*/*/")
    return Run.open(folder)


@pytest.mark.parametrize("how", ENDS)
def test_the_driver_ends_as_it_would_have(flights: Flights, how: str) -> None:
    flight = flights[how].result()

    assert flight.code == ENDS[how][0]
    assert flight.told.get("result") == ("the result" if how == "fine" else None)
    # Tracebacks name files of this checkout, whatever its folder is called.
    assert "dask-blackbox" not in flight.errors.replace(CHECKOUT, "")


@pytest.mark.parametrize("how", ENDS)
def test_the_recording_says_how_the_driver_ended(flights: Flights, how: str) -> None:
    run = recording_of(flights[how].result())
    _, state, exception, exit_code = ENDS[how]

    assert run.state == state
    assert run.ending is not None
    assert run.ending.exit_code == exit_code
    told = run.ending.exception
    assert (told.exception if told else None) == exception


@pytest.mark.parametrize("how", [how for how in ENDS if how not in KILLED])
def test_the_driver_holds_the_card(flights: Flights, how: str) -> None:
    flight = flights[how].result()

    assert flight.card.state == ENDS[how][1]
    assert flight.card.completeness == {"recorded": True, "complete": True}
    assert flight.told["running"] == "being recorded"
    links = dict(flight.card.links)
    assert ("finding" in links) == (flight.card.verdict is not None)
    links.pop("finding", None)  # known at the end
    assert flight.told["links"] == links


@pytest.mark.parametrize("how", KILLED)
def test_a_driver_that_is_killed_leaves_a_final_recording(
    flights: Flights, how: str
) -> None:
    run = recording_of(flights[how].result())
    card = run.store.get(f"{run.folder}card.json")

    assert b'"aborted"' in card
    assert [each["pid"] for each in details(run, "driver-lost")] == [
        each["pid"] for each in details(run, "driver-attached")
    ]


def test_what_cannot_be_told_is_told_as_far_as_it_can(flights: Flights) -> None:
    ending = recording_of(flights["untellable"].result()).ending
    strange = recording_of(flights["surrogate"].result()).ending

    assert ending is not None
    assert ending.exception is not None
    assert ending.exception.message.startswith("<its text cannot be rendered")
    assert strange is not None
    assert strange.exception is not None
    assert strange.exception.message == "not \\udcff text"


def test_parameters_of_any_shape_are_recorded(flights: Flights) -> None:
    [driver] = details(recording_of(flights["fine"].result()), "driver-attached")

    assert driver["parameters"]["how"] == "fine"
    assert list(driver["parameters"]["odd"]) == ["('a', 1)"]
    assert "circle" in driver["parameters"]


def test_the_default_store_is_a_folder_of_the_users(flights: Flights) -> None:
    flight = flights["fine"].result()

    assert flight.card.links["recording"].startswith(str(flight.home.data))
    assert (flight.card.job, flight.card.run_id) == ("endings", "fine")


@pytest.mark.parametrize("how", ENDS)
def test_nothing_is_left_behind(flights: Flights, how: str) -> None:
    flight = flights[how].result()
    flight.home.quiet()

    assert flight.home.left_over() == []


def test_a_run_that_is_recorded_again_is_the_next_attempt(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    first, second = (fly(home, "endings.py", "", "fine").card for _ in range(2))

    assert (first.attempt, second.attempt) == (1, 2)
    assert Run.open(first.links["recording"]).manifest.attempt == 1
    assert Run.open(second.links["recording"]).manifest.attempt == 2


def test_identity_comes_from_the_host_in_the_environment(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    card = fly(
        home,
        "plain.py",
        AIRFLOW_CTX_DAG_ID="nightly",
        AIRFLOW_CTX_TASK_ID="load",
        AIRFLOW_CTX_DAG_RUN_ID="manual__1",
        AIRFLOW_CTX_TRY_NUMBER="3",
    ).card

    assert (card.job, card.run_id, card.attempt) == ("nightly.load", "manual__1", 3)
