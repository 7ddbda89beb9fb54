"""The viewer in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from app_server import Served, page_of, served
from browsers import NEEDS_CHROMIUM, a_browser
from conditions import until
from dask_blackbox.layout import RunAddress
from dask_blackbox.serve import api, cards, create_app
from dask_blackbox.testing import (
    EPOCH,
    Fact,
    a_metric,
    a_task,
    a_worker_added,
    an_event,
)
from dask_blackbox.testing.facts import WORKER
from playwright.sync_api import Browser, Page, expect
from stored_runs import Shelf

HOSTILE = "<img src=x onerror='window.owned=1'><script>window.owned=2</script>"

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as browser:
        yield browser


@pytest.fixture
def viewer(shelf: Shelf) -> Iterator[Served]:
    """Return a viewer of the shelf."""
    with served(create_app(shelf.store)) as viewer:
        yield viewer


def test_headlines_and_true_states_come_in_when_rows_are_seen(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    shelf.record("a/b", "run:1", state="failed", headline=HOSTILE)
    shelf.record("weekly", "gone", state="lost")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda rendered: complaints.append(rendered.text))

    page.goto(viewer.url)

    row = page.locator(".runs li", has_text="a/b")
    expect(row.locator(".headline")).to_have_text(HOSTILE)
    expect(row.locator(".run")).to_have_text("run:1")
    expect(row.locator(".took")).to_have_text("3 m 12 s")
    lost = page.locator(".runs li", has_text="weekly")
    expect(lost.locator(".state")).to_have_text(re.compile("lost"))
    assert page.evaluate("window.owned") is None
    assert complaints == []


def test_only_rows_that_are_seen_are_asked_for(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    for n in range(40):
        shelf.record(run_id=f"run-{n:02}", started=1e9 + n)
    page = browser.new_page(viewport={"width": 1400, "height": 400})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(viewer.url)
    newest, oldest = (page.locator(".runs li", has_text=f"run-{n}") for n in (39, "00"))
    expect(newest.locator(".headline")).to_have_text("it succeeded")
    before = sum("/summary" in url for url in asked)
    oldest.scroll_into_view_if_needed()

    expect(oldest.locator(".headline")).to_have_text("it succeeded")
    assert before < 40


def test_choosing_a_state_narrows_the_list(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    shelf.record(run_id="good", state="succeeded")
    shelf.record(run_id="bad", state="failed")
    page = browser.new_page()
    page.goto(viewer.url)

    page.get_by_label("State").select_option("failed")

    expect(page.locator(".runs li")).to_have_count(1)
    expect(page.locator(".runs .run")).to_have_text("bad")


def test_the_script_of_a_report_reaches_neither_the_viewer_nor_the_network(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    at = shelf.record()
    script = (
        "<p id=says></p><script>const say = t => says.textContent += t + ' ';"
        "say(self.origin); fetch('/api/runs').then(() => say('reached'),"
        " () => say('refused'))</script>"
    )
    shelf.store.put(f"{at.folder}report.html", script.encode())
    page = browser.new_page()

    page.goto(f"{viewer.url}{page_of(at)}/report.html")

    expect(page.locator("#says")).to_have_text("null refused")


@pytest.fixture
def looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the viewer look at running runs more often than every few seconds."""
    monkeypatch.setattr(api, "_EVERY", 0.1)
    monkeypatch.setattr(cards, "_KEPT_FOR", {"running": 0.1, "lost": 0.1})


def recorded_so_far(shelf: Shelf, *facts: Fact, began: float) -> RunAddress:
    """Record what a run has done until now, of which one task of four is left."""
    at = began - EPOCH
    new = {"load": {"tasks": 4, "roots": 4, "dependencies": {}}}
    return shelf.record(
        "nightly",
        "run-1",
        an_event("recording-started", at=at),
        a_worker_added(at=at + 1),
        an_event("graph-updated", "Client-1", at=at + 2, tasks=4, new=new),
        *(a_task(f"load-{n}", start=at + 3 + n, compute=1.0) for n in range(3)),
        *(a_metric(at=each, cpu=2.0) for each in range(int(at) + 9, int(at) + 199, 9)),
        *facts,
        started=began,
        state="running",
    )


