"""`@task.dask_observed` has what the operator has, mapped over values too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dask_blackbox.layout import RunAddress


def _document(store: Path, job: str, run_id: str, name: str) -> Any:
    return json.loads((store / RunAddress.of(job, run_id, 1).folder / name).read_text())


@pytest.mark.nightly
def test_a_decorated_function_is_an_observed_task(airflow: Any, tmp_path: Path) -> None:
    dag = airflow.load(
        f"""
from airflow.sdk import task

def double(x):
    return 2 * x

with DAG("decorated", params={{"size": 3}}):

    @task.dask_observed(
        cluster_kwargs={{**TINY, "n_workers": "{{{{ params.size - 2 }}}}"}},
        store={str(tmp_path)!r},
        multiple_outputs=True,
    )
    def work(day, factor, client, dag_run, *, size=1):
        import dask
        done = client.submit(double, factor).result()
        return {{"value": done + dask.delayed(double)(size).compute(),
                 "day": day, "run": dag_run.run_id}}

    @task
    def after(value, day):
        return f"{{day}}: {{value}}"

    found = work("{{{{ dag.dag_id }}}}", 20, size=1)
    after(found["value"], found["day"])
""",
        "decorated",
    )
    run = dag.test()

    states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
    assert states == {"work": "success", "after": "success"}
    xcoms = airflow.xcoms(run)
    assert (xcoms["value"], xcoms["run"]) == (42, run.run_id)
    assert xcoms["return_value"] == "decorated: 42"
    card = _document(tmp_path, "decorated.work", run.run_id, "card.json")
    assert (card["state"], card["numbers"]["tasks"]) == ("succeeded", 2)


def test_a_decorated_function_is_mapped_each_instance_with_its_own_recording(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(
        f"""
from airflow.sdk import task

with DAG("decorated_mapped"):

    @task.dask_observed(
        cluster_kwargs={{**TINY, "processes": False}}, store={str(tmp_path)!r}
    )
    def work(day, times, client):
        return client.submit(lambda x: x * times, day).result()

    @task
    def join(found):
        return list(found)

    join(work.partial(times=2).expand(day=["Mo", "Tu"]))
""",
        "decorated_mapped",
    )
    run = dag.test()

    assert airflow.xcoms(run)["return_value"] is not None
    cards = [
        _document(
            tmp_path, "decorated_mapped.work", f"{run.run_id}.map{index}", "card.json"
        )
        for index in (0, 1)
    ]
    assert [card["state"] for card in cards] == ["succeeded", "succeeded"]
    values = {
        ti.task_id: ti.xcom_pull(task_ids="join", key="return_value")
        for ti in run.get_task_instances()
        if ti.task_id == "join"
    }
    assert values == {"join": ["MoMo", "TuTu"]}


@pytest.mark.nightly
def test_the_client_may_follow_what_airflow_fills(airflow: Any) -> None:
    dag = airflow.load(
        """
        from airflow.sdk import task

        with DAG("client_last"):
            @task.dask_observed(cluster_kwargs={**TINY, "processes": False})
            def work(ti, client):
                return client.submit(abs, -ti.try_number).result()

            @task.dask_observed(cluster_kwargs={**TINY, "processes": False})
            def each(day, ti, client):
                return client.submit(abs, -ti.try_number).result()

            work() >> each.expand(day=["Mo", "Tu"])
        """,
        "client_last",
    )

    run = dag.test()

    states = [str(ti.state) for ti in run.get_task_instances()]
    assert states == ["success", "success", "success"]
    assert airflow.xcoms(run)["return_value"] == 1


def test_an_argument_that_is_missing_is_named_while_the_dag_is_parsed() -> None:
    import pytest
    from airflow.sdk import DAG
    from airflow_dask_blackbox.decorators import dask_observed

    @dask_observed
    def work(day: str, client: Any) -> None: ...

    with DAG("missing", schedule=None), pytest.raises(TypeError, match="'day'"):
        work()


def test_the_decorator_names_the_arguments_of_the_operator_for_editors() -> None:
    import inspect

    from airflow_dask_blackbox.decorators import dask_observed
    from airflow_dask_blackbox.operators.dask import DaskObservedOperator

    def own(function: Any) -> dict[str, object]:
        parameters = inspect.signature(function).parameters.values()
        return {
            each.name: each.annotation
            for each in parameters
            if each.kind is each.KEYWORD_ONLY
        }

    assert own(dask_observed) == own(DaskObservedOperator.__init__)


def test_an_argument_that_is_not_given_is_that_of_the_dag(airflow: Any) -> None:
    dag = airflow.load(
        """
        from airflow.sdk import task

        with DAG("by_default", default_args={"store": "/of/the/dag", "required": True}):
            @task.dask_observed(required=False)
            def work():
                pass

            work()
        """,
        "by_default",
    )

    found = dag.get_task("work")
    assert (found.store, found.required) == ("/of/the/dag", False)


@pytest.mark.nightly
def test_the_outputs_of_a_mapped_task_are_a_list_that_workers_can_use(
    airflow: Any,
) -> None:
    dag = airflow.load(
        """
        from airflow.sdk import task

        with DAG("reduced"):
            @task
            def extract(site):
                return len(site)

            @task.dask_observed(cluster_kwargs={**TINY, "processes": False})
            def total(sizes, named, client):
                import dask
                assert type(sizes) is type(named["sizes"]) is list
                return client.submit(sum, sizes).result() + dask.delayed(sum)(
                    named["sizes"]
                ).compute()

            sizes = extract.expand(site=["north", "east"])
            total(sizes, {"sizes": sizes})
        """,
        "reduced",
    )

    run = dag.test()

    found = run.get_task_instance("total")
    assert found.xcom_pull(task_ids="total") == 18
