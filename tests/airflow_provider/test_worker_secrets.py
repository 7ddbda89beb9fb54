"""On workers, Airflow's variables and connections raise instead of giving defaults."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.nightly

_STORY = """
    def asked(how):
        from airflow.hooks.base import BaseHook
        from airflow.models import Connection as OldConnection, Variable as OldVariable
        from airflow.sdk import Connection, Variable

        return {
            "Variable": lambda: Variable.get("limit", default="10"),
            "old Variable": lambda: OldVariable.get("limit", default_var="10"),
            "Connection": lambda: Connection.get("warehouse"),
            "BaseHook": lambda: BaseHook.get_connection("warehouse"),
            "old Connection": lambda: OldConnection.get_connection_from_secrets(
                "warehouse"
            ),
            "from the environment": lambda: Variable.get("known", default="10"),
        }[how]()

    def ask_each(client):
        answers = {}
        for how in (
            "Variable", "old Variable", "Connection", "BaseHook", "old Connection",
            "from the environment",
        ):
            future = client.submit(asked, how, pure=False)
            error = future.exception()
            answers[how] = future.result() if error is None else str(error)
        return answers
"""


def _refusal(kind: str, key: str, how: str) -> str:
    return (
        f"Airflow's {kind} {key!r} cannot be read on a Dask worker: only the process of "
        f"the Airflow task can ask Airflow; call {how} in the task's callable and pass "
        "the value to the function that runs on the worker"
    )


_NO_VARIABLE = _refusal("variable", "limit", "Variable.get(…)")
_NO_CONNECTION = _refusal("connection", "warehouse", "BaseHook.get_connection(…)")


def test_what_only_the_task_can_ask_airflow_for_raises_on_workers(
    airflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_VAR_KNOWN", "42")
    ran = airflow.run(
        f"""{_STORY}
    with DAG("asking_workers"):
        DaskObservedOperator(
            task_id="ask", python_callable=ask_each, cluster_kwargs=TINY
        )
        """,
        "asking_workers",
    )

    assert ran.value == {
        "Variable": _NO_VARIABLE,
        "old Variable": _NO_VARIABLE,
        "Connection": _NO_CONNECTION,
        "BaseHook": _NO_CONNECTION,
        "old Connection": _NO_CONNECTION,
        "from the environment": "42",
    }


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
source = Path(worker_secrets.__file__).read_text()
import pickle
plugin = pickle.loads(pickle.dumps(worker_secrets.shipped(source)))
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
