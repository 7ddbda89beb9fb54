"""What the recording of a task says, and that the task never depends on it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.identity import parameters_of
from airflow_dask_blackbox.tab import dag_page
from airflow_dask_blackbox.tab.empty_state import empty_state_of
from airflow_dask_blackbox.tab.tasks import task_seen
from dask_blackbox.layout import RunAddress

_WORK = """
def work(day="Friday"):
    import dask
    return dask.delayed(str.upper)(day).compute()

"""


def _document(store: Path, job: str, run_id: str, name: str, attempt: int = 1) -> Any:
    folder = RunAddress.of(job, run_id, attempt).folder
    return json.loads((store / folder / name).read_text())


def test_a_recording_carries_airflows_names_and_the_runs_parameters(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""{_WORK}
with DAG("named", params={{"size": 3}}):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        op_kwargs={{"day": "{{{{ params.size }}}} Fridays"}},
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
    )
""",
        "named",
    )

    assert ran.value == "3 FRIDAYS"
    begun = _document(tmp_path, "named.work", ran.run_id, "run.json")
    assert begun["host"] == {
        "kind": "airflow",
        "url": f"http://airflow.example/dags/named/runs/{ran.page_of_run}"
        "/tasks/work?try_number=1",
        "dag_id": "named",
        "run_id": ran.run_id,
        "task_id": "work",
        "map_index": -1,
        "try_number": 1,
        "dag_file": "named.py",
    }
    card = _document(tmp_path, "named.work", ran.run_id, "card.json")
    assert card["state"] == "succeeded"
    assert card["numbers"]["tasks"] == 1


def test_parameters_are_plain_values_and_short_collections_of_them() -> None:
    station = ("brocken", {"height": 1141})
    given = {
        "station": station,
        "countries": ["de", "fr"],
        "rows": list(range(1000)),
        "deep": {"a": {"b": {"c": 1}}},
        "text": ["x" * 1000],
        "client": object(),
    }

    assert parameters_of({"params": {"days": 30}}, given) == {
        "days": 30,
        "station": station,
        "countries": ["de", "fr"],
    }


@pytest.mark.parametrize(
    ("label", "given", "expected"),
    [
        ("mea", {}, {"map_index_template": "mea"}),
        ("mea", {"region": "mea"}, {"region": "mea"}),
        ("MEA, 3", {"region": "mea"}, {"region": "mea", "map_index_template": "MEA, 3"}),
        (None, {"region": "mea"}, {"region": "mea"}),
    ],
)  # fmt: skip
def test_the_label_of_an_instance_is_a_parameter_unless_another_says_the_same(
    label: str | None, given: dict[str, str], expected: dict[str, str]
) -> None:
    ti = SimpleNamespace(rendered_map_index=label)

    assert parameters_of({"ti": ti}, given) == expected


def test_the_verdict_stands_in_the_log_and_the_card_in_a_fold(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""
def refuse(day):
    raise ValueError(f"no deliveries on {{day}}")

def work():
    import dask
    dask.delayed(refuse)("Friday").compute()

with DAG("refused"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
    )
""",
        "refused",
    )

    card = _document(tmp_path, "refused.work", ran.run_id, "card.json")
    assert card["state"] == "failed"
    assert card["verdict"]["rule"] == "task-exception"
    fold = ran.log.index("::group::Full card")
    assert ran.log.index(card["headline"]) < fold
    # The page of a task cuts long lines off, so the cause is reported in several.
    lines = re.findall(r"Z \[\w+ *\] (.*?) *\[\S+\] loc=", ran.log[:fold])
    reported = " ".join(" ".join(lines).split())
    assert " ".join(card["verdict"]["cause"].split()) in reported
    assert ran.log.count("no deliveries on Friday", fold) > 0


def test_a_store_that_cannot_work_costs_the_recording_and_not_the_task(
    airflow: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()

    ran = airflow.run(
        f"""{_WORK}
with DAG("unrecorded"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path / "file")!r},
    )
""",
        "unrecorded",
    )

    assert ran.value == "FRIDAY"
    said = [each for each in caplog.records if each.name.startswith("dask_blackbox")]
    assert [each.getMessage().partition(":")[0] for each in said] == [
        "this run is not recorded"
    ]


def test_a_recording_that_is_required_fails_the_task_before_its_cluster(
    airflow: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    ran = airflow.run(
        f"""{_WORK}
def no_cluster():
    raise AssertionError("a cluster was asked for")

with DAG("required"):
    Watched(
        task_id="work",
        python_callable=work,
        cluster=no_cluster,
        store={str(tmp_path / "file")!r},
        required=True,
    )
""",
        "required",
    )

    assert ran.state == "failed"
    assert "the store has to be a folder or s3://" in ran.xcoms["caught"][1]


_NOWHERE = {
    "connection": 'store_conn_id="nobody"',
    "scheme": "store=\"{{ 'hdfs://bucket/x' }}\"",
    "slashes": "store=\"{{ 's3:/bucket/x' }}\"",
}
"""Arguments with which nothing can be recorded, by what is wrong with them."""


@pytest.mark.parametrize("what", _NOWHERE)
def test_a_task_that_cannot_be_recorded_says_so_and_counts_as_unrecorded(
    airflow: Any, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    dag_id = f"nowhere_{what}"

    ran = airflow.run(
        f"""{_WORK}
with DAG({dag_id!r}):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs={{**TINY, "processes": False}},
        {_NOWHERE[what]},
    )
