"""A store that does not work costs the run neither its result nor its time."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from dask_blackbox import Run
from dask_blackbox.testing import EmbeddedS3
from scenario_runs import Home, ScenarioRun, every_byte, run_scenario

pytestmark = [pytest.mark.processes, pytest.mark.nightly]

ScenarioRuns = dict[str, Future[ScenarioRun]]
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
def finished_runs(
    homes: Callable[[], Home], s3: EmbeddedS3, hole: str, closed: str
) -> Iterator[ScenarioRuns]:
    """Return a run for each trouble; two are in the air at a time."""
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

    def finished(trouble: str) -> ScenarioRun:
        store, environment = troubles[trouble]
        return run_scenario(homes(), "endings.py", store, "fine", code=0, **environment)

    with ThreadPoolExecutor(2) as pilots:
        yield {trouble: pilots.submit(finished, trouble) for trouble in TROUBLES}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_run_continues_and_keeps_its_result(
    finished_runs: ScenarioRuns, trouble: str
) -> None:
    finished = finished_runs[trouble].result()

    assert finished.code == 0
    assert finished.reported["result"] == "the result"
    assert finished.card.state == "succeeded"


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_card_reports_that_it_is_not_recorded_and_why(
    finished_runs: ScenarioRuns, trouble: str
) -> None:
    reported = finished_runs[trouble].result().card.completeness

    assert reported["recorded"] is False
    assert reported["complete"] is False
    assert TROUBLES[trouble] in reported["reason"]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_one_line_reports_it_at_the_start(
    finished_runs: ScenarioRuns, trouble: str
) -> None:
    finished = finished_runs[trouble].result()
    lines = [line for line in finished.errors.splitlines() if line.strip()]

    if trouble == "black hole":  # nobody knows yet whether it will answer
        assert lines == []
        assert finished.reported["running"] == "being recorded"
    else:
        assert len(lines) == 1
        assert lines[0].startswith("this run is not recorded: ")
        assert TROUBLES[trouble] in lines[0]
        assert finished.reported["running"] == "not recorded"


@pytest.mark.parametrize("trouble", TROUBLES)
def test_neither_start_nor_end_waits_longer_than_it_may(
    finished_runs: ScenarioRuns, trouble: str
) -> None:
    finished = finished_runs[trouble].result()

    # What the docs allow is 10 s and 60 s; a retry without end would take more.
    assert finished.reported["started"] < 30
    assert finished.reported["finished"] < 90


@pytest.mark.parametrize("trouble", [t for t in TROUBLES if t not in NEVER_SPOOLED])
def test_what_the_store_did_not_take_is_kept_and_named(
    finished_runs: ScenarioRuns, trouble: str
) -> None:
    finished = finished_runs[trouble].result()
    finished.home.quiet()
    spool = Path(finished.card.links["spool"])

    assert list((spool / "segments").glob("*.seg"))
    assert str(spool) in finished.card.completeness["reason"]
    assert (spool / "report.html").is_file()
    assert [left for left in finished.home.left_over() if "spool" not in left] == []


@pytest.mark.parametrize("trouble", NEVER_SPOOLED)
def test_where_nothing_began_nothing_is_left(
    finished_runs: ScenarioRuns, trouble: str
) -> None:
    finished = finished_runs[trouble].result()
    finished.home.quiet()

    assert finished.home.left_over() == []


def test_no_secret_of_the_store_lies_in_the_spool(finished_runs: ScenarioRuns) -> None:
    kept = every_byte(finished_runs["refused"].result().home.temporary)

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
    finished = run_scenario(homes(), "endings.py", store, "fine", code=1, **environment)
    finished.home.quiet()

    assert error in finished.reported["refused"]
    assert "result" not in finished.reported
    assert [left for left in finished.home.left_over() if "spool" not in left] == []


def test_a_bucket_holds_the_whole_recording(
    homes: Callable[[], Home], s3: EmbeddedS3
) -> None:
    home = homes()
    finished = run_scenario(
        home, "endings.py", f"{s3.url}/a b", "fine", code=0, **s3.environment
    )
    run = Run.open(finished.card.links["recording"], settings=s3.settings)
    names = [name.removeprefix(run.folder) for name in run.store.names(run.folder)]

    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert {
        "card.json", "complete.json", "heartbeat.json", "performance_report.html",
        "report.html", "run.json", "tables/events.parquet", "tables/tasks.parquet",
    } <= set(names)  # fmt: skip
    assert finished.card.links["report"].startswith(s3.endpoint)
    home.quiet()
    assert home.left_over() == []


def test_a_spool_that_cannot_be_written_costs_nothing_while_the_store_works(
    homes: Callable[[], Home],
) -> None:
    finished = run_scenario(
        homes(), "endings.py", "", "fine", DASK_BLACKBOX__SPOOL="/proc/nowhere"
    )

    assert finished.reported["running"] == "being recorded"
    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert len(finished.run.events) > 0
    lines = [line for line in finished.errors.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("the spool cannot be used: ")


def test_a_temporary_folder_with_a_long_name_is_no_trouble(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    long = home.temporary / ("long" * 30)
    long.mkdir()
    finished = run_scenario(home, "endings.py", "", "fine", TMPDIR=str(long))

    assert finished.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
