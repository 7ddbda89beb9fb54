"""`with recording(…)` in tasks of any operator: the tab finds it, and Airflow has its say."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.addresses import TaskKey, page_of, tab_of

_HEAD = """
from airflow.sdk import task

def price(row, least=1):
    if row == 3 and least:
        raise KeyError("currency")
    return row

def compute(least, **named):
    from dask_blackbox import recording
    from distributed import Client

    with (
        Client(processes=False, dashboard_address=":0") as client,
        recording(client, **named),
    ):
        return sum(client.gather(client.map(price, range(5), least=least)))
"""


class Tab:
    """The tab "Dask run", as somebody with all rights sees it."""

    def __init__(self, client: Any, token: str) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}

    def __call__(self, key: TaskKey, page: str = "task", **query: Any) -> str:
        """Return a page on a task instance."""
        return self.open(page_of(key, page, **query))

    def open(self, address: str) -> str:
        """Return the page at an address."""
        path = address.removeprefix("http://airflow.example").replace("&amp;", "&")
        answer = self._client.get(path, headers=self._headers)
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    def tries(self, key: TaskKey) -> list[tuple[str, str]]:
        """Return what there is to choose from: names with their reports."""
        page = self(key)
        links = re.findall(r'class="try \w+" href="([^"]+)".*?</span> (.*?)</a>', page)
        return [
            (
                re.sub("<.*?>", "", name),
                self.open(address.replace("/task?", "/card.json?")),
            )
            for address, name in links
        ]


@pytest.fixture
def tab(airflow: Any) -> Iterator[Tab]:
    """Return the tab of an Airflow whose DAG runs are in the database."""
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from starlette.testclient import TestClient

    client = TestClient(create_app(apps="core"), base_url="http://airflow.example")
    user = SimpleAuthManagerUser(username="ada", role="admin")
    yield Tab(client, get_auth_manager().generate_jwt(user))
    client.close()


@pytest.mark.nightly
def test_the_tab_finds_every_try_of_every_instance(
    airflow: Any, tab: Tab, tmp_path: Path
) -> None:
    run = airflow.load(
        f"""{_HEAD}
with DAG("plainly_recorded"):
    @task(retries=1, retry_delay=timedelta(0))
    def part(least):
        return compute(least, store={str(tmp_path)!r})

    part.expand(least=[0, 1])
""",
        "plainly_recorded",
    ).test()

    good, bad = (
        TaskKey("plainly_recorded", run.run_id, "part", index) for index in (0, 1)
    )
    assert json.loads(tab(good, "card.json"))["state"] == "succeeded"
    assert "Try 2" not in tab(good)
    tries = [(name, json.loads(card)) for name, card in tab.tries(bad)]
    assert [name for name, _ in tries] == ["Try 1", "Try 2"]
    assert [card["attempt"] for _, card in tries] == [1, 2]
    assert {card["verdict"]["rule"] for _, card in tries} == {"task-exception"}
    assert "currency" in tab(bad, "report.html")


@pytest.mark.nightly
def test_each_of_several_recordings_of_a_task_is_shown(
    airflow: Any, tab: Tab, tmp_path: Path
) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    ran = airflow.run(
        f"""{_HEAD}
with DAG("thrice"):
    @task
    def work():
        compute(0, store={one!r})
        compute(0, store={one!r}, job="prices")
        return compute(0, store={other!r})

    work()
""",
        "thrice",
    )

    tries = tab.tries(TaskKey("thrice", ran.run_id, "work"))

    assert [name for name, _ in tries] == [f"Try 1 {n} of 3" for n in (1, 2, 3)]
    jobs = [json.loads(card)["job"] for _, card in tries]
    assert jobs == ["thrice.work", "prices", "thrice.work"]
    assert len(list(tmp_path.glob("*/runs/*/*/*/card.json"))) == 3


@pytest.mark.nightly
def test_a_recording_inside_an_observed_task_is_shown_beside_its_own(
    airflow: Any, tab: Tab, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""{_HEAD}
def work(client):
    return compute(0, store={str(tmp_path)!r}, job="inner")

with DAG("within"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs={{**TINY, "processes": False}},
    )
""",
        "within",
    )

    tries = tab.tries(TaskKey("within", ran.run_id, "work"))

    assert [json.loads(card)["job"] for _, card in tries] == ["within.work", "inner"]


