"""The pages behind the tab "Dask run", in Airflow's own API application."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from airflow_dask_blackbox.addresses import PREFIX, TaskKey, page_of, tab_of
from dask_blackbox.manifest import Heartbeat, Progress
from dask_blackbox.reader import Run
from dask_blackbox.store import Store, open_store
from dask_blackbox.testing import recorded

_DAG = """
def fails():
    import dask
    def divide(x):
        return 1 / x
    dask.delayed(divide)(0).compute()

def nothing():
    return None

with DAG("{dag_id}"):
    from airflow.providers.standard.operators.python import PythonOperator

    DaskObservedOperator(
        task_id="fails",
        python_callable=fails,
        cluster_kwargs={{**TINY, "processes": False}},
    ) >> DaskObservedOperator(task_id="after", python_callable=nothing)
    for name in {others}:
        PythonOperator(task_id=name, python_callable=nothing)
"""

PAGES = (
    "task",
    "status",
    "card.json",
    "report.html",
    "performance_report.html",
    "dashboard",
    "runs",
)


class Browser:
    """Somebody who is logged in, or not."""

    def __init__(self, client: Any, token: str | None) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, address: str, **headers: str) -> Any:
        path = address.removeprefix("http://airflow.example")
        return self._client.get(
            path, headers={**self._headers, **headers}, follow_redirects=False
        )


@pytest.fixture(scope="module")
def dag_runs(airflow_of_module: Any) -> dict[str, Any]:
    """Runs of two DAGs, one of them private, by DAG."""
    found = {}
    others = ("plain", "killed", "going", "foreign", "marked", "in_a_pod")
    for dag_id, names in {"open": others, "private": ()}.items():
        text = _DAG.format(dag_id=dag_id, others=names)
        found[dag_id] = airflow_of_module.load(text, dag_id).test()
    return found


@pytest.fixture(scope="module")
def browse(dag_runs: dict[str, Any]) -> Iterator[Callable[[str | None], Browser]]:
    """Return a maker of browsers, by the role of who uses them."""
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from starlette.testclient import TestClient

    client = TestClient(create_app(apps="core"), base_url="http://airflow.example")

    def browser(role: str | None) -> Browser:
        if role is None:
            return Browser(client, None)
        user = SimpleAuthManagerUser(username=f"a {role}", role=role)
        return Browser(client, get_auth_manager().generate_jwt(user))

    yield browser
    client.close()


@pytest.fixture
def viewer(browse: Callable[[str | None], Browser]) -> Browser:
    """Return the browser of somebody who may see what is not private."""
    return browse("viewer")


@pytest.fixture
def store() -> Store:
    """Return the store that tasks record to where nobody says otherwise."""
    return open_store()


def _key(dag_runs: dict[str, Any], task_id: str, dag_id: str = "open") -> TaskKey:
    return TaskKey(dag_id, dag_runs[dag_id].run_id, task_id)


def _host(key: TaskKey) -> dict[str, Any]:
    return {"kind": "airflow", **key._asdict(), "try_number": 1}


def _announce(key: TaskKey, **said: Any) -> None:
    from airflow.models.xcom import XComModel

    XComModel.set(
        key="dask_recording",
        value=said,
        dag_id=key.dag_id,
        task_id=key.task_id,
        run_id=key.run_id,
        map_index=key.map_index,
    )


@pytest.mark.parametrize("page", PAGES)
def test_nobody_sees_a_page_without_a_login(
    browse: Any, dag_runs: dict[str, Any], page: str
) -> None:
    address = page_of(_key(dag_runs, "fails"), page)

    assert browse(None)(address).status_code == 401

    sent_on = browse(None)(address, **{"Sec-Fetch-Dest": "document"})
    assert sent_on.status_code == 302
    assert "/auth/login?next=" in sent_on.headers["location"]
    assert quote(f"{PREFIX}/dags/open/{page}", safe="") in sent_on.headers["location"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_for_those_who_may_read_the_dags_logs_and_gives_nothing_away(
    browse: Any, dag_runs: dict[str, Any], store: Store, page: str
) -> None:
    address = page_of(_key(dag_runs, "fails", "private"), page)

    refused, shown = browse("viewer")(address), browse("admin")(address)

    assert shown.status_code == 200
    assert refused.status_code == 403
    for secret in (store.url, "division by zero", "ZeroDivisionError"):
        assert secret not in refused.text


def test_every_route_with_data_asks_for_permission() -> None:
    from airflow.api_fastapi.core_api.security import get_user
    from airflow_dask_blackbox.tab.access import MAY_READ
    from airflow_dask_blackbox.tab.app import create_app
    from fastapi.routing import APIRoute

    routes = {str(getattr(each, "path", "")): each for each in create_app().routes}

    of_dags = {f"/dags/{{dag_id}}/{page}" for page in PAGES}
    of_all = {"/runs", "/runs.json"}
    assert set(routes) == of_dags | of_all | {"/static"}
    for path, route in routes.items():
        if path in of_dags:
            assert isinstance(route, APIRoute)
            assert route.dependencies == [MAY_READ]
        elif path in of_all:
            assert isinstance(route, APIRoute)
            assert [each.call for each in route.dependant.dependencies] == [get_user]


def test_a_failed_task_has_its_report_in_a_sandbox(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    key = _key(dag_runs, "fails")
    page = viewer(page_of(key, "task"))

    assert page.status_code == 200
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "private, no-store"
    frame = re.search(r'<iframe [^>]*src="([^"]+)"', page.text)
    assert frame is not None
    report = viewer(frame[1].replace("&amp;", "&"))
    assert "ZeroDivisionError" in report.text
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert viewer(page_of(key, "card.json")).json()["state"] == "failed"
    assert "Bokeh" in viewer(page_of(key, "performance_report.html")).text


def test_the_placeholder_of_a_task_that_is_not_mapped_and_a_plus_stand_for_themselves(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    run_id = dag_runs["open"].run_id
    assert "+" in run_id

    page = viewer(
        f"{PREFIX}/dags/open/task?run_id={run_id}&task_id=fails&map_index=%7BMAP_INDEX%7D"
    )

    assert "<iframe" in page.text


def test_the_buttons_lead_to_the_tab(airflow_of_module: Any, dag_runs: Any) -> None:
    key = _key(dag_runs, "fails")
    xcoms = airflow_of_module.xcoms(dag_runs["open"])

    # Relative to Airflow's base URL, which may change.
    base = "http://airflow.example/"
    assert f"{base}{xcoms['dask_run']}" == tab_of(key, 1)
    assert xcoms["dask_run"] == (
        f"dags/open/runs/{quote(key.run_id, safe='')}"
        "/tasks/fails/plugin/dask-run?try_number=1"
    )
    assert f"{base}{xcoms['dask_performance_report']}" == page_of(
        key, "performance_report.html", try_number=1
    )
    assert xcoms["dask_recording"]["state"] == "failed"
    assert xcoms["dask_recording"]["job"] == "open.fails"


def test_the_dashboard_of_a_task_that_has_ended_is_reported_as_gone(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    key = _key(dag_runs, "fails")
    _announce(key, job="open.fails", state="failed", dashboard="http://127.0.0.1:1/")

    page = viewer(page_of(key, "dashboard", try_number=1))

    assert page.status_code == 200
    assert "This cluster is closed, and so is its dashboard" in page.text
    assert tab_of(key, 1).replace("&", "&amp;") in page.text


def test_another_operators_task_is_reported_how_to_record_one(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    page = viewer(page_of(_key(dag_runs, "plain"), "task"))

    assert page.status_code == 200
    assert "No Dask run here" in page.text
    assert "PythonOperator" in page.text
    assert "DaskObservedOperator(" in page.text
    assert 'data-poll="0"' in page.text


def test_where_every_client_is_recorded_a_task_without_one_has_no_advice_on_operators(
    viewer: Browser, dag_runs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT", "True")

    page = viewer(page_of(_key(dag_runs, "plain"), "task"))

    assert "this task created none" in page.text
    assert "DaskObservedOperator(" not in page.text


def test_a_task_after_one_that_failed_did_not_run_and_is_not_waited_for(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    page = viewer(page_of(_key(dag_runs, "after"), "task"))

    assert "This task did not run" in page.text
    assert "A task that it depends on has failed." in page.text
    assert 'data-poll="0"' in page.text


def test_a_task_that_does_not_exist_is_reported_as_missing(viewer: Browser) -> None:
    page = viewer(page_of(TaskKey("open", "never", "fails"), "task"))

    assert "Airflow has no such task instance" in page.text


def test_a_running_task_shows_how_far_it_is(
    viewer: Browser, dag_runs: dict[str, Any], store: Store
) -> None:
    import msgspec

    key = _key(dag_runs, "going")
    dashboard = "https://proxy.example/8787/status"
    _announce(key, job="open.going", state="running", dashboard=dashboard)
    at = recorded(
        store,
        job="open.going",
        run_id=key.run_id,
        state=None,
        started=time.time() - 60,
        host=_host(key),
    )
    progress = Progress(
        submitted=1600, done=440, rate=7.3, workers=4, threads=8, executing=8,
        memory=2**30, memory_limit=2**32, lost_workers=1,
    )  # fmt: skip
    beat = Heartbeat(at=time.time(), progress=progress)
    store.put(f"{at.folder}heartbeat.json", msgspec.json.encode(beat))

    page, reported = viewer(page_of(key, "task")), viewer(page_of(key, "status")).json()

    assert 'data-poll="5"' in page.text
    assert f'data-signature="{reported["signature"]}"' in page.text
    for words in ("440", "of 1,600 tasks", "7.3", "1 lost", "1.00 GiB", "of 4.00 GiB"):
        assert words in page.text
    assert reported["live"]["words"]["left"] == "2 m 39 s left"
    assert reported["live"]["numbers"]["done"] == 440
    card = viewer(page_of(key, "card.json")).json()
    assert card["state"] == "running"
    assert Run.at(store, at).ending is None
    assert viewer(page_of(key, "dashboard")).headers["location"] == dashboard


def test_a_try_with_another_state_in_airflow_shows_both(
    viewer: Browser, dag_runs: dict[str, Any], store: Store
) -> None:
    key = _key(dag_runs, "marked")
    recorded(
        store,
        job="open.marked",
        run_id=key.run_id,
        state="failed",
        host=_host(key),
    )

    page = viewer(page_of(key, "task")).text

    assert "According to Airflow this try succeeded: somebody marked it" in page


def test_what_nobody_was_left_to_finish_is_finished_when_it_is_read(
    viewer: Browser, dag_runs: dict[str, Any], store: Store
) -> None:
    key = _key(dag_runs, "killed")
    _announce(key, job="open.killed", state="running")
    long_ago = time.time() - 900
    at = recorded(
        store,
        job="open.killed",
        run_id=key.run_id,
        state=None,
        started=long_ago,
        heartbeat=long_ago + 60,
        host=_host(key),
    )

    assert "How this try ended is unknown" in viewer(page_of(key, "task")).text
    report = viewer(page_of(key, "report.html"))

    assert report.status_code == 200
    assert store.get(f"{at.folder}report.html").decode() == report.text
    assert Run.at(store, at).ending is not None


def test_what_the_scheduler_logged_of_the_end_of_a_try_is_shown(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    from airflow.models.log import Log
    from airflow.models.taskinstancekey import TaskInstanceKey
    from airflow.utils.session import create_session

    key = _key(dag_runs, "in_a_pod")
    _announce(key, job="open.in_a_pod", state="running")
    of_try = TaskInstanceKey(key.dag_id, key.task_id, key.run_id, 1, key.map_index)
    said = "Extra info: pod failed with reason <OOMKilled>"
    with create_session() as session:
        session.add(Log(event="cli_task_run", task_instance=of_try, extra="no reason"))
        session.add(Log(event="state mismatch", task_instance=of_try, extra=said))
        other = of_try._replace(try_number=7)
        session.add(Log(event="heartbeat timeout", task_instance=other, extra="later"))

    page = viewer(page_of(key, "task")).text

    assert "Airflow's event log says of this try: state mismatch: Extra info" in page
    assert "&lt;OOMKilled&gt;" in page
    assert "no reason" not in page
    assert "heartbeat timeout" not in page


def test_a_recording_of_another_dag_is_not_shown_whatever_a_task_pushes(
    viewer: Browser, dag_runs: dict[str, Any], store: Store
) -> None:
    key = _key(dag_runs, "foreign")
    private = _key(dag_runs, "fails", "private")
    recorded(
        store,
        job="private.fails",
        run_id=key.run_id,
        host={**_host(private), "run_id": key.run_id},
    )
    _announce(key, job="private.fails", state="failed", headline="of its own")

    missing = viewer(page_of(key, "report.html"))
    assert missing.status_code == 404
    assert "foreign has no recording." in missing.text
    page = viewer(page_of(key, "task")).text
    assert "<iframe" not in page
    assert "Try 1 was not recorded" in page
    assert "private.fails" not in viewer(page_of(key, "runs", task_id="fails")).text


def test_a_store_that_this_server_may_not_read_is_named_with_the_setting(
    viewer: Browser, dag_runs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__TAB_STORES", "s3://ours/, /elsewhere")

    key = _key(dag_runs, "foreign")
    _announce(key, job="open.foreign", store="s3://theirs/prefix", state="running")
    page = viewer(page_of(key, "task"))

    assert "s3://theirs/prefix is not among the stores" in page.text
    assert "tab_stores" in page.text


def test_the_runs_of_a_dag_and_of_a_dag_run_are_listed(
    viewer: Browser, dag_runs: dict[str, Any]
) -> None:
    of_dag = viewer(f"{PREFIX}/dags/open/runs").text
    of_run = viewer(
        f"{PREFIX}/dags/open/runs?run_id={quote(dag_runs['open'].run_id, safe='')}"
    ).text
    of_nothing = viewer(f"{PREFIX}/dags/open/runs?task_id=plain").text

    assert "<h2>fails</h2>" in of_dag
    assert '<rect class="failed"' in of_dag
    assert "ZeroDivisionError" in of_dag
    assert "ZeroDivisionError" in of_run
    assert "<svg viewBox" not in of_run
    assert "No Dask runs here" in of_nothing


def test_addresses_keep_the_path_of_the_base_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from airflow_dask_blackbox.plugin import DaskBlackboxPlugin

    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://intra.example/flows/")
    key = TaskKey("d", "a/b+c d", "group.t", 3)

    assert tab_of(key) == (
        "https://intra.example/flows/dags/d/runs/a%2Fb%2Bc%20d/tasks/group.t/mapped/3"
        "/plugin/dask-run"
    )
    assert page_of(key, "task") == (
        "https://intra.example/flows/dask-blackbox/dags/d/task"
        "?run_id=a%2Fb%2Bc+d&task_id=group.t&map_index=3"
    )
    views = DaskBlackboxPlugin().external_views
    assert all(view["href"].startswith("/flows/dask-blackbox/") for view in views)
    assert len({view["url_route"] for view in views}) == len(views)


def test_the_card_that_is_downloaded_holds_no_presigned_url() -> None:
    from airflow_dask_blackbox.tab.task_page import linked_card

    key = TaskKey("books", "run-1", "sum")
    signed = "https://s3.example/recordings/report.html?X-Amz-Signature=5f"
    stored_card = {
        "state": "succeeded",
        "links": {
            "report": signed,
            "performance_report": signed,
            "overview": signed,
            "run": "https://airflow.example/dags/books?try_number=2",
        },
    }

    card = json.loads(linked_card(json.dumps(stored_card).encode(), key, 2))

    assert card == {
        "state": "succeeded",
        "links": {
            "report": tab_of(key, 2),
            "performance_report": page_of(key, "performance_report.html", try_number=2),
            "run": "https://airflow.example/dags/books?try_number=2",
        },
    }
