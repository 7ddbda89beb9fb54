"""The viewer in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from app_server import Served, page_of, served
from browsers import NEEDS_CHROMIUM, a_browser
from dask_blackbox.serve import create_app
from playwright.sync_api import Browser, expect
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
