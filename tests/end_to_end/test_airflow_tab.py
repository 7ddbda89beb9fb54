"""The tab "Dask run" in a real Airflow, in a real browser."""

from __future__ import annotations

import os
import re
import signal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from conditions import flag_of, scaled, until
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Frame,
    Page,
    expect,
)

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))
CHROMIUM = "/usr/bin/chromium"
SIZES = ((1280, 720), (1500, 1000), (1920, 1080))
PATIENCE = scaled(120_000)
expect.set_options(timeout=PATIENCE)

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not COMMANDS.exists(), reason="needs .venvs/airflow"),
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium"),
    pytest.mark.timeout(600),  # an Airflow, on a busy machine
]


def _tab(host: Any, run: Any, task: str, query: str = "") -> str:
    return f"{host.page(run, task)}/plugin/dask-run{query}"


def _inside(page: Page, name: str = "Dask run") -> Any:
    """Return what stands in the tab."""
    return page.frame_locator(f'iframe[title="{name}"]')


def _report(page: Page) -> Any:
    """Return the report that the tab shows."""
    return _inside(page).frame_locator('iframe[title="Report of the Dask run"]')


def _pictures(page: Page, folder: Path, name: str) -> None:
    """Keep the page in every size and colour scheme."""
    for (width, height), scheme in product(SIZES, ("light", "dark")):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.evaluate(
            "scheme => { localStorage.setItem('theme', scheme);"
            " const root = document.documentElement;"
            " root.classList.remove('light', 'dark'); root.classList.add(scheme); }",
            scheme,
        )
        for frame in page.frames:  # each is painted by itself
            _wait_until_painted(frame)
        page.screenshot(path=folder / f"airflow-{name}-{width}-{scheme}.png")
    page.evaluate("localStorage.removeItem('theme')")


def _wait_until_painted(frame: Frame) -> None:
    """Wait for two frames of an animation; a report that is drawn anew is asked again."""
    for _ in range(3):
        try:
            frame.evaluate(
                "new Promise(done => requestAnimationFrame("
                "() => requestAnimationFrame(done)))"
            )
        except Error as error:
            if frame.is_detached():
                return
            if "context was destroyed" not in str(error):
                raise
        else:
            return
    raise AssertionError(f"{frame.url} was loaded three times while it was painted")


def test_the_button_on_details_opens_the_tab_with_the_report(
    host: Any, reported: dict[str, Any], ada: BrowserContext, screenshots: Path
) -> None:
    run, task = reported["out_of_memory"], "bought_together"
    page = ada.new_page()
    page.goto(f"{host.page(run, task)}/details")
    # Not the tab, whose name is the same: its address names no try.
    button = page.locator('a[href*="/plugin/dask-run?try_number="]')
    if host.ask("version")["version"].startswith("3.1."):
        # There, each button of every operator opens a page of its own.
        with ada.expect_page() as opened:
            button.click()
        page.close()
        page = opened.value
    else:
        button.click()

    page.wait_for_url(re.compile("/plugin/dask-run"), wait_until="commit")
    expect(_inside(page).locator(".bar .state")).to_have_text(re.compile("failed"))
    expect(_report(page).locator("body")).to_contain_text("worker-memory-limit")
    _pictures(page, screenshots, "failed")
    # A link to this very page is not shown in it; it opens a page as all links do.
    expect(_report(page).locator(".meta a")).to_be_hidden()
    with ada.expect_page() as opened:
        _report(page).locator(".meta a").dispatch_event("click")
    # Airflow's own page works there: it is no part of the report's sandbox.
    expect(opened.value.get_by_role("link", name="Logs").first).to_be_visible()
    opened.value.close()
    expect(_report(page).locator("body")).to_contain_text("worker-memory-limit")

    _inside(page).get_by_role("button", name="performance report").click()
    expect(_report(page).locator(".bk-Tabs, .bk-Figure").first).to_be_visible()
    page.close()


