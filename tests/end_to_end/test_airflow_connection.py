"""A connection of type `dask` as a person makes it: in Airflow's own form, in a browser."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Any

import pytest
from conditions import scaled
from playwright.sync_api import BrowserContext, Locator, Page, expect

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))
expect.set_options(timeout=scaled(120_000))

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not COMMANDS.exists(), reason="needs .venvs/airflow"),
    pytest.mark.skipif(not Path("/usr/bin/chromium").exists(), reason="needs Chromium"),
    pytest.mark.timeout(600),  # an Airflow, on a busy machine
]

LABELS = (
    "TLS: CA certificate",
    "TLS: client certificate",
    "TLS: client key",
    "Cluster class",
    "Cluster arguments",
    "Dashboard address",
)


def _form(page: Page, url: str, conn_id: str) -> Locator:
    """Return the form of a new connection of type `dask`."""
    page.goto(f"{url}/connections")
    page.get_by_role("button", name="Add Connection").first.click()
    form = page.get_by_role("dialog")
    form.locator('input[name="connection_id"]').fill(conn_id)
    form.get_by_role("combobox").first.click()
    page.keyboard.type("dask")
    page.get_by_role("option", name="Dask", exact=True).click()
    expect(form.get_by_text("Standard Fields")).to_be_visible()
    return form


def test_the_form_asks_for_a_cluster_and_its_test_reports_what_is_wrong(
    host: Any, ada: BrowserContext, screenshots: Path
) -> None:
    conn_id = f"farm-{secrets.token_hex(4)}"
    page = ada.new_page()
    form = _form(page, host.url, conn_id)
    old = host.ask("version")["version"].startswith("3.1.")
    if not old:
        # Airflow 3.1 shows no provider's own fields without wtforms.
        form.get_by_role("button", name="Extra Fields", exact=True).click()
        for label in LABELS:
            expect(form.get_by_text(label, exact=True)).to_be_visible()
        page.screenshot(path=screenshots / "airflow-connection-fields.png")
        form.get_by_role("button", name="Standard Fields").click()
        expect(form.get_by_text("Scheduler", exact=True)).to_be_visible()
        expect(form.locator('input[name="login"]')).to_have_count(0)
        expect(form.locator('input[name="schema"]')).to_have_count(0)
    form.locator('input[name="host"]').fill("tcp://127.0.0.1")
    form.locator('input[name="port"]').fill("1")
    page.screenshot(path=screenshots / "airflow-connection.png")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)

    row = page.get_by_role("row").filter(has_text=conn_id)
    with page.expect_response(re.compile("/connections/test$")) as answered:
        row.get_by_role("button", name=re.compile("Test Connection")).click()

    sentence = "No Dask scheduler answers at tcp://127.0.0.1:1: it does not run there"
    assert answered.value.json()["message"].startswith(sentence)
    if not old:  # Airflow 3.1 shows an icon only
        expect(page.get_by_text(sentence)).to_be_visible()
    page.screenshot(path=screenshots / "airflow-connection-tested.png")
    page.close()
    assert host.ask(f"connections/{conn_id}")["conn_type"] == "dask"
