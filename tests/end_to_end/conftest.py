"""A bucket and a real Airflow for all tests of this folder that want them: it starts once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.testing import EmbeddedS3, embedded_s3

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))
DAGS = Path(__file__).with_name("airflow_dags")


def _demo(name: str) -> Any:
    """Return a module of the demo's folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "demo" / f"{name}.py")

    assert spec is not None
    assert spec.loader is not None

    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


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
    _demo("data").make_orders(data)
    shutil.copytree(ROOT / "dags", folder / "dags")
    shutil.copytree(DAGS, folder / "dags" / "of_tests")
    # Airflow imports from this folder of its home.
    (folder / "home" / "config").mkdir(parents=True)
    auth = ROOT / "tests" / "support" / "per_dag_auth.py"
    shutil.copy(auth, folder / "home" / "config")
    environ = {
        **s3.environment,
        "AIRFLOW__CORE__AUTH_MANAGER": "per_dag_auth.PerDagAuthManager",
        "DEMO_DATA": str(data),
        "DASK_BLACKBOX__SPOOL": str(folder / "spool"),
        "RECORDINGS_OF_TESTS": str(folder / "recordings"),
    }
    if database := os.environ.get("TEST_DATABASE"):
        environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = database
    with _demo("airflow_host").AirflowHost(
        folder / "home",
        dags=folder / "dags",
        commands=COMMANDS,
        environ=environ,
        prefix="/airflow",
        users={"ada": "admin", "vera": "viewer"},
    ) as host:
        yield host


@pytest.fixture(scope="session")
def reported(host: Any) -> dict[str, Any]:
    """Runs of DAGs that have ended, by DAG."""
    names = (
        "recorded_etl",
        "out_of_memory",
        "mapped",
        "expanded",
        "plainly",
        "private_books",
    )
    runs = {name: host.trigger(name) for name in names}
    for run in runs.values():
        host.wait(run)
    return runs


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Return where pictures of pages are kept, to be looked at."""
    folder = Path(os.environ.get("SCREENSHOTS", ROOT / ".screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
