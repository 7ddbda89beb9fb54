"""A real Airflow in this process: its own home, SQLite, and DAG files that tests write.

Airflow reads its configuration when it is imported, so all of it is set here at the top.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

_HOME = Path(tempfile.mkdtemp(prefix="airflow-home-"))
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
(_HOME / "dags").mkdir()
os.environ.update(
    AIRFLOW_HOME=str(_HOME),
    DASK_BLACKBOX__STORE__URL=str(_HOME / "recordings"),
    DASK_BLACKBOX__SPOOL=str(_HOME / "spool"),
    AIRFLOW__API__BASE_URL="http://airflow.example",
    AIRFLOW__API_AUTH__JWT_SECRET="of-tests-only" * 6,
    AIRFLOW__CORE__AUTH_MANAGER="per_dag_auth.PerDagAuthManager",
    AIRFLOW__CORE__DAGS_FOLDER=str(_HOME / "dags"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    # Of an empty database; PostgreSQL's needs psycopg2-binary and asyncpg.
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=os.environ.get(
        "DASK_BLACKBOX_TEST_DATABASE", f"sqlite:///{_HOME}/airflow.db"
    ),
)

_HEADER = """\
from __future__ import annotations
from datetime import timedelta
from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

TINY = {"n_workers": 1, "threads_per_worker": 1}

class Watched(DaskObservedOperator):
    # Callbacks get no exception from `dag.test()` before Airflow 3.3.
    def execute(self, context):
        try:
            return super().execute(context)
        except Exception as error:
            context["ti"].xcom_push(key="caught", value=[type(error).__name__, str(error)])
            raise

"""


_MESSAGE = re.compile(r"Z \[\w+ *\] (.*?) *\[\S+\] loc=")


@dataclass(frozen=True)
class Ran:
    """What a task's run left."""

    state: str
    xcoms: dict[str, Any]
    run_id: str
    log: str = field(repr=False)

    @property
    def messages(self) -> list[str]:
        """The lines of the log without time, level and place."""
        return [
            found[1].strip()
            for line in self.log.splitlines()
            if (found := _MESSAGE.search(line))
        ]

    @property
    def page_of_run(self) -> str:
        """The run's id as it stands in addresses of Airflow's pages."""
        return quote(self.run_id)

    @property
    def value(self) -> Any:
        """What the callable returned."""
        return self.xcoms.get("return_value")


class InProcessAirflow:
    """Runs DAG files with `dag.test()`."""

    def __init__(self, folder: Path, printed: Callable[[], str]) -> None:
        self._folder = folder
        self._printed = printed

    def load(self, body: str, dag_id: str) -> Any:
        """Write a DAG file and import it as Airflow does.

        Args:
            body: What follows the imports, down to the `with DAG(...)` block.
            dag_id: Name of the file and of the DAG.
        """
        file = self._folder / f"{dag_id}.py"
        file.write_text(_HEADER + textwrap.dedent(body))
        return self.load_file(file, dag_id)

    def load_file(self, file: Path, dag_id: str) -> Any:
        """Import a DAG file as Airflow does, from its own folder of DAGs.

        Args:
            file: Which.
            dag_id: Which of its DAGs.
        """
        if file.parent != self._folder:
            file = Path(shutil.copy(file, self._folder))
        try:
            from airflow.dag_processing.dagbag import DagBag
        except ImportError:  # Airflow 3.1
            from airflow.models.dagbag import DagBag  # type: ignore[no-redef]

        bag = DagBag(str(file))

        assert bag.import_errors == {}
        return bag.dags[dag_id]

    def run(self, body: str, dag_id: str, conf: dict[str, Any] | None = None) -> Ran:
        """Run a DAG file of one task to its end."""
        return self.run_dag(self.load(body, dag_id), conf)

    def run_dag(self, dag: Any, conf: dict[str, Any] | None = None) -> Ran:
        """Run a DAG of one task to its end."""
        dag_run = dag.test(run_conf=conf)
        (ti,) = dag_run.get_task_instances()
        return Ran(
            state=str(ti.state),
            xcoms=_xcoms_of(dag_run),
            run_id=dag_run.run_id,
            log=self._printed(),
        )

    def xcoms(self, dag_run: Any) -> dict[str, Any]:
        """Return what the tasks of a run pushed."""
        return _xcoms_of(dag_run)


def _xcoms_of(dag_run: Any) -> dict[str, Any]:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(XComModel).filter(XComModel.run_id == dag_run.run_id)
        return {row.key: XComModel.deserialize_value(row) for row in found}


@pytest.fixture(scope="module")
def airflow_of_module(_database: None) -> InProcessAirflow:
    """An Airflow whose DAG runs serve several tests; it does not know what they printed."""
    return InProcessAirflow(_HOME / "dags", str)


@pytest.fixture(scope="session")
def _database() -> None:
    with warnings.catch_warnings():
        # Airflow's migrations, on the newest Alembic and SQLAlchemy.
        warnings.simplefilter("ignore")
        from airflow.utils.db import initdb

        initdb()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a stopped task wait until all is said, on a busy machine too.

    A supervisor would send SIGKILL five seconds after SIGTERM; `dag.test()` has none.
    """
    from airflow_dask_blackbox import plain_recordings, stopping, task_recording
    from airflow_dask_blackbox.operators import dask

    for module in (plain_recordings, stopping, task_recording):
        monkeypatch.setattr(module, "GRACE", 120.0)
    monkeypatch.setattr(stopping, "_ANSWER", 60.0)
    monkeypatch.setattr(dask, "_CLOSING", 60.0)


@pytest.fixture
def airflow(
    _database: None, capsys: pytest.CaptureFixture[str]
) -> Iterator[InProcessAirflow]:
    """An Airflow to run DAG files in."""
    yield InProcessAirflow(_HOME / "dags", lambda: capsys.readouterr().out)
    for file in (_HOME / "dags").glob("*.py"):
        file.unlink()
