"""The pages about many runs: of all DAGs, and of one DAG or DAG run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from airflow_dask_blackbox.addresses import PREFIX
from airflow_dask_blackbox.causes import Cause, cause_of_all
from airflow_nights import CAUSES, GOOD, Night, Rows, failed, forty_dags

_DAG = """
from airflow.sdk import Asset
from airflow.providers.standard.operators.python import PythonOperator

with DAG("template_of_rows"):
    PythonOperator(task_id="work", python_callable=print)
with DAG("makes_an_asset"):
    PythonOperator(task_id="work", python_callable=print, outlets=[Asset("s3://lake/summary")])
with DAG("uses_an_asset", schedule=Asset("s3://lake/summary")):
    PythonOperator(task_id="work", python_callable=print)
"""


@pytest.fixture(scope="module")
def rows(airflow_of_module: Any) -> Rows:
    """Return rows to make others from."""
    from airflow.models.xcom import XComModel

    file = airflow_of_module.load(_DAG, "template_of_rows")
    for name in ("uses_an_asset", "makes_an_asset", "template_of_rows"):
        from airflow.dag_processing.dagbag import DagBag

        run = DagBag(file.fileloc).dags[name].test()
    XComModel.set(
        key="dask_recording", value={}, dag_id=run.dag_id, task_id="work",
        run_id=run.run_id,
    )  # fmt: skip
    return Rows.of(run.run_id)


@pytest.fixture
def night(rows: Rows) -> Iterator[Night]:
    """Return what writes a night, and removes it afterwards."""
    written = Night(rows)
    yield written
    written.remove()


@pytest.fixture(scope="module")
def get(rows: Rows) -> Iterator[Callable[..., Any]]:
    """Return what gets a page for somebody with a role."""
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from starlette.testclient import TestClient

    client = TestClient(create_app(apps="core"), base_url="http://airflow.example")

    def page(path: str, role: str | None = "viewer") -> Any:
        headers = {}
        if role is not None:
            user = SimpleAuthManagerUser(username=f"a {role}", role=role)
            token = get_auth_manager().generate_jwt(user)
            headers["Authorization"] = f"Bearer {token}"
        return client.get(f"{PREFIX}/{path}", headers=headers, follow_redirects=False)

    yield page
    client.close()


def test_failures_of_all_dags_are_grouped_by_cause_the_new_ones_first(
    night: Night, get: Callable[..., Any]
) -> None:
    forty_dags(night)

    found = get("runs.json?dag=dag_").json()

    assert found["counts"] == {"failed": 60, "succeeded": 340}
    causes = found["causes"]
    assert [(each["title"], each["new"]) for each in causes] == [
        ("ModuleNotFoundError on the workers: pyproj", True),
        ("No worker arrived within 300 s", True),
        ("ValueError in 'price': negative amount", True),
        ("KeyError in 'price': 'unit_price'", False),
        ("OSError in 'load': access denied to s3://lake/orders", False),
        ("Workers exceeded their memory limit of 600 MiB in 'merge'", False),
    ]
    assert [len(each["tasks"]) for each in causes] == [10] * 6
    assert causes[0]["dags"] == 10
    assert len(causes[0]["blocked"]) == 10
    page = unescape(get("runs?dag=dag_").text)
    assert "10 tasks in 10 DAGs: ValueError in 'price'" in page
    assert "400 Dask runs in the last 24 hours · 60 failed · 340 succeeded" in page
    assert "dag_39.t9" in page or "page 1 of 4" in page
    assert "page 4 of 4" in get("runs?dag=dag_&page=4").text
    assert len(get("runs.json?dag=dag_03").json()["runs"]) == 10
    assert len(get("runs.json?dag=dag_&show=failed").json()["runs"]) == 60


@pytest.mark.parametrize(
    ("titles", "of_all"),
    [
        (["Workers died 3 times at 600 MiB"], "Workers died 3 times at 600 MiB"),
        (["died 12 times at 1.5 GiB", "died 3 times at 1.5 GiB"],
         "died 3 or 12 times at 1.5 GiB"),
        (["lost tcp://10.0.0.9:1 (a)", "lost tcp://10.0.0.10:1 (a)"],
         "lost tcp://10.0.0.9:1 or tcp://10.0.0.10:1 (a)"),
        (["4 of 9", "3 of 9", "2 of 8", "1 of 9"], "… of 8 or 9"),
        # What a task publishes may be anything.
        (["part 1", "part #"], "part 1"),
    ],
)  # fmt: skip
def test_the_title_of_several_failures_is_true_of_each(
    titles: list[str], of_all: str
) -> None:
    causes = [Cause("worker-memory-limit", each) for each in titles]

    assert len({each.key for each in causes}) == 1
    assert cause_of_all(causes) == causes[0]._replace(title=of_all)


def _needs(memory: str, where: str) -> Cause:
    """Return the cause of a task that needs more memory, with the line to paste."""
    line = f'`cluster_kwargs={{"memory_limit": "{memory}"}}`'
    remedy = f"Give each worker {memory}. To paste into {where}: {line}."
    return CAUSES[3]._replace(remedy=remedy)


def test_each_task_of_a_cause_has_its_own_line_to_paste(
    night: Night, get: Callable[..., Any]
) -> None:
    night.run("lines_a")
    night.task("join", failed(_needs("2 GiB", "a.py, task 'join'")), state="failed")
    for index, memory in enumerate(("3 GiB", "4 GiB", "4 GiB")):
        cause = _needs(memory, "a.py, task 'mapped'")
        night.task("mapped", failed(cause), state="failed", index=index)
    night.run("lines_b")
    # On a cluster that the task does not start, there is no line.
    without = CAUSES[3]._replace(remedy="Give each worker 2 GiB.")
    night.task("join", failed(without), state="failed")
    night.write()

    (cause,) = get("runs.json?dag=lines_").json()["causes"]
    page = unescape(get("runs?dag=lines_").text)

    assert sorted(
        (each["text"], sorted(each["tasks"])) for each in cause["remedies"]
    ) == [
        ("Give each worker 2 GiB.", ["lines_a.join", "lines_b.join"]),
        ("Give each worker 3 GiB.", ["lines_a.mapped [0]"]),
        ("Give each worker 4 GiB.", ["lines_a.mapped [1]", "lines_a.mapped [2]"]),
    ]
    line = (
        'To paste into a.py, task \'join\': `cluster_kwargs={"memory_limit": "2 GiB"}`.'
    )
    assert cause["paste"] == [line]
    assert cause["paste_differs"] == ["lines_a.mapped"]
    assert page.count("To paste into a.py, task 'join'") == 1
    assert "task 'mapped'" not in page
    assert "<b>lines_a.mapped [0]:</b> Give each worker 3 GiB." in page
    assert "differs between the failures of lines_a.mapped;" in page


def test_what_cannot_run_now_is_named_with_assets_and_the_dags_that_they_start(
    night: Night, get: Callable[..., Any]
) -> None:
    night.run("makes_an_asset")
    night.task(
        "load", failed(CAUSES[0]), state="failed", index=0, rendered_map_index="emea"
    )
    night.task("work", None, state="upstream_failed")
    night.write()

    (cause,) = get("runs.json?dag=makes_an_asset").json()["causes"]
    page = unescape(get("runs?dag=makes_an_asset").text)

    assert cause["blocked"] == ["makes_an_asset.work"]
    assert not cause["blocked_by_others"]
    assert cause["assets"] == [{"uri": "s3://lake/summary", "dags": ["uses_an_asset"]}]
    assert "Cannot run now: makes_an_asset.work" in page
    assert "Not updated: s3://lake/summary (starts uses_an_asset)" in page
    assert "makes_an_asset.load [emea]" in page


def test_somebody_sees_the_dags_only_whose_logs_they_may_read(
    night: Night, get: Callable[..., Any]
) -> None:
    night.run("private_dag")
    night.task("secret", failed(CAUSES[0]), state="failed")
    night.run("public_dag")
    night.task("known", failed(CAUSES[0]), state="failed")
    night.write()

    for path in ("runs", "runs.json"):
        assert "public_dag" in get(path).text
        assert "private" not in get(path).text
        assert "private_dag" in get(path, "admin").text
        assert get(path, None).status_code == 401
    causes = get("runs.json").json()["causes"]
    # Other files of tests may have left failures of their own.
    (own,) = (each for each in causes if each["title"] == CAUSES[0].title)
    assert own["dags"] == 1


def test_dask_tasks_that_are_not_recorded_are_listed_with_the_reason(
    night: Night, get: Callable[..., Any]
) -> None:
    night.run("partly")
    night.task(
        "refused", {"state": "succeeded", "problem": "the bucket does not exist"}
    )
    night.task("silent", None, custom_operator_name="@task.dask_observed")
    night.task("other", None, custom_operator_name="@task.bash")
    night.task("killed", {"state": "running"}, state="failed")
    night.task("stopped", {"state": "aborted", "stopped": True}, state="failed")
    night.task("near", {**GOOD, "unusual": ["Took twice as long as usual"]})
    night.write()

    found = get("runs.json?dag=partly").json()
    lines = {each["key"]["task_id"]: each for each in found["runs"]}

    assert found["counts"] == {
        "not recorded": 2, "unknown": 1, "stopped": 1, "succeeded": 1,
    }  # fmt: skip
    assert "other" not in lines
    assert lines["refused"]["headline"] == "the bucket does not exist"
    assert lines["silent"]["headline"] == "Its recording never started"
    assert lines["killed"]["outcome"] == "unknown"
    every = get("runs?dag=partly").text
    for link in re.findall(r'href="[^"]*/(runs\?[^"]+)"', every):
        assert f'{link}" aria-current="true"' in get(unescape(link)).text
    assert len(get("runs.json?dag=partly&show=not+recorded").json()["runs"]) == 2
    shown = get("runs?dag=partly&show=unusual").text
    assert "Took twice as long as usual" in shown
    assert "partly.refused" not in shown


def test_the_number_of_queries_does_not_grow_with_the_runs(
    night: Night, get: Callable[..., Any]
) -> None:
    from airflow import settings
    from sqlalchemy import event

    asked: list[str] = []

    def note(*arguments: Any) -> None:
        asked.append(str(arguments[2]))

    night.run("dag_few")
    night.task("t", failed(CAUSES[0]), state="failed")
    night.write()
    event.listen(settings.engine, "before_cursor_execute", note)
    try:
        get("runs.json?dag=dag_")
        few = len(asked)
        for index in range(2_000):
            night.task("many", failed(CAUSES[index % 3]), state="failed", index=index)
        night.write()
        asked.clear()
        many = get("runs.json?dag=dag_").json()
    finally:
        event.remove(settings.engine, "before_cursor_execute", note)

    assert many["counts"] == {"failed": 2_001}
    assert few
    assert len(asked) <= few


@pytest.mark.parametrize(
    "query",
    [
        "hours=0",
        "hours=x",
        "page=-3",
        "show=nothing",
        "dag=%25_'\"<b>",
        "page=999",
        "show=not+recorded",
    ],
)
def test_whatever_is_asked_for_has_an_answer(
    get: Callable[..., Any], query: str
) -> None:
    answer = get(f"runs?{query}")

    assert answer.status_code == 200
    assert "<b>" not in answer.text


# One DAG


def _mapped_runs(night: Night) -> None:
    """Write two runs of a DAG: 650 instances of a mapped task in each, 20 of them failed."""
    for run_id in ("r1", "r2"):
        night.run("mapped", run_id)
        night.task("load", GOOD)
        for index in range(650):
            fails = run_id == "r2" and index % 32 == 0 and index < 640
            night.task(
                "price",
                failed(CAUSES[0]) if fails else GOOD,
                state="failed" if fails else "success",
                index=index,
                rendered_map_index=f"region-{index}",
            )
    night.write()


def _rows_of(page: str) -> list[str]:
    found = re.findall(r'<a href="[^"]*/task\?[^"]*">([^<]+)</a></td>', page)
    return [unescape(each).replace("\xa0", " ") for each in found]


def test_the_runs_of_a_dag_are_shown_by_dag_run_in_pages(
    night: Night, get: Callable[..., Any]
) -> None:
    _mapped_runs(night)

    pages = [get(f"dags/mapped/runs?page={each}").text for each in range(1, 15)]

    assert "1302 Dask runs, page 1 of 14" in pages[0]
    every = [row for page in pages for row in _rows_of(page)]
    assert len(every) == 1302
    assert every.count("price [region-649]") == 2
    assert every[0] == "price [region-608]"  # failures first
    headings = [re.findall(r'scope="rowgroup".*?</th>', page) for page in pages]
    assert "651 Dask runs" in headings[0][0]
    assert [len(each) for each in headings].count(2) == 1  # one page has both DAG runs
    assert sum("20 failed" in each for found in headings for each in found) == 7
    assert "<h2>price</h2>" in pages[0]
    assert "<h2>price</h2>" not in pages[1]
    assert "There are 14 pages" in get("dags/mapped/runs?page=15").text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("show=failed", 20),
        ("find=region-64", 22),  # 64, and 640 to 649, in each of two runs
        ("find=REGION-64&show=failed", 1),
        ("run_id=r1", 651),
        ("run_id=r1&show=failed", 0),
        ("task_id=load", 2),
        ("find=r2&task_id=price", 650),
    ],
)
def test_the_runs_of_a_dag_can_be_filtered(
    night: Night, get: Callable[..., Any], query: str, count: int
) -> None:
    _mapped_runs(night)

    page = get(f"dags/mapped/runs?{query}").text

    plural = "" if count == 1 else "s"
    assert (f"{count} Dask run{plural}" in page) is (count > 0)
    assert len(_rows_of(page)) == min(count, 100)
    assert count or "No Dask run is failed" in page


def test_a_filter_keeps_what_else_was_asked_for(
    night: Night, get: Callable[..., Any]
) -> None:
    _mapped_runs(night)

    page = get("dags/mapped/runs?run_id=r2&task_id=price&find=region-1").text
    older = re.search(r'href="[^"]*/(dags/mapped/runs\?[^"]+)">Older', page)
    assert older is not None

    assert "page 2 of" in get(unescape(older[1])).text
    assert set(re.findall(r'type="hidden" name="(\w+)"', page)) == {
        "run_id",
        "task_id",
        "show",
    }


def test_code_in_a_remedy_is_shown_as_code_and_escaped(
    night: Night, get: Callable[..., Any]
) -> None:
    remedy = "Set `memory_limit` to <b>; `<script>` and `a"
    night.run("with_code")
    cause = Cause("task-exception", "`price` raised", remedy, "code", 1)
    night.task("price", failed(cause), state="failed")
    night.write()

    page = get("runs?dag=with_code").text

    assert (
        "<p>Set <code>memory_limit</code> to &lt;b&gt;; <code>&lt;script&gt;</code>"
        in page
    )
    assert "<code>price</code> raised" in page


def test_what_is_looked_for_is_escaped(night: Night, get: Callable[..., Any]) -> None:
    _mapped_runs(night)

    page = get("dags/mapped/runs?find=%3Cscript%3Ealert(1)%3C/script%3E").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
