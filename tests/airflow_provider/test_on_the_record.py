"""What stays in Airflow of a Dask run: the log's order, earlier tries, rendered templates."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow_dask_blackbox.addresses import TaskKey, tab_of
from airflow_dask_blackbox.earlier_tries import EarlierTries
from conditions import until
from dask_blackbox import RunCard
from dask_blackbox.identity import Identity
from dask_blackbox.layout import RunAddress
from dask_blackbox.store import StoreChoice, open_store

_WORK = """
def refuse(day):
    raise ValueError(f"no deliveries on {day}")

def work(ti):
    import dask
    if ti.try_number == 1:
        dask.delayed(refuse)("Friday").compute()
    return dask.delayed(str.upper)("Friday").compute()

def loud():
    import structlog
    from distributed import LocalCluster

    class Loud(LocalCluster):
        def close(self, timeout=None):
            structlog.get_logger("loud").warning("the cluster is closed")
            return super().close(timeout)

    return Loud(n_workers=1, processes=False, dashboard_address="127.0.0.1:0")

"""


@pytest.mark.nightly
def test_the_next_try_begins_with_the_verdict_on_the_one_before(airflow: Any) -> None:
    ran = airflow.run(
        f"""{_WORK}
with DAG("twice"):
    DaskObservedOperator(
        task_id="work", python_callable=work, cluster=loud,
        retries=1, retry_delay=timedelta(0),
    )
""",
        "twice",
    )

    assert ran.value == "FRIDAY"
    said = ran.messages
    (again,) = (line for line in said if line.startswith("Try 1: "))
    assert "no deliveries on Friday" in again
    begun = [place for place, line in enumerate(said) if line.startswith("Recording ")]
    assert len(begun) == 2
    assert begun[0] < said.index(again) < begun[1]


@pytest.mark.parametrize("links", ["airflow", "store"])
def test_a_killed_try_is_linked_according_to_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: str
) -> None:

    monkeypatch.setenv("AIRFLOW__DASK_BLACKBOX__LINKS", links)
    signed = "https://bucket.example/report.html?X-Amz-Signature=1"
    # As its recorder writes it, which knows nothing of Airflow.
    card = RunCard(
        job="d.t", run_id="r", state="aborted", headline="Killed",
        links={"report": signed},
    )  # fmt: skip
    folder = RunAddress.of("d.t", "r", 1).folder
    store = open_store(tmp_path)
    store.put(f"{folder}run.json", b"{}")
    store.put(f"{folder}card.json", card.to_json())
    lines: list[str] = []
    log: Any = SimpleNamespace(info=lambda line, *of: lines.append(line % of))
    ti = SimpleNamespace(
        dag_id="d", task_id="t", run_id="r", map_index=-1, try_number=2
    )

    earlier = EarlierTries({"ti": ti}, log)
    earlier.look(Identity(job="d.t", run_id="r", attempt=2), StoreChoice(str(tmp_path)))
    earlier.show()

    tab = tab_of(TaskKey("d", "r", "t"), 1)
    assert lines == ["Try 1: Killed", f"  {signed if links == 'store' else tab}"]


@pytest.mark.parametrize(
    ("remembered", "says"),
    [
        (None, "its verdict is not known yet"),
        ("running", "did not report its end; its recording is being finished"),
    ],
)
def test_a_try_whose_card_is_late_is_reported_with_what_is_known(
    tmp_path: Path, remembered: str | None, says: str
) -> None:
    card = RunCard(job="d.t", run_id="r", state="aborted", headline="Killed")
    folder = RunAddress.of("d.t", "r", 1).folder
    store = open_store(tmp_path)
    store.put(f"{folder}run.json", b"{}")
    lines: list[str] = []
    log: Any = SimpleNamespace(info=lambda line, *of: lines.append(line % of))
    ti = SimpleNamespace(
        dag_id="d", task_id="t", run_id="r", map_index=-1, try_number=2
    )
    context: dict[str, Any] = {"ti": ti}
    if remembered is not None:
        tries = {"dask_blackbox": [{"attempt": 1, "state": remembered}]}
        context["task_state_store"] = tries

    earlier = EarlierTries(context, log)
    earlier.look(Identity(job="d.t", run_id="r", attempt=2), StoreChoice(str(tmp_path)))
    earlier.show()

    assert lines[0] == f"Try 1: {says}"
    store.put(f"{folder}card.json", card.to_json())
    until(lambda: "Try 1: Killed" in lines)


def test_the_verdict_is_in_the_log_before_the_cluster_is_closed(airflow: Any) -> None:
    ran = airflow.run(
        f"""{_WORK}
