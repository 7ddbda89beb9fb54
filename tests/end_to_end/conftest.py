"""A bucket and a real Airflow for all tests of this folder that want them: it starts once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conditions import LOAD_FACTOR, scaled
from dask_blackbox.testing import EmbeddedS3, embedded_s3
from demo_modules import demo_module

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))
DAGS = Path(__file__).with_name("airflow_dags")
CHROMIUM = "/usr/bin/chromium"
PATIENCE = scaled(120_000)
"""Milliseconds."""
PER_DAG = "per_dag_auth.PerDagAuthManager"
"""Unless `TEST_AUTH_MANAGER` names another one, for `test_airflow_night.py`."""


@pytest.fixture(scope="session")
def s3() -> Iterator[EmbeddedS3]:
    """A bucket."""
    with embedded_s3() as server:
        yield server


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory, s3: EmbeddedS3) -> Iterator[Any]:
    """An Airflow below a path, with two users, whose tasks are recorded in the bucket."""
    folder = tmp_path_factory.mktemp("airflow")
    data = tmp_path_factory.mktemp("orders")
    demo_module("data").make_orders(data)
    shutil.copytree(ROOT / "dags", folder / "dags")
    shutil.copytree(DAGS, folder / "dags" / "of_tests")
    # Airflow imports from this folder of its home.
    (folder / "home" / "config").mkdir(parents=True)
    auth = ROOT / "tests" / "support" / "per_dag_auth.py"
    shutil.copy(auth, folder / "home" / "config")
    environ = {
        **s3.environment,
        "AIRFLOW__CORE__AUTH_MANAGER": os.environ.get("TEST_AUTH_MANAGER", PER_DAG),
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "DEMO_DATA": str(data),
        "DASK_BLACKBOX__SPOOL": str(folder / "spool"),
        "RECORDINGS_OF_TESTS": str(folder / "recordings"),
    }
    if database := os.environ.get("TEST_DATABASE"):
        environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = database
    with demo_module("airflow_host").AirflowHost(
        folder / "home",
        dags=folder / "dags",
        commands=COMMANDS,
        environ=environ,
        prefix="/airflow",
        users={"ada": "admin", "vera": "viewer"},
        patience=LOAD_FACTOR,
    ) as host:
        yield host


class EndedRuns(dict[str, Any]):
    """Runs of DAGs that have ended, by DAG: one runs when a test first asks for it."""

    def __init__(self, host: Any) -> None:
        super().__init__()
        self._host = host

    def __missing__(self, dag: str) -> Any:
        run = self._host.trigger(dag)
        self._host.wait(run)
        self[dag] = run
        return run


@pytest.fixture(scope="session")
def reported(host: Any) -> EndedRuns:
    """Runs of DAGs that have ended, by DAG."""
    return EndedRuns(host)


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Return where pictures of pages are kept, to be looked at."""
    folder = Path(os.environ.get("SCREENSHOTS", ROOT / ".screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    # Not of every suite's environment.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def ada(host: Any, browser: Any) -> Iterator[Any]:
    """The browser of an administrator who is logged in."""
    context = browser.new_context(viewport={"width": 1500, "height": 1000})
    context.add_cookies([{"name": "_token", "value": host.token, "url": host.url}])
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()
