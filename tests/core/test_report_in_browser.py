"""Both pages in a real browser, without a network, with a run that wants to run script."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from browsers import NEEDS_CHROMIUM, a_browser
from dask_blackbox.analyse import findings_in
from dask_blackbox.card import card_of
from dask_blackbox.report import html, performance_html
from dask_blackbox.run_tables import RunTables
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from runs_from_rows import (
    LIMIT,
    MIB,
    START,
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

HOSTILE = "</script><script>window.owned=1</script><img src='http://127.0.0.1:9/' onerror='window.owned=2'>"

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as browser:
        yield browser


class Shown:
    """A page that is open, and what it complained about or asked for."""

    def __init__(
        self, browser: Browser, page: str, folder: Path, place: str = ""
    ) -> None:
        file = folder / "page.html"
        file.write_text(page, encoding="utf-8")
        self.page: Page = browser.new_page(viewport={"width": 1400, "height": 900})
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda rendered: (
                self.complaints.append(rendered.text)
                if rendered.type == "error"
                else None
            ),
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{file.as_uri()}{place}")
        if 'id="charts"' in page:
            self.page.wait_for_selector("html[data-ready]")

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


def test_a_report_in_a_sandboxed_frame_takes_the_theme_of_the_page_around(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    (tmp_path / "report.html").write_text(html(run, card_of(run, ())), "utf-8")
    around = tmp_path / "around.html"
    around.write_text("<iframe sandbox='allow-scripts' src='report.html'></iframe>")
    page = browser.new_page(color_scheme="light")
    page.goto(around.as_uri())
    report = page.frame_locator("iframe")

    expect(report.locator("#theme")).to_have_text("Dark")
    page.evaluate("frames[0].postMessage({theme: 'dark'}, '*')")

    expect(report.locator("#theme")).to_have_text("Light")
    expect(report.locator("html")).to_have_attribute("data-theme", "dark")
    page.close()


def test_a_report_in_a_tab_of_a_host_leaves_out_what_the_page_around_it_says(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    (tmp_path / "report.html").write_text(html(run, card_of(run, ())), "utf-8")
    around = tmp_path / "around.html"
    for name, shown in (("", True), ("dask-blackbox-tab", False)):
        around.write_text(
            f"<iframe name='{name}' sandbox='allow-scripts' src='report.html'></iframe>"
        )
        page = browser.new_page()
        page.goto(around.as_uri())
        report = page.frame_locator("iframe")

        expect(report.locator("#theme")).to_be_visible()
        expect(report.locator("h1")).to_be_visible()
        for part in (".brand", ".who"):
            expect(report.locator(part)).to_be_visible(visible=shown)
        page.close()


@pytest.mark.parametrize(("width", "columns"), [(480, 1), (900, 1), (1200, 2)])
def test_the_verdict_in_a_narrow_tab_of_a_host_has_one_column(
    browser: Browser, tmp_path: Path, width: int, columns: int
) -> None:
    run = a_hostile_run()
    page_of_run = html(run, card_of(run, findings_in(run)))
    (tmp_path / "report.html").write_text(page_of_run, "utf-8")
    around = tmp_path / "around.html"
    around.write_text(
        f"<iframe name='dask-blackbox-tab' width={width} height=800 "
        "sandbox='allow-scripts' src='report.html'></iframe>"
    )
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(around.as_uri())

    report = page.frame_locator("iframe")
    expect(report.locator("html")).to_have_class(re.compile("embedded"))
    shown = report.locator(".verdict .columns").evaluate(
        "(each) => getComputedStyle(each).gridTemplateColumns.split(' ').length"
    )
    assert shown == columns
    page.close()


@pytest.mark.nightly
def test_a_report_whose_frame_may_open_nothing_asks_the_page_around_to(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    address = "https://airflow.example/dags/etl"
    manifest = msgspec.structs.replace(
        run.manifest, host={"kind": "airflow", "url": address}
    )
    frames = {
        n: getattr(run, n) for n in ("tasks", "errors", "logs", "metrics", "events")
    }
    run = RunTables(manifest, run.ending, frames)
    (tmp_path / "report.html").write_text(html(run, card_of(run, ())), "utf-8")
    around = tmp_path / "around.html"
    around.write_text("<iframe sandbox='allow-scripts' src='report.html'></iframe>")
    page = browser.new_page(color_scheme="light")
    page.goto(around.as_uri())
    report = page.frame_locator("iframe")
    expect(report.locator("#theme")).to_have_text("Dark")
    page.evaluate(
        "addEventListener('message', (said) => { window.asked = said.data; })"
    )
    page.evaluate("frames[0].postMessage({theme: 'dark', opens: true}, '*')")
    expect(report.locator("#theme")).to_have_text("Light")

    report.get_by_role("link", name="its page in Airflow").click()

    page.wait_for_function("window.asked")
    assert page.evaluate("window.asked") == {"open": address}
    page.close()


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_report_draws_filters_and_zooms(
    browser: Browser, tmp_path: Path, *, dark: bool
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)
    page = shown.page
    if dark:
        page.click("#theme")

    inks = page.evaluate(
        """() => [...document.querySelectorAll('.chart canvas.base')].map((canvas) => {
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return new Set(new Uint32Array(data.buffer)).size;
        })"""
    )
    assert len(inks) == 8
    assert min(inks) > 3  # something is drawn in each

    page.click("#tab-logs")
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
    assert page.locator("#reset").is_visible()
    lines = page.locator("#log-lines tbody tr:visible")
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text("needle")
    page.uncheck("#only-period")
    expect(lines).to_have_count(2)
    page.check("#only-period")
    expect(lines).to_have_count(1)
    page.click("#reset")
    expect(page.locator("#log-lines tbody tr:visible")).to_have_count(2)

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.assert_harmless()


@pytest.mark.nightly
def test_the_report_is_legible_on_a_narrow_screen(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)

    shown.page.set_viewport_size({"width": 480, "height": 800})

    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.assert_harmless()


BUSY = """() => {
    const canvas = document.querySelector('#lanes canvas.work');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0;
    for (let i = 3; i < data.length; i += 4) sum += data[i];
    return sum / 255 / canvas.width;
}"""
"""How much is painted, in pixels of the picture's height."""