with DAG("loud"):
    DaskObservedOperator(task_id="work", python_callable=work, cluster=loud)
""",
        "loud",
    )

    assert ran.state == "failed"
    fold = ran.log.index("::group::Full card")
    assert ran.log.rindex("no deliveries on Friday", 0, fold) < fold
    assert fold < ran.log.index("the cluster is closed")


def test_rendered_templates_show_the_cluster_and_where_it_is_recorded(
    airflow: Any,
) -> None:
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from airflow_dask_blackbox.tab.tries import belongs_to_instance
    from sqlalchemy import select

    ran = airflow.run(
        """
def work(client, ti):
    return client.scheduler.address

with DAG("rendered"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        op_kwargs={},
        cluster_kwargs={
            "n_workers": 2, "threads_per_worker": 3, "processes": False,
            "memory_limit": "1 GiB",
        },
    )
""",
        "rendered",
    )

    with create_session() as session:
        (fields,) = session.scalars(
            select(RenderedTaskInstanceFields.rendered_fields)
            .join(TaskInstance, belongs_to_instance(RenderedTaskInstanceFields))
            .where(TaskInstance.run_id == ran.run_id)
        )
        shown = fields["dask_run"]
    assert {
        name: shown[name] for name in ("cluster", "workers", "threads", "memory")
    } == {
        "cluster": "LocalCluster",
        "workers": 2,
        "threads": 6,
        "memory": "2.00 GiB",
    }
    assert shown["scheduler"] == ran.value
    assert shown["dashboard"].startswith("http://")
    assert "rendered.work" in shown["recording"]
    assert shown["report"].endswith("/plugin/dask-run?try_number=1")


class Refusing(ThreadingHTTPServer):
    """A store that refuses, and notes what Airflow knows when it is first asked."""

    def __init__(self, dag_id: str) -> None:
        super().__init__(("127.0.0.1", 0), _Refusals)
        self.dag_id = dag_id
        self.known: dict[str, Any] | None = None


class _Refusals(BaseHTTPRequestHandler):
    server: Refusing

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.known is None:
            self.server.known = _xcoms(self.server.dag_id)
        body = b"<Error><Code>AccessDenied</Code></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        self._refuse()

    def do_HEAD(self) -> None:
        self._refuse()

    def do_PUT(self) -> None:
        self._refuse()

    def log_message(self, *_: Any) -> None:
        pass


def _xcoms(dag_id: str) -> dict[str, Any]:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(XComModel).filter(XComModel.dag_id == dag_id)
        return {row.key: XComModel.deserialize_value(row) for row in found}


@pytest.fixture
def refusing() -> Iterator[Refusing]:
    """A store that refuses."""
    with Refusing("early") as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_addresses_are_published_before_the_store_is_asked_for_anything(
    airflow: Any, refusing: Refusing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    ran = airflow.run(
        f"""{_WORK}
def nothing():
    return None

with DAG("early"):
    DaskObservedOperator(
        task_id="work", python_callable=nothing, cluster=loud, store="s3://flights/e",
        store_settings={{
            "endpoint": "http://127.0.0.1:{refusing.server_port}", "region": "eu-west-1",
        }},
    )
""",
        "early",
    )

    assert ran.state == "success"
    assert refusing.known is not None
    assert refusing.known["dask_run"].endswith("/plugin/dask-run?try_number=1")
    assert refusing.known["dask_recording"]["store"] == "s3://flights/e"
