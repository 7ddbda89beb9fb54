"""Links on cards and on a job's page, clicked in both of Prefect's UIs.

The reader's address of the server is another one than the flow's, as in a cluster, and
`PREFECT_UI_URL` is not set.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from conditions import LOAD_FACTOR, scaled
from demo_modules import demo_module

pytest.importorskip("prefect_dask_blackbox")
pytest.importorskip("playwright.sync_api")

import prefect
from browsers import NEEDS_CHROMIUM, a_browser
from dask_blackbox.testing import embedded_s3

pytestmark = [pytest.mark.nightly, NEEDS_CHROMIUM]

UIS = ["", "/v2"] if (Path(prefect.__file__).parent / "server" / "ui-v2").is_dir() else [""]  # fmt: skip
"""Where the UIs of this Prefect are: 3.4 has only the first one."""
NO_INVITATION = "localStorage.setItem('join-the-community-modal-dismissed', 'true')"
ASSET = "s3://shop/revenue"
SAID = "no column `net|gross` in [orders](https://x.example/) of **Monday** <b>"
"""What a task raises: Markdown and HTML, of which nothing may be obeyed."""

SHOP = f"""
import os
from prefect import task
from prefect.assets import Asset, AssetProperties, materialize
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

PROPERTIES = AssetProperties(url=os.environ["ASSET_PAGE"])

@materialize(Asset(key={ASSET!r}, properties=PROPERTIES))
def revenue(fails: bool) -> None:
    if fails:
        raise KeyError({SAID!r})

@task(task_run_name="load [1] of `a|b`")
def load() -> int:
    return 1