def a_run_that_is_busy(share: float, *, tasks: int, threads: int) -> RunTables:
    """Return a run of a minute whose threads are busy for a share of it."""
    each = 60 * share * threads / tasks
    apart = 60 * threads / tasks
    return a_run(
        a_worker(at=0, nthreads=threads),
        [
            ("task", (
                f"load-{n}", "load", "load", "tcp://w1", n % threads, begun := START + n // threads * apart,
                begun + each, each, 0.0, 0.0, 0.0, 1, "int", "finished",
            ))
            for n in range(tasks)
        ],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "tasks"),
    [
        (0.17, 9_000),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in ((0.007, 20_000), (0.5, 12), (0.83, 30_000))
        ),
    ],
)
def test_the_picture_is_as_busy_as_the_threads_were(
    browser: Browser, tmp_path: Path, share: float, tasks: int
) -> None:
    run = a_run_that_is_busy(share, tasks=tasks, threads=4)

    page = Shown(browser, html(run, card_of(run, ())), tmp_path).page
    painted = page.evaluate(BUSY)
    gutter = page.evaluate("150 / document.querySelector('#lanes canvas').clientWidth")

    rows = 4 * 17  # four threads, a pixel between them
    assert painted / rows / (1 - gutter) == pytest.approx(share, rel=0.02)


def test_every_execution_of_many_is_found_by_zooming(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_run_that_is_busy(0.5, tasks=20_000, threads=1)
    n = 12_345
    begun = n * 60 / 20_000

    place = f"#from={begun - 0.001}&to={begun + 0.004}&t={begun + 0.0005}"
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path, place)
    page = shown.page
    page.get_by_role("button", name=f"load-{n}").click()

    # The pane is filled with the next frame.
    expect(page.locator("#pane h3").first).to_have_text(f"load-{n}")
    expect(page.locator("#pane dl")).to_contain_text("1.5 ms")
    assert f"task={n}" in page.evaluate(
        "() => new Promise((done) => setTimeout(() => done(location.hash), 300))"
    )
    shown.assert_harmless()


