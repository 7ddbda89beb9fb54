"""Both pages in a real browser, without a network, with a run that wants to run script."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from building import (
    LIMIT,
    MIB,
    a_death,
    a_failed_task,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    failed_with,
)
from dask_blackbox.attach import card_of
from dask_blackbox.report import html, performance_html
from dask_blackbox.run import RunTables
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = "</script><script>window.owned=1</script><img src='http://127.0.0.1:9/' onerror='window.owned=2'>"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium: apt install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


class Shown:
    """A page that is open, and what it complained about or asked for."""

    def __init__(self, browser: Browser, page: str, folder: Path) -> None:
        file = folder / "page.html"
        file.write_text(page, encoding="utf-8")
        self.page: Page = browser.new_page(viewport={"width": 1400, "height": 900})
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type == "error" else None
            ),
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def assert_harmless(self) -> None:
        assert self.complaints == []
        assert [
            url
            for url in self.requests
            if not url.startswith(("file:", "data:", "blob:"))
        ] == []
        assert self.page.evaluate("window.owned") is None


def a_hostile_run() -> RunTables:
    workers = [a_worker(f"tcp://w{n}", pid=n, name=HOSTILE) for n in (1, 2)]
    return a_run(
        workers,
        a_graph(),
        [a_task(f"load-{n}", start=n, worker=f"tcp://w{n % 2 + 1}") for n in range(2, 9)],
        [a_sample(f"tcp://w{n}", at=at, memory=(100 + 20 * at) * MIB) for n in (1, 2) for at in range(12)],
        a_failed_task(HOSTILE, HOSTILE, HOSTILE, traceback=HOSTILE),
        a_log_line(HOSTILE, at=3),
        a_log_line("needle in the log", at=9, level=20),
        a_death("tcp://w1", exit_code=-9, pid=1, at=12, executing=[HOSTILE], stack=HOSTILE, memory=[(11, 300 * MIB), (12, LIMIT)]),
        failed_with(at=15),
    )  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_the_report_draws_filters_and_zooms(
    browser: Browser, tmp_path: Path, *, dark: bool
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)
    page = shown.page
    if dark:
        page.click("#theme")

    inks = page.evaluate(
        """() => [...document.querySelectorAll('.chart canvas:not(.over)')].map((canvas) => {
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return new Set(new Uint32Array(data.buffer)).size;
        })"""
    )
    assert len(inks) == 5
    assert min(inks) > 3  # something is drawn in each

    page.fill("#log-filters input[name=text]", "needle")
    assert page.locator("#log-lines tbody tr:visible").count() == 1
    page.fill("#log-filters input[name=text]", "")

    page.locator("#lanes").scroll_into_view_if_needed()
    box = page.locator("#lanes canvas.over").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, middle, steps=4)
    page.mouse.up()
    page.check("#log-filters input[name=zoomed]")
    assert page.locator("#reset").is_visible()
    assert (
        page.locator("#log-lines tbody tr:visible").all_inner_texts()[0].count("needle")
        == 1
    )
    page.click("#reset")
    assert page.locator("#log-lines tbody tr:visible").count() == 2

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.assert_harmless()


def test_the_report_is_legible_on_a_narrow_screen(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)

    shown.page.set_viewport_size({"width": 480, "height": 800})

    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.assert_harmless()


def test_the_performance_report_opens_behind_a_firewall(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, performance_html(run, card_of(run, ())), tmp_path)

    tabs = shown.page.locator(".bk-tab")
    tabs.first.wait_for()
    titles = tabs.all_inner_texts()
    shown.page.get_by_text("Task Stream", exact=True).click()
    shown.page.locator("canvas").first.wait_for()

    assert titles[:3] == ["Summary", "Task Stream", "System"]
    assert shown.page.locator("canvas").count() > 5
    shown.assert_harmless()
