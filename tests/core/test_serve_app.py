"""The viewer, asked over a real connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from dask_blackbox.attach import RunCard
from dask_blackbox.errors import StoreUnreachableError
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.serve import create_app
from dask_blackbox.store import MemoryStore, Store
from dask_blackbox.testing import a_log
from fastapi import FastAPI
from serving import Served, page_of, served
from shelving import Shelf

EVIL = "<script>alert('x')</script>"


@pytest.fixture
def ask(shelf: Shelf) -> Iterator[Served]:
    """Return a viewer of the shelf, to be asked."""
    with served(create_app(shelf.store)) as viewer:
        yield viewer


def test_the_first_page_lists_the_runs_newest_first(shelf: Shelf, ask: Served) -> None:
    shelf.record("nightly", "run-1", started=1000.0, state="failed")
    shelf.record("weekly", "run-2", started=2000.0, state="running")

    page = ask("/")

    assert page.status == 200
    assert page.text.index("weekly") < page.text.index("nightly")
    assert "running</span>" in page.text
    assert "failed</span>" in page.text


def test_the_list_narrows_to_a_job_and_a_state(shelf: Shelf, ask: Served) -> None:
    shelf.record("a/b", "run-1", state="failed")
    shelf.record("a/b", "run-2", state="succeeded")
    shelf.record("other", "run-3", state="failed")

    page = ask(f"/?job={quote('a/b', safe='')}&state=failed").text

    assert "run-1" in page
    assert "run-2" not in page
    assert "run-3" not in page


def test_an_empty_store_says_how_to_fill_it(ask: Served) -> None:
    assert "dask blackbox run --store" in ask("/").text


def test_a_summary_has_the_names_as_they_were_given(shelf: Shelf, ask: Served) -> None:
    at = shelf.record("a/b", "scheduled__2026-11-21T00:00:00+00:00", headline="fine")

    answer = ask(f"/api{page_of(at)}/summary")

    assert json.loads(answer.text) == {
        "job": "a/b",
        "run": "scheduled__2026-11-21T00:00:00+00:00",
        "state": "succeeded",
        "headline": "fine",
        "cause": None,
        "duration": "3 m 12 s",
    }


def test_a_lost_run_is_shown_as_lost_and_a_running_one_as_running(
    shelf: Shelf, ask: Served
) -> None:
    lost = shelf.record("nightly", "gone", state="lost")
    running = shelf.record("nightly", "at-work", state="running")

    states = [
        json.loads(ask(f"/api{page_of(at)}/summary").text)["state"]
        for at in (lost, running)
    ]

    assert states == ["lost", "running"]
    assert "Nobody was left to say" in ask(page_of(lost)).text
    assert "This run goes on" in ask(page_of(running)).text


def test_the_page_of_a_run_leads_with_why_and_what_to_do(
    shelf: Shelf, ask: Served
) -> None:
    verdict = Finding(
        rule="worker-memory-limit",
        title="Worker alice ran out of memory",
        cause=f"It held {EVIL}",
        severity="failure",
        confidence="high",
        remedy="Give it 11.4 GiB",
        retry_advice="memory",
        evidence=(Evidence(text=EVIL, source="logs", at=1000.0),),
    )
    at = shelf.record(state="failed", verdict=verdict, headline=EVIL)

    page = ask(page_of(at)).text

    assert EVIL not in page
    assert "&lt;script&gt;" in page
    for said in ("Worker alice ran out of memory", "Give it 11.4 GiB", "00:16:40.000"):
        assert said in page


def test_the_card_is_the_public_contract(shelf: Shelf, ask: Served) -> None:
    at = shelf.record(headline="fine")

    answer = ask(f"/api{page_of(at)}/card")

    assert answer.headers["content-type"] == "application/json"
    assert RunCard.from_json(answer.text).headline == "fine"


def test_a_report_is_a_stranger_and_sits_in_a_sandbox(
    shelf: Shelf, ask: Served
) -> None:
    at = shelf.record()

    answer = ask(f"{page_of(at)}/report.html")

    assert "the report" in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy


def test_the_report_of_a_lost_run_is_made_from_its_segments(
    shelf: Shelf, ask: Served
) -> None:
    at = shelf.record("nightly", "gone", state="lost")

    answer = ask(f"{page_of(at)}/report.html")

    assert answer.status == 200
    assert "nightly" in answer.text
    assert answer.headers["content-security-policy"].startswith("sandbox")


def test_files_are_listed_and_sent_as_what_they_are(shelf: Shelf, ask: Served) -> None:
    at = shelf.record()
    here = page_of(at)

    listing = ask(f"{here}/files").text
    told = ask(f"{here}/files/run.json")

    assert "tables/workers.parquet" in listing
    assert told.headers["content-type"] == "application/json"
    assert told.headers["content-security-policy"].startswith("sandbox")
    assert json.loads(told.text)["job"] == "nightly"


@pytest.mark.parametrize(
    "climbing",
    [
        "../../../../../index",
        "..%2f..%2f..%2f..%2frun.json",
        "%2e%2e/%2e%2e/attempt=2/run.json",
        "/etc/passwd",
        "segments//run.json",
        ".",
        "nothing.json",
    ],
)
def test_no_name_climbs_out_of_a_run(shelf: Shelf, ask: Served, climbing: str) -> None:
    at = shelf.record()
    shelf.record(attempt=2)

    assert ask(f"{page_of(at)}/files/{climbing}").status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/nobody/knows/1", 404),
        ("/runs/nobody/knows/1/logs", 404),
        ("/runs/nobody/knows/1/files", 404),
        ("/runs/nobody/knows/1/report.html", 404),
        ("/runs/../../1", 404),
        ("/nowhere", 404),
    ],
)
def test_what_is_not_there_has_a_page_that_says_so(
    ask: Served, path: str, status: int
) -> None:
    answer = ask(path)

    assert answer.status == status
    assert "Nothing here" in answer.text


def test_what_is_not_there_is_json_to_a_program(ask: Served) -> None:
    answer = ask("/api/runs/nobody/knows/1/card")

    assert answer.status == 404
    assert "nobody" in json.loads(answer.text)["error"]


def test_logs_are_searched(shelf: Shelf, ask: Served) -> None:
    quiet, loud = a_log(f"quiet {EVIL}", at=1), a_log("loud", at=2, level=40)
    at = shelf.record("nightly", "run-1", quiet, loud)
    here = f"{page_of(at)}/logs"

    everything = ask(here).text
    grave = ask(f"{here}?level=ERROR").text
    nothing = ask(f"{here}?filter=nowhere").text
    nonsense = ask(f"{here}?since=soon").text

    assert "loud" in everything
    assert "quiet &lt;script&gt;" in everything
    assert "quiet" not in grave
    assert "2 lines are recorded; none of them match" in nothing
    assert "--since soon is no time" in nonsense


def test_our_own_pages_load_nothing_from_elsewhere(shelf: Shelf, ask: Served) -> None:
    shelf.record()

    page = ask("/")

    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "http://" not in page.text
    assert "https://" not in page.text


def test_it_can_be_mounted_below_a_path(shelf: Shelf) -> None:
    at = shelf.record()
    host = FastAPI()
    host.mount("/blackbox", create_app(shelf.store))

    with served(host) as ask:
        listing = ask("/blackbox/").text
        card = ask(f"/blackbox{page_of(at)}").text
        style = ask("/blackbox/static/viewer.css")
        missing = ask("/blackbox/api/runs/a/b/1/card")

    assert f'href="/blackbox{page_of(at)}"' in listing
    assert f'href="/blackbox{page_of(at)}/report.html"' in card
    assert style.status == 200
    assert "error" in json.loads(missing.text)


def test_it_answers_to_its_own_names_only(shelf: Shelf) -> None:
    with served(create_app(shelf.store, hosts=["127.0.0.1"])) as ask:
        assert ask("/").status == 200
        assert ask("/", Host="rebound.example.com").status == 400


class BrokenStore(MemoryStore):
    """A store that nothing answers for."""

    def names(self, *args: Any, **options: Any) -> Any:
        raise StoreUnreachableError("nothing answers at http://s3.example.com")


def test_a_store_that_fails_is_said_not_thrown() -> None:
    store: Store = BrokenStore()
    with served(create_app(store)) as ask:
        answer = ask("/")

    assert answer.status == 502
    assert "nothing answers at http://s3.example.com" in answer.text
    assert "Traceback" not in answer.text