def test_the_playhead_reports_what_was_going_on(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path, "#t=11.5")
    pane = shown.page.locator("#pane")

    expect(pane).to_contain_text("2 workers, 1 executing")
    expect(pane).to_contain_text("needle in the log")

    shown.page.locator("#charts").focus()
    shown.page.keyboard.press("ArrowRight")
    expect(pane).to_contain_text("died")
    shown.page.keyboard.press("Escape")
    expect(pane).to_contain_text(re.compile("^Shown"))
    shown.assert_harmless()


def test_a_selection_is_summed_up(browser: Browser, tmp_path: Path) -> None:
    run = a_run_that_is_busy(0.5, tasks=600, threads=2)
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)
    page = shown.page
    page.locator("#lanes").scroll_into_view_if_needed()
    box = page.locator("#lanes canvas.over").bounding_box()
    assert box is not None
    middle, width = box["y"] + box["height"] / 2, box["width"] - 150

    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 150 + width * 0.5, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(
        box["x"] + 150 + width * 0.75, middle + box["height"] / 2 - 1, steps=4
    )
    page.mouse.up()
    page.keyboard.up("Shift")

    pane = page.locator("#pane")
    expect(pane).to_contain_text(re.compile("^Selected"))
    assert "threads 50 % busy" in pane.inner_text()


def test_the_tabs_are_about_the_part_that_is_shown_or_selected(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)
    page = shown.page
    seats = page.locator("#lanes canvas.over")

    def drag(begin: float, end: float) -> None:
        """Drag over a part of the first lane."""
        seats.scroll_into_view_if_needed()
        box = seats.bounding_box()
        assert box is not None
        left, width = box["x"] + 150, box["width"] - 150
        page.mouse.move(left + width * begin, box["y"] + 6)
        page.mouse.down()
        page.mouse.move(left + width * end, box["y"] + 10, steps=4)
        page.mouse.up()

    deaths, note = page.locator("article.death"), page.locator("#deaths .left-out")
    expect(deaths).to_be_visible()
    drag(0.05, 0.4)
    expect(deaths).to_be_hidden()
    expect(note).to_have_text("0 of 1 are of the part shown or selected above.")
    page.click("#reset")
    expect(deaths).to_be_visible()
    expect(note).to_be_hidden()

    page.click("#tab-workers")
    workers = page.locator("#workers tbody tr:visible")
    expect(workers).to_have_count(2)
    page.keyboard.down("Shift")
    drag(0.2, 0.5)
    page.keyboard.up("Shift")
    expect(workers).to_have_count(1)
    page.uncheck("#only-period")
    expect(workers).to_have_count(2)
    shown.assert_harmless()


@pytest.mark.nightly
def test_on_paper_there_are_four_pages_at_most_with_a_picture(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_hostile_run()
    shown = Shown(browser, html(run, card_of(run, findings_in(run))), tmp_path)
    page = shown.page
    page.emulate_media(media="print")

    picture = page.locator("figure.paper img")
    inks = Image.open(io.BytesIO(picture.screenshot())).convert("P").getcolors()
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))

    assert inks is not None
    assert len(inks) > 5  # lanes, work, deaths, curves, texts
    assert not page.locator("#charts").is_visible()
    assert page.get_by_role("heading", name="What to do").is_visible()
    assert 1 <= pages <= 4
    shown.assert_harmless()


def test_without_script_there_is_the_picture(browser: Browser, tmp_path: Path) -> None:
    run = a_hostile_run()
    file = tmp_path / "page.html"
    file.write_text(html(run, card_of(run, ())), encoding="utf-8")
    page = browser.new_page(java_script_enabled=False)

    page.goto(file.as_uri())

    assert page.locator("figure.paper img").is_visible()
    assert not page.locator("#charts").is_visible()


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