def test_a_running_task_is_followed_until_it_is_killed(
    host: Any, ada: BrowserContext, screenshots: Path, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("slow", conf={"flag": str(flag)})
    pid = int(flag_of(flag, describe=lambda: host.log(run, "steps")))
    page = ada.new_page()
    page.goto(_tab(host, run, "steps"))
    inside = _inside(page)
    done = inside.locator('[data-live="done"]')

    expect(inside.locator(".bar .state")).to_have_text(re.compile("running"))
    expect(done).not_to_have_text("0")
    before = done.inner_text()
    expect(done).not_to_have_text(before)  # by itself
    expect(inside.locator('[data-live="workers"]')).to_have_text("2")
    expect(inside.locator('[data-live="submitted"]')).to_have_text("of 20,000 tasks")
    # The report that was drawn at the beginning is drawn again by itself.
    expect(_report(page).locator("h1")).to_have_text(
        re.compile(r": [1-9][\d,]* of 20,000 tasks done")
    )
    expect(_report(page).locator("body")).to_contain_text("step")
    _pictures(page, screenshots, "running")

    os.kill(pid, signal.SIGKILL)

    expect(inside.locator(".bar .state")).to_have_text(re.compile("aborted"))
    expect(inside.locator(".live")).to_have_count(0)
    expect(_report(page).locator("h1")).to_be_visible()
    _pictures(page, screenshots, "killed")
    page.close()
    assert host.wait(run) == "failed"


def test_the_report_of_a_task_that_waits_says_for_what_by_itself(
    host: Any, ada: BrowserContext, screenshots: Path, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("waiting", conf={"flag": str(flag)})
    pid = int(flag_of(flag, describe=lambda: host.log(run, "train")))
    page = ada.new_page()
    page.goto(_tab(host, run, "train"))
    heading = _report(page).locator("h1")

    # A wait is one after a minute without a finished task.
    expect(heading).to_have_text(re.compile("1 of 2 tasks done"))
    expect(heading).to_have_text(re.compile("GPU"), timeout=150_000)
    expect(_inside(page).locator(".bar .state")).to_have_text(re.compile("running"))
    _pictures(page, screenshots, "waiting")

    os.kill(pid, signal.SIGKILL)
    page.close()
    assert host.wait(run) == "failed"


def test_every_try_of_a_mapped_task_has_its_own_recording(
    host: Any, reported: dict[str, Any], ada: BrowserContext, screenshots: Path
) -> None:
    page = ada.new_page()
    of_task = f"{host.page(reported['mapped'], 'part')}/mapped/1/plugin/dask-run"
    page.goto(of_task)
    inside = _inside(page)

    expect(inside.locator(".try")).to_have_text(
        [re.compile("Try 1"), re.compile("Try 2")]
    )
    expect(inside.locator(".bar .state")).to_have_text(re.compile("succeeded"))
    inside.get_by_role("link", name="Try 1").click()
    expect(inside.locator(".bar .state")).to_have_text(re.compile("failed"))
    expect(_report(page).locator("body")).to_contain_text("currency")
    _pictures(page, screenshots, "tries")

    page.goto(f"{of_task}?try_number=1")
    expect(_inside(page).locator(".bar .state")).to_have_text(re.compile("failed"))
    page.close()


@pytest.mark.parametrize(
    "mapped",
    [
        ("expanded", "revenue", "no prices of 'xx'"),
        ("plainly", "count", "row 0 is below 1"),
    ],
    ids=["decorated", "plain"],
)
def test_each_instance_of_a_mapped_task_has_its_own_report(
    host: Any,
    reported: dict[str, Any],
    ada: BrowserContext,
    screenshots: Path,
    mapped: tuple[str, str, str],
) -> None:
    dag, task, wrong = mapped
    page = ada.new_page()
    for index, state in enumerate(("succeeded", "failed")):
        of_task = f"{host.page(reported[dag], task)}/mapped/{index}"
        page.goto(f"{of_task}/plugin/dask-run")
        expect(_inside(page).locator(".bar .state")).to_have_text(re.compile(state))
        expect(_report(page).locator("body")).to_contain_text(f".map{index}")
    expect(_report(page).locator("body")).to_contain_text(wrong)
    _pictures(page, screenshots, dag)
    page.close()


def test_a_task_that_airflow_ended_shows_who_ended_it(
    host: Any, ada: BrowserContext, screenshots: Path, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("slow", conf={"flag": str(flag)})
    flag_of(flag, describe=lambda: host.log(run, "steps"))
    page = ada.new_page()
    page.goto(_tab(host, run, "steps"))
    done = _inside(page).locator('[data-live="done"]')
    expect(done).to_have_text(re.compile("[1-9]"))  # the task has had a report, too
    host.set_state(run, "steps", "failed")

    expect(_inside(page).locator(".bar .state")).to_have_text(re.compile("aborted"))
    lines = host.log(run, "steps")
    (said,) = (line for line in lines if line.startswith("Airflow stopped this task ("))
    assert re.search(r", with [1-9]\d* of 20,000 tasks done at the last report\.", said)
    assert [line for line in lines if "The worker died" in line] == []
    expect(_report(page).locator("h1")).to_have_text(
        re.compile(r"^Airflow stopped this task after .* \(marked failed\)")
    )
    _pictures(page, screenshots, "stopped")
    page.close()


def test_a_task_that_succeeded_shows_its_report(
    host: Any, reported: dict[str, Any], ada: BrowserContext, screenshots: Path
) -> None:
    page = ada.new_page()
    page.goto(_tab(host, reported["recorded_etl"], "revenue_by_country"))

    expect(_inside(page).locator(".bar .state")).to_have_text(re.compile("succeeded"))
    expect(_report(page).locator("#theme")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 720})
    first = _report(page).locator(".bar a:visible").first.bounding_box()
    button = _report(page).locator("#theme").bounding_box()
    assert abs(first["y"] - button["y"]) < button["height"]  # in one line
    # Airflow's own choice goes before that of the system.
    page.emulate_media(color_scheme="light")
    page.evaluate(
        "const root = document.documentElement;"
        " root.classList.remove('light'); root.classList.add('dark');"
    )
    expect(_report(page).locator("html")).to_have_attribute("data-theme", "dark")
    expect(_report(page).locator("#theme")).to_have_text("Light")
    _pictures(page, screenshots, "succeeded")
    page.close()


@pytest.mark.parametrize(
    "missing",
    [
        (
            "unreadable",
            "The recording cannot be read from here",
            "127.0.0.1:1",
            "? cannot be read",
        ),
        ("unrecorded", "Try 1 was not recorded", "/proc/recordings", "· not recorded"),
    ],
)
def test_a_recording_that_is_not_there_gives_the_reason(
    host: Any,
    ada: BrowserContext,
    screenshots: Path,
    missing: tuple[str, str, str, str],
) -> None:
    dag, title, says, badge = missing
    run = host.trigger(dag)
    assert host.wait(run) == "success"
    page = ada.new_page()
    page.goto(_tab(host, run, "part"))

    expect(_inside(page).get_by_role("heading")).to_have_text(title)
    expect(_inside(page).locator("main")).to_contain_text(says)
    expect(_inside(page).locator(".bar .state")).to_have_text(badge)
    _pictures(page, screenshots, dag)
    page.close()


@pytest.mark.parametrize(
    "failed",
    [
        (
            "unprepared",
            "part",
            "Try 1 ended before its recording started",
            "UndefinedError: 'no' is undefined",
        ),
        (
            "unmappable",
            "count",
            "the task failed after its Dask run had succeeded",
            "UnmappableXComTypePushed: unmappable return type 'int'",
        ),
    ],
    ids=["before", "after"],
)
def test_a_task_that_fails_while_nothing_records_gives_the_reason(
    host: Any,
    ada: BrowserContext,
    screenshots: Path,
    failed: tuple[str, str, str, str],
) -> None:
    dag, task, title, says = failed
    run = host.trigger(dag)
    assert host.wait(run) == "failed"
    page = ada.new_page()
    page.goto(_tab(host, run, task))

    expect(_inside(page).locator("body")).to_contain_text(title)
    expect(_inside(page).locator(".logged")).to_contain_text(says)
    _pictures(page, screenshots, dag)
    page.close()


@pytest.mark.parametrize(
    ("kill", "says"),
    [
        (True, "Process terminated by signal"),
        (False, "Airflow stopped this task (marked failed) while its cluster"),
    ],
    ids=["killed", "marked"],
)
def test_a_task_that_is_ended_while_its_cluster_closes_shows_who_ended_it(
    host: Any, ada: BrowserContext, tmp_path: Path, *, kill: bool, says: str
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("moments", conf={"flag": str(flag), "moment": "closing"})
    pid = int(flag_of(flag))
    if kill:
        os.kill(pid, signal.SIGKILL)
    else:
        host.set_state(run, "work", "failed")
    assert host.wait(run) == "failed"
    until(lambda: "signal" in (said := str(host.log(run, "work"))) or "killed!" in said)
    page = ada.new_page()
    page.goto(_tab(host, run, "work"))

    expect(_inside(page).locator(".bar .state")).to_have_text(re.compile("succeeded"))
    expect(_inside(page).locator(".logged")).to_contain_text(says)
    page.close()


def test_a_task_without_dask_reports_how_to_record_one(
    host: Any, reported: dict[str, Any], ada: BrowserContext, screenshots: Path
) -> None:
    page = ada.new_page()
    page.goto(_tab(host, reported["mapped"], "plain"))

    expect(_inside(page).get_by_role("heading")).to_have_text("No Dask run here")
    _pictures(page, screenshots, "no-dask")
    page.close()


def test_the_runs_of_a_dag_are_a_tab_of_the_dag(
    host: Any, reported: dict[str, Any], ada: BrowserContext, screenshots: Path
) -> None:
    page = ada.new_page()
    page.goto(f"{host.url}/dags/{reported['mapped'].dag_id}/plugin/dask-runs")
    inside = _inside(page, "Dask runs")

    expect(inside.locator(".trend h2")).to_have_text("part")
    expect(inside.locator("tbody td.what")).to_have_count(2)
    _pictures(page, screenshots, "runs")
    inside.locator("tbody td a").first.click()
    expect(inside.locator(".bar .state")).to_be_visible()
    page.close()


def test_the_runs_of_all_dags_are_a_page_below_browse(
    host: Any, reported: dict[str, Any], ada: BrowserContext, screenshots: Path
) -> None:
    run = reported["out_of_memory"]
    page = ada.new_page()
    page.goto(f"{host.url}/")
    page.get_by_role("button", name="Browse").first.click()
    page.get_by_role("menuitem", name="Dask runs").click()
    inside = _inside(page, "Dask runs")

    failed = inside.get_by_role("list", name="Failures by cause").get_by_role(
        "listitem"
    )
    own = failed.filter(has_text="out_of_memory.bought_together").first
    expect(own.get_by_role("heading")).to_contain_text("memory limit")
    _pictures(page, screenshots, "all-dags")
    inside.get_by_role("link", name="24 hours").focus()
    page.keyboard.press("Tab")
    expect(inside.get_by_role("link", name="3 days")).to_be_focused()
    page.keyboard.press("Enter")
    expect(inside.get_by_role("link", name="3 days")).to_have_attribute(
        "aria-current", "true"
    )
    for width in (1400, 900, 480):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{host.url}/dask-blackbox/runs")
        assert page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
    page.get_by_role("link", name="out_of_memory.bought_together").first.click()
    page.wait_for_url(re.compile(r"/dags/out_of_memory/task\?"), wait_until="commit")
    page.close()
    assert host.state(run) == "failed"


def test_who_may_not_read_a_dags_logs_is_refused_after_the_login(
    host: Any,
    reported: dict[str, Any],
    browser: Browser,
    ada: BrowserContext,
    screenshots: Path,
) -> None:
    key = f"run_id={reported['private_books'].run_id.replace('+', '%2B')}&task_id=part"
    private = f"{host.url}/dask-blackbox/dags/private_books/task?{key}"
    shown = ada.new_page()
    shown.goto(private)
    expect(shown.locator(".bar .state")).to_have_text(re.compile("succeeded"))
    shown.close()

    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    public = host.links(reported["out_of_memory"], "bought_together")
    page.goto(f"{host.url}/{public['Dask performance report']}")
    page.get_by_label("Username").fill("vera")
    page.get_by_label("Password").fill("vera")
    page.get_by_role("button", name="Sign in").click()

    page.wait_for_url(re.compile(r"/performance_report\.html"), wait_until="commit")
    expect(page.locator(".bk-Tabs, .bk-Figure").first).to_be_visible()
    refused = page.goto(private)
    assert refused is not None
    assert refused.status == 403
    expect(page.get_by_role("heading")).to_have_text(
        "You do not have access to this page"
    )
    _pictures(page, screenshots, "refused")
    context.close()


def test_the_log_points_to_the_tab(host: Any, reported: dict[str, Any]) -> None:
    run, task = reported["out_of_memory"], "bought_together"

    tab = f"{_tab(host, run, task)}?try_number=1"

    assert any(tab in line for line in host.log(run, task))
    assert f"{host.url}/{host.links(run, task)['Dask run']}" == tab