@pytest.mark.nightly
def test_airflows_configuration_names_the_store_and_the_log_the_tab(
    airflow: Any, tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", str(tmp_path))
    ran = airflow.run(
        f"""{_HEAD}
with DAG("configured"):
    @task
    def work():
        return compute(0)

    work()
""",
        "configured",
    )

    key = TaskKey("configured", ran.run_id, "work")
    assert json.loads(tab(key, "card.json"))["state"] == "succeeded"
    assert list(tmp_path.glob("runs/*/*/*/card.json"))
    assert f"Dask run: {tab_of(key, 1)}" in ran.messages
    assert "configured" in tab.open("/dask-blackbox/dags/configured/runs")
    assert "succeeded" in tab.open("/dask-blackbox/dags/configured/runs")


@pytest.mark.parametrize(
    ("raised", "ended"),
    [
        ("AirflowSkipException('no orders')", ("succeeded", None)),
        pytest.param(
            "AirflowTaskTimeout('Timeout')",
            ("failed", "stopped-by-host"),
            marks=pytest.mark.nightly,
        ),
        ("ValueError('no orders')", ("failed", "driver-exception")),
    ],
)
def test_airflows_log_explains_an_exception(
    airflow: Any, tab: Tab, tmp_path: Path, raised: str, ended: tuple[str, str | None]
) -> None:
    ran = airflow.run(
        f"""{_HEAD}
from airflow_dask_blackbox.compat import AirflowSkipException, AirflowTaskTimeout

with DAG("meaning"):
    @task
    def work():
        from dask_blackbox import recording
        with recording(store={str(tmp_path)!r}):
            raise {raised}

    work()
""",
        "meaning",
    )

    card = json.loads(tab(TaskKey("meaning", ran.run_id, "work"), "card.json"))

    assert (card["state"], (card["verdict"] or {}).get("rule")) == ended


@pytest.mark.usefixtures("unhurried")
def test_a_recording_of_a_task_that_airflow_stops_names_who_stopped_it(
    airflow: Any, tab: Tab, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""
from airflow.sdk import task

with DAG("plainly_stopped"):
    @task
    def work(ti=None):
        import os, signal
        from airflow.models import TaskInstance
        from airflow.utils.session import create_session
        from dask_blackbox import recording
        from distributed import Client

        with (
            Client(processes=False, dashboard_address=":0") as client,
            recording(client, store={str(tmp_path)!r}),
        ):
            client.gather(client.map(str, range(40)))
            with create_session() as session:
                mine = session.query(TaskInstance).filter_by(dag_id=ti.dag_id)
                mine.update({{"state": "failed"}})
            os.kill(os.getpid(), signal.SIGTERM)
        return "done"

    work()
""",
        "plainly_stopped",
    )

    key = TaskKey("plainly_stopped", ran.run_id, "work")
    card = json.loads(tab(key, "card.json"))
    assert (card["state"], card["verdict"]["rule"]) == ("aborted", "stopped-by-host")
    assert re.fullmatch(
        r"Airflow stopped this task after .* \(marked failed\); 40 of 40 tasks were done",
        card["headline"],
    )
    first, said = (
        line for line in ran.messages if line.startswith("Airflow stopped this")
    )
    assert first == (
        "Airflow stopped this task (marked failed); its recording ends. "
        f"Dask run: {tab_of(key, 1)}"
    )
    assert said == card["headline"]


@pytest.mark.nightly
def test_the_recording_of_a_command_is_found_without_being_announced(
    airflow: Any, tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_BLACKBOX__STORE__URL", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__STORE", str(tmp_path))
    script = tmp_path / "job.py"
    script.write_text(
        "import sys\n"
        "from dask_blackbox import recording\n"
        "with recording():\n"
        "    pass\n"
        "print('airflow' in sys.modules)\n"
    )
    ran = airflow.run(
        f"""
        from airflow.providers.standard.operators.bash import BashOperator

        with DAG("command"):
            BashOperator(task_id="work", bash_command="{sys.executable} {script}")
        """,
        "command",
    )

    assert ran.value == "False"
    card = json.loads(tab(TaskKey("command", ran.run_id, "work"), "card.json"))
    assert (card["job"], card["state"]) == ("command.work", "succeeded")