""",
        dag_id,
    )

    assert (ran.state, ran.value) == ("success", "FRIDAY")
    assert caplog.text.count("this run is not recorded:") == 1
    assert "continued without" not in caplog.text
    assert (
        len([each for each in ran.messages if "This run is not recorded:" in each]) == 1
    )
    assert ran.xcoms["dask_recording"]["kept"] == "none"
    page = bytes(dag_page.page(dag_page.Asked(dag_id)).body).decode()
    assert "1 not recorded" in page
    assert "usually" not in page
    seen = task_seen(TaskKey(dag_id, ran.run_id, "work"))
    shown = empty_state_of(seen, None, "", 1)
    assert shown.title == "This task was not recorded"


@pytest.mark.parametrize("what", _NOWHERE)
def test_a_required_recording_fails_the_task_whatever_is_wrong(
    airflow: Any, what: str
) -> None:
    dag_id = f"needs_{what}"

    ran = airflow.run(
        f"""{_WORK}
def no_cluster():
    raise AssertionError("a cluster was asked for")

with DAG({dag_id!r}):
    Watched(
        task_id="work",
        python_callable=work,
        cluster=no_cluster,
        required=True,
        {_NOWHERE[what]},
    )
""",
        dag_id,
    )

    assert ran.state == "failed"
    assert ran.xcoms["caught"][0].endswith("ConfigurationError")
    assert "blackbox.store" not in ran.xcoms["caught"][1]  # but Airflow's own names
    assert "Failed, not stored" not in ran.log
    in_the_open = ran.log.partition("::group::")[0]
    assert in_the_open.count("Configuration error: ") == 1
    seen = task_seen(TaskKey(dag_id, ran.run_id, "work"))
    shown = empty_state_of(seen, None, "", 1)
    assert shown.title.startswith("Configuration error: ")
    assert "leave out `required`" in shown.paragraphs[-1]
    (verdict,) = [each for each in ran.messages if "and it cannot begin:" in each][:1]
    assert verdict.startswith("The recording is required")
    assert "This run is not recorded" not in ran.log  # the cause has the reason
    assert "performance_report.html" not in ran.log
    assert "session.py" not in in_the_open


@pytest.mark.nightly
def test_a_cluster_that_does_not_come_up_is_on_the_card(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""{_WORK}
def broken():
    raise RuntimeError("the quota is used up")

with DAG("no_cluster_at_all"):
    Watched(
        task_id="work",
        python_callable=work,
        cluster=broken,
        store={str(tmp_path)!r},
    )
""",
        "no_cluster_at_all",
    )

    assert ran.xcoms["caught"] == ["RuntimeError", "the quota is used up"]
    card = _document(tmp_path, "no_cluster_at_all.work", ran.run_id, "card.json")
    assert card["verdict"]["rule"] == "driver-exception"
    assert "the quota is used up" in card["verdict"]["cause"]


@pytest.mark.nightly
def test_each_try_and_each_mapped_instance_is_a_recording_of_its_own(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(
        f"""
def work(day, ti):
    import dask
    if ti.try_number == 1 and day == "Friday":
        raise ValueError("not at once")
    return dask.delayed(str.upper)(day).compute()

with DAG("many"):
    DaskObservedOperator.partial(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
        retries=1,
        retry_delay=timedelta(0),
    ).expand(op_kwargs=[{{"day": "Thursday"}}, {{"day": "Friday"}}])
""",
        "many",
    )
    run_id = dag.test().run_id

    states = {
        (index, attempt): _document(
            tmp_path, "many.work", f"{run_id}.map{index}", "card.json", attempt
        )["state"]
        for index, attempt in [(0, 1), (1, 1), (1, 2)]
    }
    assert states == {(0, 1): "succeeded", (1, 1): "failed", (1, 2): "succeeded"}


@pytest.mark.nightly
def test_a_mapped_instance_that_fails_says_how_the_others_ended_and_what_only_it_has(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(
        f"""
def work(region):
    import dask
    if region == "mea":
        raise ValueError("no prices")
    return dask.delayed(str.upper)(region).compute()

with DAG("by_region"):
    DaskObservedOperator.partial(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
        retries=1,
        retry_delay=timedelta(0),
    ).expand(op_kwargs=[{{"region": each}} for each in ("emea", "apac", "mea")])
""",
        "by_region",
    )
    run_id = dag.test().run_id

    # Airflow starts the instances in any order: at the second attempt the others have ended.
    card = _document(tmp_path, "by_region.work", f"{run_id}.map2", "card.json", 2)
    assert card["past"]["siblings"] == (
        "2 of 3 instances of this task succeeded so far; only this one has region=mea"
    )


@pytest.mark.nightly
def test_a_label_that_is_no_argument_tells_what_only_a_mapped_instance_has(
    airflow: Any, tmp_path: Path
) -> None:
    def night(*regions: str, bad: str) -> str:
        dag = airflow.load(
            f"""
def work(region):
    import dask
    if region == {bad!r}:
        raise ValueError("no prices")
    return dask.delayed(str.upper)(region).compute()

with DAG("by_label"):
    DaskObservedOperator.partial(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
        retries=1,
        retry_delay=timedelta(0),
        map_index_template="{{{{ task.op_args[0] | upper }}}}",
    ).expand(op_args=[[each] for each in {regions!r}])
""",
            "by_label",
        )
        return str(dag.test().run_id)

    before = night("mea", "apac", bad="")
    now = night("emea", "mea", bad="mea")

    card = _document(tmp_path, "by_label.work", f"{now}.map1", "card.json", 2)
    assert "map_index_template=MEA" in card["past"]["siblings"]
    assert card["past"]["last_good"]["run_id"] == f"{before}.map0"