@pytest.mark.nightly
def test_many_workers_are_a_band_with_the_remarkable_ones_as_lines(
    browser: Browser, tmp_path: Path
) -> None:
    workers = range(30)
    run = a_run(
        [a_worker(f"tcp://w{n}", pid=n) for n in workers],
        a_graph(),
        a_task(start=3),
        [
            a_sample(f"tcp://w{n}", at=at, memory=(100 + n) * MIB)
            for n in workers
            for at in range(2, 12)
        ],
        a_death("tcp://w7", exit_code=-9, pid=7, at=12, memory=[(11, 390 * MIB)]),
        failed_with(at=15),
    )
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)

    expect(shown.page.locator("#memory-caption")).to_have_text(
        "30 workers: median, 5th to 95th percentile, highest; 5 of them as lines"
    )
    # The band is painted where no line is: between the 5th percentile and the median.
    painted = shown.page.evaluate(
        """() => {
            const canvas = document.querySelector('#memory canvas.base');
            const pen = canvas.getContext('2d');
            const { data } = pen.getImageData(canvas.width / 2, 0, 1, canvas.height);
            let number = 0;
            for (let i = 0; i < data.length; i += 4) number += data[i + 3] > 20;
            return number;
        }"""
    )
    assert painted > 4
    shown.assert_harmless()


def test_the_page_shows_what_a_task_waited_for_and_the_longest_chain(
    browser: Browser, tmp_path: Path
) -> None:
    run = a_run(
        a_worker(nthreads=2),
        a_graph(),
        a_task("load-1", start=3, compute=4, last_input=""),
        a_task("load-2", start=3, compute=1, last_input=""),
        a_task("join-1", start=7.5, compute=2, last_input="load-1"),
        a_task("save-1", start=10, compute=1, last_input="join-1"),
        failed_with(at=15),
    )
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path)
    page = shown.page
    painted = "document.querySelector('#lanes canvas.over').toDataURL()"
    bare = page.evaluate(painted)

    expect(page.locator("#chain")).to_contain_text(
        "3 tasks, which executed for 7.0 s in 8.0 s."
    )
    page.click("#show-chain")
    expect(page.locator("#show-chain")).to_have_text("Hide it")
    chain = page.evaluate(painted)
    page.click("#show-chain")
    assert page.evaluate(painted) == bare != chain

    # A link to a pinned task, in the page that is open, and then in a new one.  A browser
    # tells the page of it later than it changes the address, which the page would write after
    # a click meanwhile.
    page.evaluate(
        """async () => {
            document.getElementById("show-chain").click();
            history.pushState(null, "", "#task=2&t=8&chain=1");
            await new Promise((resolve) => setTimeout(resolve, 300));
            dispatchEvent(new HashChangeEvent("hashchange"));
        }"""
    )
    expect(page.locator("#pane")).to_contain_text("join-1")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#show-chain")).to_have_text("Hide it")
    pane = page.locator("#pane")
    expect(pane).to_contain_text("join-1")
    expect(pane).to_contain_text("Waited last for load-1")
    expect(pane).to_contain_text("this began 500 ms later")
    expect(pane).to_contain_text("Then could run 1 execution save-1 began 500 ms later")
    pane.get_by_role("button", name="load-1").click()
    expect(pane.locator("h3").first).to_have_text("load-1")
    shown.assert_harmless()


def test_the_pane_counts_who_was_paused_and_who_waited_for_data(
    browser: Browser, tmp_path: Path
) -> None:
    begun = START + 4
    waited = ("task", ("join-1", "join", "join", "tcp://w2", 1, begun, begun + 5, 2.0, 3.0, 0.0, 0.0, 9, "int", "finished", ""))  # fmt: skip
    run = a_run(
        a_worker("tcp://w1", nthreads=1),
        a_worker("tcp://w2", pid=2, nthreads=1),
        a_graph(),
        a_task("load-1", start=3, compute=9),
        waited,
        [a_sample(at=at, status="paused" if at > 4 else "running") for at in range(1, 12)],
        failed_with(at=15),
    )  # fmt: skip
    shown = Shown(browser, html(run, card_of(run, ())), tmp_path, "#t=6")
    pane = shown.page.locator("#pane")

    expect(pane).to_contain_text("2 workers, 1 paused, 1 executing, 1 waiting for data")
    shown.page.select_option("#order", "host")
    expect(shown.page.locator("#legend")).to_contain_text("worker paused")
    shown.assert_harmless()