def a_wait(line: str, *, at: float, lasted: float) -> Fact:
    """Return that the last task stands still at a line."""
    running = {
        "key": "load-4", "prefix": "load", "worker": WORKER, "executing_for": lasted,
    }  # fmt: skip
    stack = [
        f'  File "/jobs/nightly.py", line {line}\n',
        '  File "/usr/lib/python3.12/threading.py", line 3, in acquire\n\twaiter.acquire()\n',
    ]
    return an_event(
        "stall",
        at=at - EPOCH,
        lasted=lasted,
        workers=1,
        statuses={"running": 1},
        states={"processing": 1},
        processing=[running],
        answers={WORKER: {"stacks": {"load-4": stack}, "tasks": {}}},
    )


def text_of(page: Page) -> tuple[str, str]:
    """Return the title of a page and all that can be read on it."""
    return page.title(), page.locator("main").inner_text()


def _show_the_same(page: Page, newer: Page) -> None:
    until(
        lambda: text_of(page) == text_of(newer),
        "the page as it is when it is loaded now",
        describe=lambda: f"{text_of(page)}\n{text_of(newer)}",
    )


@pytest.mark.usefixtures("looked_at_often")
def test_all_of_the_page_of_a_running_run_is_of_one_moment(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    began = time.time() - 210
    at = recorded_so_far(shelf, began=began)
    page = browser.new_page()
    page.goto(f"{viewer.url}{page_of(at)}")
    expect(page.locator("h1")).to_contain_text("3 of 4 tasks done")
    page.evaluate("document.querySelector('#complete').marked = true")

    for line, code in (("5, in load", "lock.acquire()"), ("9, in load", "inbox.get()")):
        stands = a_wait(f"{line}\n\t{code}", at=began + 200, lasted=190)
        recorded_so_far(shelf, stands, began=began)

        place = f"nightly.py:{line[0]}"
        expect(page.locator("h1")).to_contain_text(f"waits at {place}")
        expect(page.locator("#now")).to_contain_text(f"the call at {place} ({code})")
        expect(page.locator("#now .evidence")).to_contain_text(code)
        newer = browser.new_page()
        newer.goto(f"{viewer.url}{page_of(at)}")
        _show_the_same(page, newer)
        newer.close()
    # What has not changed is left alone, with what somebody has selected there.
    assert page.evaluate("document.querySelector('#complete').marked")
    page.close()  # the server waits for whoever follows a run


@pytest.mark.usefixtures("looked_at_often")
def test_a_running_row_says_for_how_long_beside_what(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    recorded_so_far(shelf, began=time.time() - 210)
    page = browser.new_page()
    page.goto(viewer.url)
    row = page.locator(".runs li")
    expect(row.locator(".took")).to_have_text(re.compile("^3 m"))

    began = time.time() - 270
    stands = a_wait("5, in load\n\tlock.acquire()", at=began + 260, lasted=250)
    recorded_so_far(shelf, stands, began=began)

    expect(row.locator(".headline")).to_contain_text("waits at nightly.py:5")
    expect(row.locator(".took")).to_have_text(re.compile("^4 m"))
    page.close()


@pytest.mark.usefixtures("looked_at_often")
def test_the_job_of_a_run_that_waits_says_so_on_the_first_page(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    began = time.time() - 210
    recorded_so_far(shelf, began=began)
    shelf.record("weekly", "gone", state="lost")
    page = browser.new_page()
    page.goto(viewer.url)
    job = page.locator(".jobs tbody tr", has_text="nightly")
    lost = page.locator(".jobs tbody tr", has_text="weekly")
    expect(job.locator("[data-summary] .state")).to_have_text(re.compile("running"))
    expect(lost.locator("[data-summary] .state")).to_have_text(re.compile("lost"))

    stands = a_wait("5, in load\n\tinbox.get()", at=began + 200, lasted=190)
    recorded_so_far(shelf, stands, began=began)

    expect(job.locator(".headline")).to_contain_text("waits at nightly.py:5")
    page.close()


def test_code_in_a_headline_is_code_in_the_list(
    shelf: Shelf, viewer: Served, browser: Browser
) -> None:
    shelf.record(state="failed", headline="set `no-workers-timeout` for `<b>`; 1` left")
    page = browser.new_page()

    page.goto(viewer.url)

    headline = page.locator(".runs .headline")
    expect(headline).to_have_text("set no-workers-timeout for <b>; 1` left")
    expect(headline.locator("code")).to_have_text(["no-workers-timeout", "<b>"])