RUNNER = DaskTaskRunner(cluster_kwargs={{
    "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}})

@observed_flow(name="orders", retries=1, task_runner=RUNNER)
def orders(fails: bool) -> None:
    load.submit().result()
    revenue.submit(fails).result()

@observed_flow(name="shop")
def shop() -> None:
    orders(False)
    orders(True)

@observed_flow(name="unstored", store="s3://no-such-bucket/dask", task_runner=RUNNER)
def unstored() -> None:
    load.submit().result()

if __name__ == "__main__":
    globals()[os.environ.get("FLOW", "shop")]()
"""


class Shop(NamedTuple):
    """What there is to see.

    Attributes:
        url: Of the server, for readers.
        cards: The ids of artifacts: of the parent, of the good run, of the first and the
            last attempt of the failed run, of a run that is not recorded, and of the page
            of the job.
        parts: The ids of the good and the failed subflow's run.
        parts_names: Their names.
        failed_task: Id and name of the task run that failed in the last attempt.
        asset_page: Where the asset's link leads.
    """

    url: str
    cards: dict[str, str]
    parts: dict[str, str]
    parts_names: dict[str, str]
    failed_task: tuple[str, str]
    asset_page: str


@contextmanager
def page_of_asset() -> Iterator[str]:
    """Serve a page; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>Revenue</title><h1>The revenue of the shop</h1>")

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/revenue"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A flow with two subflows, of which one has failed twice."""
    folder = tmp_path_factory.mktemp("prefect")
    script = folder / "shop.py"
    script.write_text(SHOP)
    with (
        embedded_s3() as s3,
        page_of_asset() as asset_page,
        demo_module("prefect_host").PrefectHost(folder, patience=LOAD_FACTOR) as host,
    ):
        del host.environ["PREFECT_UI_URL"]
        host.environ.update(
            s3.environment,
            ASSET_PAGE=asset_page,
            DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT="300s",
        )
        parent = host.run_flow(script)
        good, failed = (run for run in host.flow_runs() if run.id != parent.id)
        unstored = host.run_flow(script, environ={"FLOW": "unstored"})
        first, last = sorted(_cards(host, failed.id), key=_attempt)
        [job] = host.ask("artifacts/filter", _keyed("dask-job-orders"))
        tasks = [
            (run["id"], run["name"])
            for run in sorted(host.task_runs(failed.id), key=_started)
            if run["state_type"] == "FAILED"
        ]
        cards = {
            "parent": _cards(host, parent.id)[0]["id"],
            "good": _cards(host, good.id)[0]["id"],
            "first": first["id"],
            "last": last["id"],
            "unstored": _cards(host, unstored.id)[0]["id"],
            "job": job["id"],
        }
        parts = {"good": good, "failed": failed}
        yield Shop(
            url=host.url.replace("127.0.0.1", "localhost"),
            cards=cards,
            parts={name: run.id for name, run in parts.items()},
            parts_names={name: run.name for name, run in parts.items()},
            failed_task=tasks[-1],
            asset_page=asset_page,
        )


def _keyed(key: str) -> dict[str, Any]:
    return {"artifacts": {"key": {"any_": [key]}}}


def _cards(host: Any, run_id: str) -> list[dict[str, Any]]:
    mine = {"artifacts": {"flow_run_id": {"any_": [run_id]}}}
    return [each for each in host.ask("artifacts/filter", mine) if each["key"]]


def _attempt(card: dict[str, Any]) -> int:
    return int(card["metadata_"]["attempt"])


def _started(run: dict[str, Any]) -> str:
    return str(run["start_time"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    with a_browser() as browser:
        yield browser


class Reader:
    """Somebody who reads in one of the UIs.

    Args:
        browser: Chromium.
        shop: What there is to see.
        ui: Where the UI is.
        folder: For pictures.
    """

    def __init__(self, browser: Any, shop: Shop, ui: str, folder: Path) -> None:
        self._shop, self._ui, self._folder = shop, ui, folder
        self._context = browser.new_context(viewport={"width": 1400, "height": 2000})
        self._context.add_init_script(NO_INVITATION)
        self._context.set_default_timeout(scaled(60_000))

    def card(self, name: str) -> Any:
        """Open the page of an artifact, and return it once it is shown."""
        page = self._context.new_page()
        identity = self._shop.cards[name]
        page.goto(f"{self._shop.url}{self._ui}/artifacts/artifact/{identity}")
        page.locator("table, h2").first.wait_for()
        self.photograph(page, f"card-{name}")
        return page

    def artifacts_of(self, run_id: str) -> Any:
        """Open the list of artifacts on the page of a flow run, and return it."""
        page = self._context.new_page()
        page.goto(f"{self._shop.url}{self._ui}/runs/flow-run/{run_id}")
        # The first UI reads no tab from the address.
        tab = page.get_by_text("Artifacts", exact=True).locator("visible=true")
        tab.last.click()
        page.get_by_text("dask-run-orders").locator("visible=true").first.wait_for()
        self.photograph(page, "artifacts")
        return page

    def opened(self, link: Any) -> Any:
        """Click a link, and return the page that it opens; the first UI opens a new one."""
        page, before = link.page, link.page.url
        if link.get_attribute("target") == "_blank":
            with page.context.expect_page() as new:
                link.click()
            page = new.value
        else:
            link.click()
            page.wait_for_url(lambda url: url != before)
        return page

    def opens(self, link: Any, path: str, says: str) -> None:
        """Click a link to a page of Prefect, and look at where it leads."""
        page = self.opened(link)

        page.wait_for_url(f"{self._shop.url}{self._ui}{path}**")
        page.get_by_text(says).locator("visible=true").first.wait_for()

        self.photograph(page, path.strip("/").split("/")[1])
        page.close()

    def photograph(self, page: Any, name: str) -> None:
        """Take a picture, to be looked at."""
        ui = self._ui.strip("/") or "v1"
        page.screenshot(path=self._folder / f"prefect-{ui}-{name}.png", full_page=True)

    def close(self) -> None:
        """Close all pages."""
        self._context.close()


@pytest.fixture(scope="module", params=UIS, ids=["v1", "v2"][: len(UIS)])
def reader(
    request: pytest.FixtureRequest,
    browser: Any,
    shop: Shop,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Reader]:
    """A reader in one of the UIs."""
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path_factory.mktemp("pictures")))
    folder.mkdir(parents=True, exist_ok=True)
    reader = Reader(browser, shop, request.param, folder)
    yield reader
    reader.close()


def test_the_cards_links_open_its_report_its_task_runs_and_the_attempt_before(
    reader: Reader, shop: Shop
) -> None:
    card = reader.card("last")
    task_run, name = shop.failed_task

    report = reader.opened(card.get_by_role("link", name="Report", exact=True).first)
    report.wait_for_selector("html[data-ready]")
    reader.photograph(report, "report")
    assert urlsplit(report.url).path.endswith("/report.html")
    assert SAID.partition("`")[0] in report.inner_text("body")

    card = reader.card("last")
    link = card.get_by_role("link", name=name).first
    reader.opens(link, f"/runs/task-run/{task_run}", says=name)

    card = reader.card("last")
    link = card.get_by_role("link", name="Attempt 1", exact=True)
    path = f"/artifacts/artifact/{shop.cards['first']}"
    reader.opens(link, path, says="Attempt 1 of 2 of this flow run.")


def test_the_parents_card_opens_the_page_of_the_subflow_that_failed(
    reader: Reader, shop: Shop
) -> None:
    card = reader.card("parent")

    link = card.get_by_role("link", name="The failed subflow's page")

    path = f"/runs/flow-run/{shop.parts['failed']}"
    reader.opens(link, path, says=shop.parts_names["failed"])


def test_the_jobs_page_opens_cards_from_which_their_flow_runs_open(
    reader: Reader, shop: Shop
) -> None:
    page = reader.card("job")
    rows = page.locator("table").first.locator("tbody tr")
    assert rows.count() == 3  # two attempts, and the run before

    path = f"/artifacts/artifact/{shop.cards['last']}"
    reader.opens(rows.first.get_by_role("link"), path, says="Attempt 2 of 2")

    card = reader.card("last")
    flow_run = card.locator(f"a[href*='/runs/flow-run/{shop.parts['failed']}']").first
    name = shop.parts_names["failed"]
    reader.opens(flow_run, f"/runs/flow-run/{shop.parts['failed']}", says=name)


def test_an_asset_opens_its_page_and_the_run_that_materialized_it_last(
    reader: Reader, shop: Shop
) -> None:
    for name in ("last", "job"):
        card = reader.card(name)
        assert card.locator("code", has_text=ASSET).first.inner_text() == ASSET
        page = reader.opened(card.locator(f"a[href='{shop.asset_page}']").first)
        assert page.url == shop.asset_page
        assert page.inner_text("h1") == "The revenue of the shop"

    page = reader.card("job")
    row = page.locator("table").nth(1).locator("tbody tr")
    assert row.count() == 1
    assert "2 runs" in row.inner_text()
    path = f"/artifacts/artifact/{shop.cards['good']}"
    reader.opens(row.get_by_role("link").nth(1), path, says="Succeeded in")


def test_what_the_run_said_is_text_on_the_card_and_in_the_list_of_artifacts(
    reader: Reader, shop: Shop
) -> None:
    card = reader.card("last")
    listed = reader.artifacts_of(shop.parts["failed"])

    shown = " ".join(card.inner_text("body").split())
    assert f"'{SAID}'" in shown
    assert "load [1] of `a|b`" in shown
    in_list = " ".join(listed.inner_text("body").split())
    # What is in backticks is code below the title of an artifact, whoever wrote it.
    assert "no column net|gross in [orders](https://x.example/)" in in_list
    for page in (card, listed):
        assert page.locator("a[href*='x.example']").count() == 0


def test_what_to_type_is_code_where_a_run_is_not_recorded(reader: Reader) -> None:
    card = reader.card("unstored")

    command = "aws s3 mb s3://no-such-bucket"
    assert command in card.locator("code", has_text=command).first.inner_text()
    assert f"`{command}" not in card.inner_text("body")
