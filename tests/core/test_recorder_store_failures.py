"""A store that does not work costs the run neither its result nor its time."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from dask_blackbox import Run
from dask_blackbox.testing import EmbeddedS3
from scenario_runs import Flight, Home, every_byte, fly

pytestmark = pytest.mark.nightly

Flights = dict[str, Future[Flight]]
BUCKET = "no-such-bucket"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
# What is wrong: a part of the reason that the card gives.
TROUBLES = {
    "wrong bucket": "there is no bucket",
    "no credentials": "no credentials were found",
    "refused": "Could not connect",
    "black hole": "no answer within",
    "no folder": "No such file or directory",
    "no such kind": "cannot be a store",
    "wrong setting": "capture.interval is 'often'",
    "wrong timeout": "start-timeout is 'soon'",
    "wrong pattern": "not a regular expression",
}
NEVER_SPOOLED = (
    "no such kind", "wrong setting", "wrong timeout", "wrong pattern",
)  # fmt: skip


@pytest.fixture(scope="module")
def hole() -> Iterator[str]:
    """Return the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def closed() -> str:
    """Return the URL of a port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def flights(
    homes: Callable[[], Home], s3: EmbeddedS3, hole: str, closed: str
) -> Iterator[Flights]:
    """Return a flight for each trouble; two are in the air at a time."""
    endpoint = "DASK_BLACKBOX__STORE__ENDPOINT"
    known = s3.environment
    quick = {
        "DASK_BLACKBOX__START_TIMEOUT": "1s",
        "DASK_BLACKBOX__STORE__READ_TIMEOUT": "1s",
        "DASK_BLACKBOX__STORE__CONNECT_TIMEOUT": "1s",
        "DASK_BLACKBOX__STORE__ATTEMPTS": "1",
    }
    secrets = {
        "DASK_BLACKBOX__STORE__SECRET": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }
    troubles: dict[str, tuple[str, dict[str, str]]] = {
        "wrong bucket": (f"s3://{BUCKET}", known),
        "no credentials": (s3.url, {endpoint: s3.endpoint}),
        "refused": (s3.url, known | secrets | {endpoint: closed}),
        "black hole": (s3.url, known | {endpoint: hole} | quick),
        "no folder": ("/proc/nowhere", {}),
        "no such kind": ("gopher://somewhere/else", {}),
        "wrong setting": ("", {"DASK_BLACKBOX__CAPTURE__INTERVAL": "often"}),
        "wrong timeout": ("", {"DASK_BLACKBOX__START_TIMEOUT": "soon"}),
        "wrong pattern": ("", {"DASK_BLACKBOX__REDACT": "['(']"}),
    }

    def flight(trouble: str) -> Flight:
        store, environment = troubles[trouble]
        return fly(homes(), "endings.py", store, "fine", code=0, **environment)

    with ThreadPoolExecutor(2) as pilots:
        yield {trouble: pilots.submit(flight, trouble) for trouble in TROUBLES}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_run_goes_on_and_keeps_its_result(flights: Flights, trouble: str) -> None:
    flight = flights[trouble].result()

    assert flight.code == 0
    assert flight.told["result"] == "the result"
    assert flight.card.state == "succeeded"


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_card_says_that_it_is_not_recorded_and_why(
    flights: Flights, trouble: str
) -> None:
    told = flights[trouble].result().card.completeness

    assert told["recorded"] is False
    assert told["complete"] is False
    assert TROUBLES[trouble] in told["reason"]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_line_says_it_at_the_start(flights: Flights, trouble: str) -> None:
    flight = flights[trouble].result()
    lines = [line for line in flight.errors.splitlines() if line.strip()]

    if trouble == "black hole":  # nobody knows yet whether it will answer
        assert lines == []
        assert flight.told["running"] == "being recorded"
    else:
        assert len(lines) == 1
        assert lines[0].startswith("this run is not recorded: ")
        assert TROUBLES[trouble] in lines[0]
        assert flight.told["running"] == "not recorded"


@pytest.mark.parametrize("trouble", TROUBLES)
def test_neither_start_nor_end_waits_longer_than_it_may(
    flights: Flights, trouble: str
) -> None:
    flight = flights[trouble].result()

    # What the docs allow is 10 s and 60 s; a retry without end would take more.
    assert flight.told["started"] < 30
    assert flight.told["finished"] < 90


@pytest.mark.parametrize("trouble", [t for t in TROUBLES if t not in NEVER_SPOOLED])
def test_what_the_store_did_not_take_is_kept_and_named(
    flights: Flights, trouble: str
) -> None:
    flight = flights[trouble].result()
    flight.home.quiet()
    spool = Path(flight.card.links["spool"])

    assert list((spool / "segments").glob("*.seg"))
    assert str(spool) in flight.card.completeness["reason"]
    assert (spool / "report.html").is_file()
    assert [left for left in flight.home.left_over() if "spool" not in left] == []


@pytest.mark.parametrize("trouble", NEVER_SPOOLED)
def test_where_nothing_began_nothing_is_left(flights: Flights, trouble: str) -> None:
    flight = flights[trouble].result()
    flight.home.quiet()

    assert flight.home.left_over() == []


def test_no_secret_of_the_store_lies_in_the_spool(flights: Flights) -> None:
    kept = every_byte(flights["refused"].result().home.temporary)

    assert b"driver-attached" in kept
    assert SECRET.encode() not in kept


@pytest.mark.parametrize(
    ("store", "error"),
    [
        (f"s3://{BUCKET}", "there is no bucket"),
        ("gopher://somewhere/else", "cannot be a store"),
        ("/proc/nowhere", "No such file or directory"),
    ],
)
def test_a_run_that_must_be_recorded_does_not_begin(
    homes: Callable[[], Home], s3: EmbeddedS3, store: str, error: str
) -> None:
    environment = s3.environment | {"REQUIRED": "1"}
    flight = fly(homes(), "endings.py", store, "fine", code=1, **environment)
    flight.home.quiet()

    assert error in flight.told["refused"]
    assert "result" not in flight.told
    assert [left for left in flight.home.left_over() if "spool" not in left] == []


def test_a_bucket_holds_the_whole_recording(
    homes: Callable[[], Home], s3: EmbeddedS3
) -> None:
    home = homes()
    flight = fly(home, "endings.py", f"{s3.url}/a b", "fine", code=0, **s3.environment)
    run = Run.open(flight.card.links["recording"], settings=s3.settings)
    names = [name.removeprefix(run.folder) for name in run.store.names(run.folder)]

    assert flight.card.completeness == {"recorded": True, "complete": True}
    assert {
        "card.json", "complete.json", "heartbeat.json", "performance_report.html",
        "report.html", "run.json", "tables/events.parquet", "tables/tasks.parquet",
    } <= set(names)  # fmt: skip
    assert flight.card.links["report"].startswith(s3.endpoint)
    home.quiet()
    assert home.left_over() == []


def test_a_spool_that_cannot_be_written_costs_nothing_while_the_store_works(
    homes: Callable[[], Home],
) -> None:
    flight = fly(
        homes(), "endings.py", "", "fine", DASK_BLACKBOX__SPOOL="/proc/nowhere"
    )

    assert flight.told["running"] == "being recorded"
    assert flight.card.completeness == {"recorded": True, "complete": True}
    assert len(flight.run.events) > 0
    lines = [line for line in flight.errors.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("the spool cannot be used: ")


def test_a_temporary_folder_with_a_long_name_is_no_trouble(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    long = home.temporary / ("long" * 30)
    long.mkdir()
    flight = fly(home, "endings.py", "", "fine", TMPDIR=str(long))

    assert flight.card.completeness == {"recorded": True, "complete": True}
