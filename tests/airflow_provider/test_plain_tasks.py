"""Tasks that know nothing of the recorder: each Dask client that they make is recorded."""

from __future__ import annotations

import importlib
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox import listener
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.dask_log import _Fold
from airflow_dask_blackbox.import_hooks import after_import
from airflow_dask_blackbox.plugin import DaskBlackboxPlugin
from airflow_dask_blackbox.selection import TaskSelection
from dask_blackbox.layout import RunAddress

from tests.support.airflow_versions import needs_exception_in_callbacks


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Where tasks record to, with the setting that records every client."""
    try:
        from airflow.sdk.listener import get_listener_manager
    except ImportError:  # Airflow 3.1
        from airflow.listeners.listener import (  # type: ignore[assignment]
            get_listener_manager,
        )

    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", str(tmp_path))
    manager: Any = get_listener_manager()
    manager.add_listener(listener)
    yield tmp_path
    manager.pm.unregister(listener)


def _card(store: Path, job: str, run_id: str) -> Any:
    file = store / RunAddress.of(job, run_id, 1).folder / "card.json"
    return json.loads(file.read_text())


def test_a_plain_task_with_a_local_cluster_works_and_is_recorded(
    airflow: Any, store: Path
) -> None:
    ran = airflow.run(
        """
        from airflow.sdk import task

        def double(x):
            return 2 * x

        with DAG("plain"):
            @task
            def work():
                from distributed import Client, LocalCluster

                with (
                    LocalCluster(
                        n_workers=1, threads_per_worker=1, dashboard_address=":0"
                    ) as cluster,
                    Client(cluster) as client,
                ):
                    return client.submit(double, 21).result()

            work()
        """,
        "plain",
    )

    assert ran.value == 42
    card = _card(store, "plain.work", ran.run_id)
    assert (card["state"], card["numbers"]["tasks"]) == ("succeeded", 1)
    assert card["headline"] in ran.messages


@pytest.mark.nightly
def test_workers_of_a_plain_task_import_airflow_and_refuse_its_variables(
    airflow: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As Airflow sets it in a task's process.
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:")
    ran = airflow.run(
        """
        from airflow.sdk import task

        with DAG("plain_asking"):
            @task
            def work():
                from distributed import Client

                def ask():
                    from airflow.sdk import Variable
                    return Variable.get("limit", default="wrong")

                with Client(
                    n_workers=1, threads_per_worker=1, dashboard_address=":0"
                ) as client:
                    return str(client.submit(ask).exception())

            work()
        """,
        "plain_asking",
    )

    assert ran.value.startswith(
        "Airflow's variable 'limit' cannot be read on a Dask worker: "
    )


@needs_exception_in_callbacks
def test_a_plain_task_that_fails_keeps_its_exception_and_has_a_verdict(
    airflow: Any, store: Path
) -> None:
    ran = airflow.run(
        """
        from airflow.providers.standard.operators.python import PythonOperator

        def refuse(x):
            raise ValueError(f"{x} is too many")

        def work(day):
            from distributed import Client
            with Client(processes=False, dashboard_address=":0") as client:
                return client.submit(refuse, 21).result()

        def caught(context):
            context["ti"].xcom_push(key="caught", value=repr(context["exception"]))

        with DAG("plain_failure"):
            PythonOperator(
                task_id="work",
                python_callable=work,
                op_args=["Friday"],
                on_failure_callback=caught,
            )
        """,
        "plain_failure",
    )

    assert ran.xcoms["caught"] == "ValueError('21 is too many')"
    verdict = _card(store, "plain_failure.work", ran.run_id)["verdict"]
    assert verdict["rule"] == "task-exception"
    assert "21 is too many" in verdict["title"]


@needs_exception_in_callbacks
@pytest.mark.nightly
def test_a_plain_task_whose_result_cannot_be_stored_has_airflows_error_and_a_verdict(
    airflow: Any, store: Path
) -> None:
    ran = airflow.run(
        """
        from airflow.providers.standard.operators.python import PythonOperator

        def work():
            import numpy
            from distributed import Client
            with Client(processes=False, dashboard_address=":0") as client:
                return client.submit(numpy.arange, 3).result()

        def caught(context):
            context["ti"].xcom_push(key="caught", value=repr(context["exception"]))

        with DAG("plain_array"):
            PythonOperator(
                task_id="work", python_callable=work, on_failure_callback=caught
            )
        """,
        "plain_array",
    )

    assert ran.xcoms["caught"].startswith("TypeError(")
    card = _card(store, "plain_array.work", ran.run_id)
    assert card["state"] == "failed"
    assert (
        "work returned a numpy.ndarray, which Airflow cannot store" in card["headline"]
    )


@pytest.mark.nightly
def test_the_python_of_a_bash_task_is_recorded(airflow: Any, store: Path) -> None:
    import sys

    script = store / "job.py"
    script.write_text(
        "from distributed import Client\n"
        "if __name__ == '__main__':\n"
        "    with Client(processes=False, dashboard_address=':0') as client:\n"
        "        print(client.submit(sum, [40, 2]).result())\n"
    )
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("plain_bash"):
            BashOperator(
                task_id="work",
                bash_command="{sys.executable} {script} && echo $KNOWN",
                env={{"KNOWN": "yes"}},
            )
        """,
        "plain_bash",
    )

    assert ran.value == "yes"
    card = _card(store, "plain_bash.work", ran.run_id)
    assert (card["state"], card["numbers"]["tasks"]) == ("succeeded", 1)


