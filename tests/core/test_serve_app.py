"""The viewer, asked over a real connection."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import dask.config
import msgspec
import pytest
from app_server import Served, page_of, served
from conditions import scaled
from dask_blackbox.card import RunCard
from dask_blackbox.errors import StoreUnreachableError
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import Heartbeat, Progress
from dask_blackbox.reader.earlier_runs import put_sketch
from dask_blackbox.serve import create_app
from dask_blackbox.serve.app import RequestTimeoutProtocol
from dask_blackbox.sketch import Fingerprint, Sketch
from dask_blackbox.store import MemoryStore, Store
from dask_blackbox.testing import a_log, a_task, a_worker_added, an_event
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from sketches import DAY, FIRST, a_night
from stored_runs import Shelf

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


def test_a_state_that_does_not_exist_is_reported(shelf: Shelf, ask: Served) -> None:
    shelf.record()

    page, answer = ask("/?state=zzz"), ask("/api/runs?state=zzz")

    assert (page.status, answer.status) == (400, 400)
    assert "there is no state" in page.text


def test_an_empty_store_reports_how_to_fill_it(ask: Served) -> None:
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
    assert "How this run ended is unknown" in ask(page_of(lost)).text
    assert "This run is in progress" in ask(page_of(running)).text


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
    for rendered in (
        "Worker alice ran out of memory",
        "Give it 11.4 GiB",
        "00:16:40.000",
    ):
        assert rendered in page


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
    reported = ask(f"{here}/files/run.json")

    assert "tables/workers.parquet" in listing
    assert reported.headers["content-type"] == "application/json"
    assert reported.headers["content-security-policy"].startswith("sandbox")
    assert json.loads(reported.text)["job"] == "nightly"


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
    assert "Not found" in answer.text


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
    assert "--since &#39;soon&#39; is not a time" in nonsense


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
    with served(create_app(shelf.store, hosts=["localhost"])) as ask:
        assert ask("/").status == 200
        assert ask("/", Host="rebound.example.com").status == 400


class BrokenStore(MemoryStore):
    """A store that nothing answers for."""

    def names(self, *args: Any, **options: Any) -> Any:
        raise StoreUnreachableError("nothing answers at http://s3.example.com")


def test_head_is_answered_like_get_without_a_body(shelf: Shelf, ask: Served) -> None:
    at = shelf.record("nightly", "run-1", state="failed")

    for path in ("/", page_of(at), "/api/runs", "/static/viewer.css"):
        whole, head = ask(path), ask(path, method="HEAD")
        assert head.status == whole.status == 200
        assert head.text == ""
        assert head.headers["content-length"] == whole.headers["content-length"]
        assert head.headers["content-type"] == whole.headers["content-type"]
    assert ask("/runs/nothing/of/1", method="HEAD").status == 404


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
        b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHo",
    ],
    ids=["nothing", "half a head", "half a body", "one and a half"],
)
def test_a_request_that_does_not_arrive_completely_is_closed(
    shelf: Shelf, sent: bytes
) -> None:
    with served(create_app(shelf.store), _VeryImpatient) as viewer:
        host, port = viewer.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=scaled(60)) as line:
            line.sendall(sent)
            while line.recv(65_536):  # until it is closed; else this times out
                pass

        assert viewer("/").status == 200


class _VeryImpatient(RequestTimeoutProtocol):
    request_timeout = 0.05


def test_a_failing_store_is_reported_and_not_raised() -> None:
    store: Store = BrokenStore()
    with served(create_app(store)) as ask:
        answer = ask("/")

    assert answer.status == 502
    assert "nothing answers at http://s3.example.com" in answer.text
    assert "Traceback" not in answer.text


def a_sketched_run(shelf: Shelf, run_id: str, **reported: Any) -> RunAddress:
    """Record a run that has left its sketch, as each does when it ends."""
    state = reported.get("state", "succeeded")
    started = reported.setdefault("started", 1e9)
    at = shelf.record("nightly", run_id, state=state, started=started)
    put_sketch(
        shelf.store,
        Sketch(job="nightly", run_id=run_id, **{"state": state, **reported}),
    )
    return at


def three_sketched_runs(shelf: Shelf) -> None:
    a_sketched_run(
        shelf, "run-1", started=1e9, duration=60.0, facts={"package/workers": {"pandas": "2.2.0"}}
    )  # fmt: skip
    a_sketched_run(
        shelf, "run-2", started=1e9 + 86_400, duration=65.0, facts={"package/workers": {"pandas": "2.3.0"}}
    )  # fmt: skip
    a_sketched_run(
        shelf, "run-3", started=1e9 + 2 * 86_400, duration=30.0, state="failed",
        verdict="worker-memory-limit", title=f"Workers died {EVIL}",
        fingerprint=Fingerprint(id="abcdef012345", basis="memory in join"),
        facts={"package/workers": {"pandas": "2.3.0"}},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("verdict=worker-memory-limit", ["run-3"]),
        ("text=PANDAS+2.3.0", ["run-3", "run-2"]),
        ("text=memory+join", ["run-3"]),
        ("since=2001-09-10&until=2001-09-11", ["run-2"]),
        ("state=succeeded&text=pandas", ["run-2", "run-1"]),
        ("text=no+such+words", []),
        ("until=2001-09-10&limit=1", ["run-1"]),
    ],
)
def test_runs_are_found_by_what_their_sketches_say(
    shelf: Shelf, ask: Served, question: str, expected: list[str]
) -> None:
    three_sketched_runs(shelf)

    found = json.loads(ask(f"/api/search?{question}").text)
    page = ask(f"/?{question}")

    assert [run["run"] for run in found["runs"]] == expected
    assert page.status == 200
    assert "Searched" in page.text
    assert [
        name for name in ("run-3", "run-2", "run-1") if name in page.text
    ] == expected


def test_pages_of_a_search_follow_on_each_other(shelf: Shelf, ask: Served) -> None:
    three_sketched_runs(shelf)

    first = json.loads(ask("/api/search?text=pandas&limit=2").text)
    rest = json.loads(ask(f"/api/search?text=pandas&until={moment_of(first)}").text)

    assert [run["run"] for run in first["runs"]] == ["run-3", "run-2"]
    assert [run["run"] for run in rest["runs"]] == ["run-1"]
    assert rest["older"] is None


def moment_of(page: dict[str, Any]) -> str:
    return quote(datetime.fromtimestamp(page["older"], UTC).isoformat())


def test_a_moment_that_is_none_is_reported(ask: Served) -> None:
    assert ask("/api/search?since=yesteryear").status == 400


def test_the_page_of_a_job_shows_its_runs_its_failures_and_what_changed(
    shelf: Shelf, ask: Served
) -> None:
    three_sketched_runs(shelf)

    page = ask("/jobs/nightly")

    assert page.status == 200
    assert page.text.count("<circle") == 3
    assert "package pandas: 2.2.0 → 2.3.0" in page.text
    assert EVIL not in page.text
    assert json.loads(ask("/api/jobs/nightly").text)["total"] == 3
    assert ask("/jobs/other").status == 404


def test_the_chart_of_a_job_has_dates_and_values_and_the_height_of_good_runs(
    shelf: Shelf, ask: Served
) -> None:
    for n, seconds in enumerate([60.0, 80.0, 70.0]):
        put_sketch(shelf.store, a_night(n, duration=seconds))
    put_sketch(shelf.store, a_night(3, duration=90_000.0, state="aborted"))

    page = ask("/jobs/nightly").text

    assert "<small>up to 1 m 20 s</small>" in page
    assert re.search(r'text-anchor="end">40 s</text>', page)
    first, last = (
        f"{datetime.fromtimestamp(each, UTC):%Y-%m-%d}"
        for each in (FIRST, FIRST + 3 * DAY)
    )
    assert f">{first}</text>" in page
    assert f">{last}</text>" in page
    tops = re.findall(r'<circle class="aborted" cx="[\d.]+" cy="([\d.]+)"', page)
    assert tops
    assert all(float(y) >= 6 for y in tops)


def test_the_page_of_a_job_says_since_when_it_is_slower(
    shelf: Shelf, ask: Served
) -> None:
    for n, seconds in enumerate([60.0] * 8 + [96.0] * 5):
        put_sketch(shelf.store, a_night(n, duration=seconds))

    assert "1.6 times as much since 2026-" in ask("/jobs/nightly").text


def test_pages_show_costs_and_what_other_sizes_take_where_prices_are_set(
    shelf: Shelf, ask: Served
) -> None:
    numbers = {"thread_seconds": 7200.0, "compute_seconds": 1800.0}
    put_sketch(shelf.store, a_night(0, numbers=numbers))
    put_sketch(shelf.store, a_night(1, numbers=numbers))
    tasks = [a_task(f"load-{n}", start=1.0 + n, last_input="") for n in range(8)]
    graph = an_event("graph-updated", "Client-1", at=1.0, new={"load": [8, 8]})
    shelf.record("weekly", "run-1", a_worker_added(at=0.0, nthreads=1), graph, *tasks)

    assert "Cost" not in ask("/jobs/nightly").text
    with dask.config.set({"blackbox.price.core-hour": 0.5}):
        job = ask("/jobs/nightly").text
        sizes = ask("/runs/weekly/run-1/1/sizes").text

    assert "<td>1.00 USD</td>" in job
    assert "The newest 2 runs cost 2.00 USD, of which 1.50 USD" in job
    assert "as recorded" in sizes
    assert "Costs" in sizes
    assert "/runs/weekly/run-1/1/sizes" in ask("/runs/weekly/run-1/1").text


def test_two_runs_are_compared(shelf: Shelf, ask: Served) -> None:
    three_sketched_runs(shelf)
    for at in list(shelf.store.names("runs/")):
        shelf.store.delete(at)  # sketches outlive recordings

    reported = ask("/compare?before=nightly/run-1&after=nightly/run-3")
    answer = json.loads(
        ask("/api/compare?before=nightly/run-1&after=nightly/run-3").text
    )

    assert reported.status == 200
    assert "2.2.0" in reported.text
    assert EVIL not in reported.text
    assert answer["changes"][0]["what"] == "pandas"
    assert ask("/compare?before=nightly/run-1&after=nightly/none").status == 404
    assert "JOB/RUN/ATTEMPT" in ask("/compare").text


def test_logs_of_all_runs_are_searched(shelf: Shelf, ask: Served) -> None:
    shelf.record("a", "one", a_log("disk full", role="worker", level=40))
    shelf.record("a", "two", a_log("all fine"))
    shelf.record("b", "three", a_log(f"disk {EVIL}", level=40))

    page = ask("/logs?filter=disk").text

    assert "newest 3 runs" in page
    assert "disk full" in page
    assert "all fine" not in page
    assert EVIL not in page
    assert "disk full" not in ask("/logs?filter=disk&job=b").text
    assert ask("/logs").status == 200
    assert "No matching line" in ask("/logs?filter=nothing").text


def test_log_lines_of_a_run_are_json_to_a_program(shelf: Shelf, ask: Served) -> None:
    at = shelf.record("a", "one", a_log("disk full", role="worker", level=40))

    answer = json.loads(ask(f"/api{page_of(at)}/logs?level=error").text)

    assert answer["found"] == 1
    assert answer["lines"][0]["message"] == "disk full"
    assert answer["lines"][0]["level"] == "ERROR"


def test_a_live_run_is_followed_until_it_has_ended(shelf: Shelf, ask: Served) -> None:
    at = shelf.record(state="running")
    progress = Progress(submitted=10, done=4, workers=2)
    beat = Heartbeat(at=time.time(), segments=1, progress=progress)
    shelf.store.put(f"{at.folder}heartbeat.json", msgspec.json.encode(beat))

    with urllib.request.urlopen(
        f"{ask.url}/api{page_of(at)}/live", timeout=scaled(60)
    ) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        first = stream.readline(), json.loads(stream.readline().removeprefix(b"data: "))
        shelf.record(state="succeeded")
        rest = stream.read().decode()

    assert first[0] == b"event: progress\n"
    assert first[1]["progress"]["done"] == 4
    assert "event: ended\n" in rest
    assert '"state":"succeeded"' in rest
    assert ask("/api/runs/nightly/none/1/live").status == 404


def test_exports_are_downloads(shelf: Shelf, ask: Served) -> None:
    at = shelf.record()

    picture = ask(f"{page_of(at)}/export/svg")

    assert picture.text.startswith("<svg")
    assert 'filename="nightly-run-1-1.svg"' in picture.headers["content-disposition"]
    assert "sandbox" in picture.headers["content-security-policy"]
    assert ask(f"{page_of(at)}/export/parquet").status == 404
    assert ask(f"{page_of(at)}/export/speedscope").status == 404  # no profile


def test_every_answer_of_the_api_is_described(shelf: Shelf, ask: Served) -> None:
    at = shelf.record()
    token = "what only we know"
    with served(create_app(shelf.store, token=token)) as knowing:
        described = knowing("/openapi.json", Authorization=f"Bearer {token}")
    document = json.loads(described.text)

    paths, schemas = document["paths"], document["components"]["schemas"]
    named = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))
    assert len(paths) == 10
    assert set(named) <= set(schemas)
    assert "headline" in schemas["RunCard"]["properties"]
    reported = paths["/api/runs/{job}/{run}/{attempt}/card"]["get"]["responses"]["200"]
    assert reported["content"]["application/json"]["schema"]["$ref"].endswith(
        "/RunCard"
    )
    card = json.loads(ask(f"/api{page_of(at)}/card").text)
    assert set(card) <= set(schemas["RunCard"]["properties"])


def test_a_host_decides_who_may_look(shelf: Shelf) -> None:
    at = shelf.record()

    async def authenticate(request: Request) -> Response | None:
        known = request.headers.get("authorization") == "Bearer good"
        return None if known else PlainTextResponse("who are you?", status_code=401)

    with served(create_app(shelf.store, authenticate=authenticate)) as viewer:
        for path in (
            "/",
            f"{page_of(at)}/report.html",
            "/api/runs",
            "/static/viewer.js",
        ):
            assert viewer(path).status == 401
            assert viewer(path, Authorization="Bearer good").status == 200
        assert viewer("/").headers["content-security-policy"]
