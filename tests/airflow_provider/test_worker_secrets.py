"""On workers, Airflow's variables and connections raise instead of giving defaults."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox import Run
from dask_blackbox.layout import RunAddress

pytestmark = pytest.mark.nightly

_DAG = """
    def asked(how):
        from airflow.hooks.base import BaseHook
        from airflow.models import Connection as OldConnection, Variable as OldVariable
        from airflow.sdk import Connection, Variable

        def xcom():
            from airflow.sdk.execution_time.xcom import XCom

            XCom.set("total", 1, dag_id="d", task_id="t", run_id="r")

        def session():
            from airflow.utils.session import create_session

            with create_session() as session:
                session.query(OldVariable).count()

        return {
            "Variable": lambda: Variable.get("limit", default="10"),
            "set": lambda: Variable.set("limit", "11"),
            "delete": lambda: Variable.delete("limit"),
            "old Variable": lambda: OldVariable.get("limit", default_var="10"),
            "old set": lambda: OldVariable.set("limit", "11"),
            "old delete": lambda: OldVariable.delete("limit"),
            "old setdefault": lambda: OldVariable.setdefault("limit", "11"),
            "Connection": lambda: Connection.get("warehouse"),
            "BaseHook": lambda: BaseHook.get_connection("warehouse"),
            "old Connection": lambda: OldConnection.get_connection_from_secrets(
                "warehouse"
            ),
            "XCom": xcom,
            "session": session,
            "from the environment": lambda: Variable.get("known", default="10"),
        }[how]()

    WAYS = (
        "Variable", "set", "delete", "old Variable", "old set", "old delete",
        "old setdefault", "Connection", "BaseHook", "old Connection", "XCom",
        "session", "from the environment",
    )

    def ask_each(client):
        answers = {}
        for how in WAYS:
            future = client.submit(asked, how, pure=False)
            error = future.exception()
            answers[how] = future.result() if error is None else str(error)
        return answers

    def inherited():
        from distributed.deploy.subprocess import SubprocessCluster
        return SubprocessCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
"""


def _refusal(what: str, instead: str) -> str:
    return (
        f"{what} on a Dask worker: only the process of the Airflow task can ask Airflow; "
        f"{instead}"
    )


def _unread(what: str, how: str) -> str:
    return _refusal(
        f"Airflow's {what} cannot be read",
        f"call {how} in the task's callable and pass the value to the function that runs "
        "on the worker",
    )


def _unwritten(what: str) -> str:
    return _refusal(
        f"Airflow's {what}",
        "return the value from the function that runs on the worker, and do this in the "
        "task's callable",
    )


_NO_VARIABLE = _unread("variable 'limit'", "Variable.get(…)")
_NO_CONNECTION = _unread("connection 'warehouse'", "BaseHook.get_connection(…)")
_ANSWERS = {
    "Variable": _NO_VARIABLE,
    "set": _unwritten("variable 'limit' cannot be set"),
    "delete": _unwritten("variable 'limit' cannot be deleted"),
    "old Variable": _NO_VARIABLE,
    "old set": _unwritten("variable 'limit' cannot be set"),
    "old delete": _unwritten("variable 'limit' cannot be deleted"),
    "old setdefault": _NO_VARIABLE,
    "Connection": _NO_CONNECTION,
    "BaseHook": _NO_CONNECTION,
    "old Connection": _NO_CONNECTION,
    "XCom": _unwritten("XCom 'total' cannot be pushed"),
    "session": _refusal(
        "Airflow's metadata database cannot be used",
        "read what you need in the task's callable, and pass it to the function that "
        "runs on the worker",
    ),
    "from the environment": "42",
}


@pytest.fixture(autouse=True)
def _database_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process name the database that Airflow forbids in its tasks."""
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:")
    monkeypatch.setenv("AIRFLOW_VAR_KNOWN", "42")


@pytest.mark.parametrize("cluster", ["cluster_kwargs=TINY", "cluster=inherited"])
def test_what_only_the_task_can_ask_airflow_for_raises_on_workers(
    airflow: Any, cluster: str, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""{_DAG}
    with DAG("asking_workers"):
        DaskObservedOperator(
            task_id="ask", python_callable=ask_each, store={str(tmp_path)!r}, {cluster}
        )
        """,
        "asking_workers",
    )

    assert ran.value == _ANSWERS
    folder = RunAddress.of("asking_workers.ask", ran.run_id, 1).folder
    logged = "\n".join(Run.open(tmp_path / folder).logs["message"])
    assert "cannot be set on a Dask worker" in logged
    assert "no such table" not in logged
    assert "cannot import name" not in logged


def test_the_remedy_for_a_task_that_asks_is_to_pass_the_value(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""{_DAG}
    with DAG("asking_in_vain"):
        DaskObservedOperator(
            task_id="ask", store={str(tmp_path)!r}, cluster_kwargs=TINY,
            python_callable=lambda client: client.submit(asked, "set").result(),
        )
        """,
        "asking_in_vain",
    )

    folder = RunAddress.of("asking_in_vain.ask", ran.run_id, 1).folder
    verdict = json.loads((tmp_path / folder / "card.json").read_text())["verdict"]
    assert (verdict["retry_advice"], verdict["retry_confidence"]) == ("code", "high")
    assert "pass the value to the function that runs on the worker" in verdict["remedy"]
    assert "retries" not in verdict["remedy"]


def test_workers_of_a_hooks_cluster_refuse_too(
    airflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = {"cluster_kwargs": {"n_workers": 1, "threads_per_worker": 1}}
    connection = {"conn_type": "dask", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_FARM", json.dumps(connection))
    ran = airflow.run(
        f"""{_DAG}
    def ask_by_hook():
        from airflow_dask_blackbox.hooks.dask import DaskHook
        from distributed import Client

        with DaskHook("farm").get_cluster() as cluster:
            with Client(cluster) as client:
                return str(client.submit(asked, "Variable").exception())

    with DAG("asking_by_hook"):
        DaskObservedOperator(
            task_id="ask", python_callable=ask_by_hook,
            cluster_kwargs={{**TINY, "processes": False}},
        )
        """,
        "asking_by_hook",
    )

    assert ran.value == _NO_VARIABLE


def test_workers_in_the_tasks_own_process_ask_airflow(airflow: Any) -> None:
    ran = airflow.run(
        """
        def asked():
            from airflow.sdk import Variable
            return Variable.get("limit", default="ten")

        with DAG("asking_threads"):
            DaskObservedOperator(
                task_id="ask",
                python_callable=lambda client: client.submit(asked).result(),
                cluster_kwargs={**TINY, "processes": False},
            )
        """,
        "asking_threads",
    )

    assert ran.value == "ten"


def test_a_worker_that_is_used_no_more_is_as_before() -> None:
    code = """
import sys
from pathlib import Path
import airflow_dask_blackbox
from airflow_dask_blackbox import worker_secrets
import pickle
plugin = worker_secrets.AirflowSecrets("another process")
for _ in range(2):  # on from where it has arrived
    plugin = pickle.loads(pickle.dumps(plugin))
plugin.setup(None)
from airflow.sdk import Variable
try:
    Variable.get("limit", default="default")
except RuntimeError as error:
    print("refused")
plugin.teardown(None)
print(Variable.get("limit", default="default"),
    [each for each in sys.meta_path if type(each).__name__ == "_Finder"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["refused", "default", "[]"]
