"""The page about all DAGs after a night of 40 DAGs, in a real Airflow and a real browser."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from conditions import scaled, until
from playwright.sync_api import Browser, BrowserContext, Page, expect

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))
CHROMIUM = "/usr/bin/chromium"
WIDTHS = (480, 900, 1400)
expect.set_options(timeout=scaled(120_000))

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not COMMANDS.exists(), reason="needs .venvs/airflow"),
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium"),
    pytest.mark.timeout(600),  # an Airflow, on a busy machine
]

FORTY_DAGS = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

for number in range(40):
    with DAG(f"dag_{number:02d}", schedule=None):
        publish = EmptyOperator(task_id="publish")
        for n in range(10):
            DaskObservedOperator(task_id=f"t{n}", python_callable=print) >> publish
"""
ITS_DAGS = "?dag=dag_"
"""Other tests' DAGs of this server have failed in the last 24 hours, too."""
LEFT_BY_TAB = """
() => {
  const all = document.querySelectorAll('a[href], button, input:not([type=hidden])');
  const at = [...all].indexOf(document.activeElement);
  const style = getComputedStyle(document.activeElement);
  return [at, all.length, style.outlineStyle];
}
"""
"""Which of all that can be used has the focus, and how that is shown."""


@pytest.fixture(scope="module")
def night(host: Any, reported: dict[str, Any]) -> Iterator[str]:
    """Write a night of 40 DAGs with 400 tasks into Airflow's database; yield its page."""
    template = reported["private_books"]
    file = Path(host.environ["AIRFLOW__CORE__DAGS_FOLDER"], "forty_dags.py")
    file.write_text(FORTY_DAGS)
    known = "dags?dag_id_pattern=dag_&limit=1"
    until(lambda: host.ask(known)["total_entries"] >= 40, "40 DAGs")
    writer = ROOT / "tests" / "support" / "airflow_nights.py"
    subprocess.run(
        [COMMANDS / "python", writer, template.run_id], env=host.environ, check=True
    )
    yield f"{host.url}/dask-blackbox/runs"
    file.unlink()


def _fits(page: Page) -> bool:
    fits: bool = page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    return fits


def test_failures_of_a_night_are_on_one_page_in_every_width_and_colour(
    night: str, ada: BrowserContext, screenshots: Path
) -> None:
    page = ada.new_page()
    page.goto(f"{night}{ITS_DAGS}")
    causes = page.get_by_role("list", name="Failures by cause").get_by_role("listitem")

    expect(page.get_by_role("status")).to_contain_text("60 failed")
    expect(causes.filter(has_text="10 tasks in 10 DAGs")).to_have_count(6)
    expect(causes.first).to_contain_text("new")
    expect(causes.filter(has_text="Cannot run now")).to_have_count(6)
    of_memory = causes.filter(has_text="exceeded their memory limit")
    expect(of_memory.get_by_text("To paste into dag_")).to_have_count(10)
    for width, scheme in product(WIDTHS, ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.reload()
        expect(page.get_by_role("status")).to_be_visible()
        assert _fits(page)
        page.screenshot(
            path=screenshots / f"airflow-night-{width}-{scheme}.png", full_page=True
        )
    page.close()


def test_all_of_the_page_is_used_by_keyboard(
    night: str, ada: BrowserContext, screenshots: Path
) -> None:
    page = ada.new_page()
    page.goto(f"{night}{ITS_DAGS}")

    page.keyboard.press("Tab")
    reached, count, shown = page.evaluate(LEFT_BY_TAB)
    order = [(reached, shown)]
    while reached < count - 1 and len(order) < count:
        page.keyboard.press("Tab")
        reached, _, shown = page.evaluate(LEFT_BY_TAB)
        order.append((reached, shown))
    assert [at for at, _ in order] == list(range(count))
    assert {shown for _, shown in order} == {"solid"}

    page.get_by_role("link", name="failed", exact=True).focus()
    page.screenshot(path=screenshots / "airflow-night-focus.png")
    page.keyboard.press("Enter")
    expect(page.get_by_role("caption")).to_contain_text("60 runs")
    page.get_by_role("searchbox").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("dag_03")
    page.keyboard.press("Enter")
    expect(page.get_by_role("caption")).to_contain_text("2 runs")
    page.get_by_role("row").get_by_role("link", name="dag_03.t0").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/dags/dag_03/task\?"))
    page.close()


def test_a_screen_reader_is_told_what_the_parts_of_the_page_are(
    night: str, ada: BrowserContext
) -> None:
    page = ada.new_page()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{night}{ITS_DAGS}&show=failed")

        expect(page.get_by_role("main")).to_match_aria_snapshot(
            """
            - main:
              - heading "Dask runs of all DAGs" [level=1]
              - navigation "Filters":
                - link "24 hours"
                - link "failed"
                - searchbox "Part of a DAG's id"
                - button "Filter"
              - status: /60 failed/
              - list "Failures by cause":
                - listitem:
                  - heading /10 tasks in 10 DAGs/ [level=2]
              - table /60 runs/:
                - rowgroup:
                  - row:
                    - columnheader "State"
                    - columnheader "Task"
                    - columnheader "Outcome"
                    - columnheader "Took"
                    - columnheader "Started"
                - rowgroup:
                  - row:
                    - cell /failed/
                    - cell /dag_/
            """
        )
    page.close()


@pytest.fixture
def vera(host: Any, browser: Browser) -> Iterator[Page]:
    """Return a page of a viewer who is logged in."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(scaled(120_000))
    page = context.new_page()
    page.goto(f"{host.url}/")
    page.get_by_label("Username").fill("vera")
    page.get_by_label("Password").fill("vera")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login" not in url, wait_until="commit")
    yield page
    context.close()


@pytest.mark.skipif(
    "TEST_AUTH_MANAGER" in os.environ, reason="that one decides for all DAGs alike"
)
def test_a_viewer_sees_the_night_without_dags_that_are_for_others(
    night: str, vera: Page, ada: BrowserContext, reported: Any, screenshots: Path
) -> None:
    assert reported["expanded"]
    hers = ada.new_page()
    hers.goto(f"{night}?dag=private")
    expect(hers.get_by_role("caption")).to_contain_text("1 run")
    hers.close()

    vera.goto(f"{night}?dag=private")
    expect(vera.get_by_role("heading", name="No Dask runs here")).to_be_visible()
    vera.goto(night)
    expect(vera.get_by_role("list", name="Failures by cause")).to_be_visible()
    expect(vera.get_by_role("main")).not_to_contain_text("private")
    vera.screenshot(path=screenshots / "airflow-night-of-a-viewer.png", full_page=True)
    vera.goto(f"{night}?dag=expanded&show=failed")
    vera.get_by_role("row").get_by_role("link", name="expanded.revenue").click()
    expect(vera).to_have_url(re.compile(r"/dags/expanded/task\?"))
    report = vera.frame_locator('iframe[title="Report of the Dask run"]')
    expect(report.get_by_role("heading", level=1)).to_contain_text("no prices of 'xx'")
    vera.screenshot(path=screenshots / "airflow-tab-of-a-viewer.png")