@pytest.mark.parametrize(
    ("work", "headline"),
    [
        (
            "client.gather(client.map(share, [2, 1, 0]))",
            "ZeroDivisionError in 'share': division by zero",
        ),
        pytest.param(
            "raise LookupError('no orders')",
            "LookupError in the driver: no orders",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_the_verdict_on_a_bash_task_is_on_what_its_python_raised(
    airflow: Any, store: Path, work: str, headline: str
) -> None:
    script = store / "job.py"
    script.write_text(
        "from distributed import Client\n"
        "def share(n):\n"
        "    return 1 / n\n"
        "if __name__ == '__main__':\n"
        "    with Client(processes=False, dashboard_address=':0') as client:\n"
        f"        {work}\n"
    )
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("bash_raises"):
            BashOperator(task_id="work", bash_command="{sys.executable} {script}")
        """,
        "bash_raises",
    )

    card = _card(store, "bash_raises.work", ran.run_id)
    assert card["headline"] == headline
    assert card["verdict"]["confidence"] == "high"
    assert "Bash command failed" not in json.dumps(card)


@pytest.mark.nightly
def test_the_verdict_on_a_command_that_fails_before_dask_is_on_what_it_printed(
    airflow: Any, store: Path
) -> None:
    script = store / "job.py"
    script.write_text("import a_package_that_is_not_there\n")
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("bash_import"):
            BashOperator(task_id="work", bash_command="{sys.executable} {script}")
        """,
        "bash_import",
    )

    card = _card(store, "bash_import.work", ran.run_id)
    assert "No module named 'a_package_that_is_not_there'" in card["verdict"]["title"]


@pytest.mark.nightly
def test_the_command_that_a_function_returns_is_recorded(
    airflow: Any, store: Path
) -> None:
    script = store / "job.py"
    script.write_text(
        "import sys\n"
        "from distributed import Client\n"
        "if __name__ == '__main__':\n"
        "    with Client(processes=False, dashboard_address=':0') as client:\n"
        "        print(client.submit(str.upper, sys.argv[1]).result())\n"
    )
    ran = airflow.run(
        f"""
        from airflow.sdk import task

        with DAG("plain_bash_function"):
            @task.bash
            def work(day):
                return f"{sys.executable} {script} {{day}}"

            work("friday")
        """,
        "plain_bash_function",
    )

    assert ran.value == "FRIDAY"
    card = _card(store, "plain_bash_function.work", ran.run_id)
    assert (card["state"], card["numbers"]["tasks"]) == ("succeeded", 1)


@pytest.mark.nightly
def test_the_last_line_of_a_bash_task_is_still_its_own(
    airflow: Any, store: Path
) -> None:
    script = store / "job.py"
    script.write_text(
        "from distributed import Client\n"
        "if __name__ == '__main__':\n"
        "    with Client(processes=False, dashboard_address=':0') as client:\n"
        "        print('sum', client.submit(sum, [40, 2]).result())\n"
    )
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("last_line"):
            BashOperator(task_id="work", bash_command="{sys.executable} {script}")
        """,
        "last_line",
    )

    assert ran.value == "sum 42"


def test_dasks_own_log_of_a_plain_task_is_in_a_fold(
    airflow: Any, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ran = airflow.run(
        """
        from airflow.sdk import task

        with DAG("folded"):
            @task
            def work():
                import logging

                from distributed import Client

                with Client(
                    processes=False, dashboard_address=":0", silence_logs=False
                ) as client:
                    logging.getLogger("distributed.worker").info("a note")
                    logging.getLogger("distributed.worker").warning("a warning")
                    return client.submit(sum, [40, 2]).result()

            work()
        """,
        "folded",
    )

    start = ran.messages.index("::group::Dask's own log")
    end = ran.messages.index("::endgroup::", start)
    folded = ran.messages[start:end]
    assert [line for line in folded if line.endswith("distributed.worker: a note")]
    assert [line for line in folded if "a warning" in line] == []
    # What a handler of the task's process gets at once.
    assert "a warning" in caplog.messages
    assert "a note" not in caplog.messages


@pytest.mark.nightly
def test_a_worker_process_of_a_plain_task_prints_one_failed_task(
    airflow_of_module: Any, store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dag = airflow_of_module.load(
        """
        from airflow.sdk import task

        def refuse(number):
            raise ValueError(f"row {number} is wrong")

        with DAG("many_failed"):
            @task
            def work():
                from distributed import Client, wait

                with Client(
                    n_workers=1, threads_per_worker=1, dashboard_address=":0"
                ) as client:
                    return len(wait(client.map(refuse, range(20))).done)

            work()
        """,
        "many_failed",
    )

    ran = airflow_of_module.run_dag(dag)

    assert ran.value == 20
    assert capfd.readouterr().err.count("Compute Failed") == 1


@pytest.mark.nightly
def test_a_cluster_that_a_task_leaves_open_logs_nothing_below_the_end_of_the_task(
    airflow: Any, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from distributed.deploy.spec import SpecCluster

    before = set(SpecCluster._instances)
    ran = airflow.run(
        """
        from airflow.sdk import task

        with DAG("left_open"):
            @task
            def work():
                from distributed import Client

                client = Client(
                    processes=False, dashboard_address=":0", silence_logs=False
                )
                return client.submit(sum, [40, 2]).result()

            work()
        """,
        "left_open",
    )
    assert ran.value == 42
    (cluster,) = set(SpecCluster._instances) - before
    try:
        caplog.clear()
        cluster.close()

        said = [each for each in caplog.records if each.name.startswith("distributed")]
        assert [each for each in said if each.levelno < logging.WARNING] == []
    finally:
        for handler in logging.getLogger().handlers:
            handler.filters[:] = [
                each for each in handler.filters if not isinstance(each, _Fold)
            ]


@pytest.mark.nightly
def test_dasks_own_log_of_a_command_is_in_a_fold(airflow: Any, store: Path) -> None:
    script = store / "job.py"
    script.write_text(
        "import logging\n"
        "from distributed import Client\n"
        "if __name__ == '__main__':\n"
        "    with Client(\n"
        "        processes=False, dashboard_address=':0', silence_logs=False\n"
        "    ) as client:\n"
        "        logging.getLogger('distributed.worker').warning('a warning')\n"
        "        print(client.submit(sum, [40, 2]).result())\n"
    )
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("folded_command"):
            BashOperator(task_id="work", bash_command="{sys.executable} {script}")
        """,
        "folded_command",
    )

    start = ran.messages.index("::group::Dask's own log")
    end = ran.messages.index("::endgroup::", start)
    scheduler = [
        number
        for number, line in enumerate(ran.messages)
        if " - distributed.scheduler - INFO - " in line
    ]
    assert scheduler
    assert start < scheduler[0] <= scheduler[-1] < end
    before = ran.messages[:start]
    assert "42" in before
    assert [line for line in before if line.endswith("WARNING - a warning")]


@pytest.mark.parametrize(
    ("tags", "work"),
    [
        ("[]", "pass"),
        (
            "['no-dask-recording']",
            (
                "from distributed import Client;"
                "Client(processes=False, dashboard_address=':0').close()"
            ),
        ),
    ],
)
def test_a_task_without_dask_and_a_dag_that_opts_out_leave_no_trace(
    airflow: Any, store: Path, tags: str, work: str
) -> None:
    ran = airflow.run(
        f"""
        from airflow.sdk import task

        with DAG("left_alone", tags={tags}):
            @task
            def work():
                {work}

            work()
        """,
        "left_alone",
    )

    assert ran.state == "success"
    assert list(store.iterdir()) == []


_OWN_OPERATORS = """
    from airflow.sdk import BaseOperator, BaseSensorOperator, TaskGroup

    def double(x):
        return 2 * x

    def doubled(x):
        from distributed import Client

        with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
            return client.submit(double, x).result()

    class Doubling(BaseOperator):
        def execute(self, context):
            return doubled(21)

    class Waiting(BaseSensorOperator):
        def poke(self, context):
            return doubled(1) == 2

    with DAG("own_operators", tags=["dask"]):
        with TaskGroup("checks"):
            Waiting(task_id="waits")
        Doubling(task_id="doubles")
    """


def test_own_operators_and_sensors_are_recorded(airflow: Any, store: Path) -> None:
    dag_run = airflow.load(_OWN_OPERATORS, "own_operators").test()

    assert dag_run.state == "success"
    for task in ("checks.waits", "doubles"):
        card = _card(store, f"own_operators.{task}", dag_run.run_id)
        assert (card["state"], card["numbers"]["tasks"]) == ("succeeded", 1)


@pytest.mark.parametrize(
    "fails", [pytest.param(False, marks=pytest.mark.nightly), True]
)
def test_the_dask_of_a_task_in_another_python_is_recorded(
    airflow: Any, store: Path, fails: Any
) -> None:
    ran = airflow.run(
        f"""
        import sys

        from airflow.sdk import task

        with DAG("elsewhere"):
            @task.external_python(python=sys.executable, expect_airflow=False)
            def work(fails):
                from distributed import Client

                with Client(
                    n_workers=1, processes=False, dashboard_address=":0"
                ) as client:
                    got = client.submit(len, "abc").result()
                    if fails:
                        raise LookupError("no such day")
                    return got

            work({fails})
        """,
        "elsewhere",
    )

    assert ran.state == ("failed" if fails else "success")
    card = _card(store, "elsewhere.work", ran.run_id)
    assert card["numbers"]["tasks"] == 1
    if fails:
        assert card["verdict"]["rule"] == "driver-exception"
        assert "no such day" in card["headline"]


@pytest.mark.parametrize(
    ("only", "never", "recorded"),
    [
        ("", "", True),
        ("dag:own_*", "", True),
        ("dag:other", "", False),
        ("dag:other, tag:dask", "", True),
        ("operator:BaseSensorOperator", "", True),
        ("task_group:checks", "operator:Waiting", False),
        ("", "task_group:check?", False),
        ("task:checks.waits", "tag:slow", True),
    ],
)
def test_tasks_are_selected_by_patterns(
    airflow: Any,
    monkeypatch: pytest.MonkeyPatch,
    only: str,
    never: str,
    recorded: Any,
) -> None:
    section = "AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT"
    monkeypatch.setenv(f"{section}_ONLY", only)
    monkeypatch.setenv(f"{section}_EXCEPT", never)
    dag = airflow.load(_OWN_OPERATORS, "own_operators")

    assert TaskSelection.configured().takes(dag.get_task("checks.waits")) == recorded


@pytest.mark.parametrize("wrong", ["etl_*", "dags:etl", "dag:"])
def test_a_pattern_without_a_kind_is_refused(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT_ONLY", wrong)

    with pytest.raises(OperatorConfigurationError, match=r"as in dag:etl_\*"):
        TaskSelection.configured()


def test_airflow_hears_of_no_listener_without_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One listener anywhere, and DAGs that end in the triggerer no longer load.
    assert DaskBlackboxPlugin().listeners == []
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT", "True")
    assert DaskBlackboxPlugin().listeners == [listener]


def test_two_that_wait_for_the_same_module_both_hear_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As in a task's process, which has not imported distributed before.
    monkeypatch.delitem(sys.modules, "this", raising=False)
    heard: list[str] = []

    with (
        after_import("this", lambda: heard.append("one")),
        after_import("this", lambda: heard.append("other")),
    ):
        importlib.import_module("this")

    assert sorted(heard) == ["one", "other"]
