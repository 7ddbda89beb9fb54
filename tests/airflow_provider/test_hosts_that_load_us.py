"""Airflow starts whatever of ours cannot be imported, and says what is missing."""

from __future__ import annotations

import asyncio
import builtins
import logging
import sys
from typing import Any

import pytest
from airflow_dask_blackbox import get_provider_info, unavailable
from airflow_dask_blackbox.plugin import DaskBlackboxPlugin
from failing_imports import CASES, failures

_SLOW = ("plugins", "providers")  # the former loads thirty times the whole tab


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=pytest.mark.nightly if each in _SLOW else ())
        for each in CASES["airflow"]
    ],
)
@pytest.mark.timeout(1800)
def test_airflow_starts_whatever_import_of_ours_fails(name: str) -> None:
    assert failures("airflow", name) == {}


def _without(name: str, monkeypatch: pytest.MonkeyPatch, *ours: str) -> None:
    """Have an import fail, as on an Airflow that has no such module any more."""
    for module in ours:
        monkeypatch.delitem(sys.modules, module, raising=False)
    inner = builtins.__import__

    def failing(wanted: str, scope: Any = None, *args: Any, **more: Any) -> Any:
        importer = str((scope or {}).get("__name__"))
        if wanted == name and importer.startswith("airflow_dask_blackbox"):
            raise ImportError(f"<{name}> is gone")
        return inner(wanted, scope, *args, **more)

    monkeypatch.setattr(builtins, "__import__", failing)


def test_airflows_api_server_starts_without_the_tab_and_a_page_says_why(
    airflow: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow import plugins_manager
    from airflow.api_fastapi.app import create_app
    from starlette.testclient import TestClient

    modules = ("tab.app", "tab.task_page", "tab.tasks", "tab.dag_page")
    ours = [f"airflow_dask_blackbox.{each}" for each in modules]
    _without("airflow.models.xcom", monkeypatch, *ours)
    plugin = DaskBlackboxPlugin()
    monkeypatch.setattr(plugins_manager, "_get_plugins", lambda: ([plugin], {}))
    plugins_manager.get_fastapi_plugins.cache_clear()

    with caplog.at_level(logging.WARNING, "dask_blackbox"):
        client = TestClient(create_app(apps="core"), base_url="http://airflow.example")
    plugins_manager.get_fastapi_plugins.cache_clear()

    answer = client.get(f"{unavailable.PREFIX}/dags/d/task")
    assert answer.status_code == 503
    assert "ImportError: &lt;airflow.models.xcom&gt; is gone" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert client.get("/api/v2/version").status_code == 200
    (said,) = [each.getMessage() for each in caplog.records if "continued" in each.msg]
    assert 'without the tab "Dask run": ImportError: <airflow.models.xcom>' in said


def test_the_page_shows_no_text_of_other_errors() -> None:
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    page = unavailable.page_that_says(ValueError("s3://key:secret@bucket"))
    asyncio.run(page({"type": "http"}, None, send))  # type: ignore[arg-type]

    body = sent[1]["body"].decode()
    assert "ValueError" in body
    assert "secret" not in body


def test_a_provider_that_cannot_describe_itself_has_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _without("airflow_dask_blackbox.connection_form", monkeypatch)

    found = get_provider_info()

    assert found["package-name"] == "airflow-provider-dask-blackbox"
    assert "is gone" in found["description"]
