"""What Airflow ends is recorded as stopped by Airflow, with how far the work had come."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.execution_time import task_runner
from airflow_dask_blackbox.operators.dask import DaskObservedOperator
from airflow_dask_blackbox.stopping import Stop, finish_stopped, stop_by_signal
from airflow_dask_blackbox.supervisor_watch import (
    supervisor_is_gone,
    watch_supervisor,
)
from conditions import until
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.job_histories import job_history
from dask_blackbox.store import open_store
from distributed import Client, LocalCluster

_WORK = """
def work(state, ti, client):
    import os, signal, time

    from airflow.models import TaskInstance
    from airflow.utils.session import create_session

    done = client.map(str, range(40))
    client.gather(done)
    waiting = client.submit(time.sleep, 600)
    while not any(client.processing().values()):  # the scheduler has it
        time.sleep(0.05)
    with create_session() as session:
        session.query(TaskInstance).filter_by(dag_id=ti.dag_id).update({"state": state})
    os.kill(os.getpid(), signal.SIGTERM)
    return waiting.result()
"""


def _card(store: Path, job: str, run_id: str) -> Any:
    folder = RunAddress.of(job, run_id, 1).folder
    file = store / folder / "card.json"
    # The recorder may write it when the task that was to end has returned.
    until(file.exists, "the card is in the store")
    return json.loads(file.read_text())


@pytest.mark.usefixtures("unhurried")
def test_the_log_of_a_stopped_task_names_who_stopped_it_and_its_progress(
    airflow: Any, tmp_path: Path
) -> None:
    ran = airflow.run(
        f"""{_WORK}
with DAG("stopped"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        op_args=["failed"],
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
    )
""",
        "stopped",
    )

    first, *said = (
        line for line in ran.messages if line.startswith("Airflow stopped this")
    )
    card = _card(tmp_path, "stopped.work", ran.run_id)
    assert "(marked failed); 40 of 41 tasks were done" in card["headline"]
    assert first.startswith(
        "Airflow stopped this task (marked failed); its recording ends"
    )
    assert "/plugin/dask-run" in first
    assert card["headline"] in said
    assert card["state"] == "aborted"
    assert "dask_run" in ran.xcoms
    assert "dask_dashboard" not in ran.xcoms
    assert card["verdict"]["rule"] == "stopped-by-host"
    assert card["numbers"]["deaths"] == 0
    assert [each["rule"] for each in card["findings"] if "memory" in each["rule"]] == []


@pytest.mark.nightly
@pytest.mark.usefixtures("unhurried")
def test_a_task_that_failed_after_airflow_had_ended_it_was_stopped(
    airflow: Any, tmp_path: Path
) -> None:
    # As where the teardown of a marked task closes the cluster before the task hears of it.
    ran = airflow.run(
        f"""
def work(ti, client):
    from airflow.models import TaskInstance
    from airflow.utils.session import create_session

    client.gather(client.map(str, range(40)))
    with create_session() as session:
        session.query(TaskInstance).filter_by(dag_id=ti.dag_id).update(
            {{"state": "failed"}}
        )
    raise RuntimeError("the scheduler is gone")

with DAG("ended_before"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
    )
""",
        "ended_before",
    )

    card = _card(tmp_path, "ended_before.work", ran.run_id)
    assert card["state"] == "aborted"
    assert card["verdict"]["rule"] == "stopped-by-host"
    assert "(marked failed); 40 of 40 tasks were done" in card["headline"]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    ("comes", "said"),
    [
        ("raise AirflowTaskTimeout('Timeout')", "execution_timeout"),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGTERM)",
            "marked failed",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_what_airflow_ends_while_the_cluster_closes_is_in_the_log(
    airflow: Any, tmp_path: Path, comes: str, said: str
) -> None:
    ran = airflow.run(
        f"""
from airflow_dask_blackbox.compat import AirflowTaskTimeout

def cluster():
    import os, signal
    from airflow.models import TaskInstance
    from airflow.utils.session import create_session
    from distributed import LocalCluster

    class Slow(LocalCluster):
        def close(self, timeout=None):
            super().close(timeout)
            with create_session() as session:
                mine = session.query(TaskInstance).filter_by(dag_id="closing_slowly")
                mine.update({{"state": "failed"}})
            {comes}

    return Slow(**TINY, dashboard_address="127.0.0.1:0")

with DAG("closing_slowly"):
    DaskObservedOperator(
        task_id="work",
        python_callable=lambda client: client.submit(abs, -1).result(),
        cluster=cluster,
        store={str(tmp_path)!r},
        execution_timeout=timedelta(hours=1),
    )
""",
        "closing_slowly",
    )

    card = _card(tmp_path, "closing_slowly.work", ran.run_id)
    assert card["state"] == "succeeded"
    assert (
        f"Airflow stopped this task ({said}) while its cluster was closing; its Dask work "
        "had succeeded by then"
    ) in ran.messages


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    ("moment", "state", "said"),
    [
        pytest.param(
            "cluster",
            "failed",
            "this task was stopped before its work began",
            marks=pytest.mark.nightly,
        ),
        (
            "work",
            "success",
            (
                "This task continued although it was stopped, and returned a value; "
                "its recording ends with the SIGTERM"
            ),
        ),
    ],
)
def test_a_task_that_continues_after_a_signal_logs_it(
    airflow: Any, tmp_path: Path, moment: str, state: str, said: str
) -> None:
    ran = airflow.run(
        f"""
def stopped_at(moment):
    import os, signal
    if moment == {moment!r}:
        os.kill(os.getpid(), signal.SIGTERM)

def cluster():
    from distributed import LocalCluster
    stopped_at("cluster")
    return LocalCluster(**TINY, dashboard_address="127.0.0.1:0")

with DAG("goes_on"):
    Watched(
        task_id="work",
        python_callable=lambda: stopped_at("work") or "done",
        cluster=cluster,
        store={str(tmp_path)!r},
    )
""",
        "goes_on",
    )

    card = _card(tmp_path, "goes_on.work", ran.run_id)
    assert (ran.state, card["state"]) == (state, "aborted")
    assert card["verdict"]["rule"] == "stopped-by-host"
    assert said in [*ran.messages, *ran.xcoms.get("caught", [])]


@pytest.mark.parametrize(
    "cleaning", ["{}['parts']", pytest.param("pass", marks=pytest.mark.nightly)]
)
def test_an_execution_timeout_is_reported_with_the_pace_of_the_work(
    airflow: Any, tmp_path: Path, cleaning: str
) -> None:
    # The alarm itself comes at any moment, as long as a cluster takes to start.
    ran = airflow.run(
        f"""
from airflow_dask_blackbox.compat import AirflowTaskTimeout

def work(client):
    import time
    from distributed import wait
    futures = client.map(time.sleep, [0.05] * 4000, pure=False)
    wait(futures[:30])
    try:
        raise AirflowTaskTimeout("Timeout")
    finally:
        {cleaning}

with DAG("out_of_time"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
        execution_timeout=timedelta(hours=1),
    )
""",
        "out_of_time",
    )

    card = _card(tmp_path, "out_of_time.work", ran.run_id)
    assert ran.state == "failed"
    assert card["state"] == "failed"
    assert card["verdict"]["rule"] == "stopped-by-host"
    assert card["headline"].startswith("Reached its execution_timeout of 1 h")
    # Airflow calls `on_kill` after the timeout as well.
    assert [said for said in ran.messages if "is stopped" in said] == []
    assert " of 4,000 tasks done, at this rate " in card["headline"]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.nightly
def test_a_timeout_that_comes_while_the_recording_ends_is_no_signal(
    airflow: Any, tmp_path: Path
) -> None:
    # Airflow calls `on_kill` while it handles its exception.
    ran = airflow.run(
        f"""
from airflow_dask_blackbox.compat import AirflowTaskTimeout

def work(ti, client):
    client.submit(abs, -1).result()
    try:
        raise AirflowTaskTimeout("Timeout")
    except AirflowTaskTimeout:
        ti.task.on_kill()
        raise

with DAG("timeout_at_the_end"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
        execution_timeout=timedelta(hours=1),
    )
""",
        "timeout_at_the_end",
    )

    card = _card(tmp_path, "timeout_at_the_end.work", ran.run_id)
    assert card["headline"].startswith("Reached its execution_timeout of 1 h")
    (said,) = (line for line in ran.messages if "its recording ends" in line)
    assert said.startswith("Airflow stopped this task (execution_timeout)")


@pytest.mark.nightly
def test_what_airflow_ends_is_no_failure_in_the_history_of_the_job(
    airflow: Any, tmp_path: Path
) -> None:
    dag = airflow.load(
        f"""
from airflow.sdk import Param
from airflow_dask_blackbox.compat import AirflowTaskTimeout

def refuse(day):
    raise ValueError(f"no deliveries on {{day}}")

def work(client, params):
    if params["out_of_time"]:
        client.submit(abs, -1).result()
        raise AirflowTaskTimeout("Timeout")
    client.submit(refuse, "Friday").result()

with DAG("often_stopped", params={{"out_of_time": Param(False)}}):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
        execution_timeout=timedelta(hours=1),
    )
""",
        "often_stopped",
    )
    for out_of_time in (False, True, False):
        ran = airflow.run_dag(dag, {"out_of_time": out_of_time})

    history = job_history(open_store(tmp_path), "often_stopped.work")
    assert history.states == {"failed": 2, "stopped": 1}
    [group] = history.groups
    assert (group.verdict, group.times, group.since) == ("task-exception", 2, 0)
    past = _card(tmp_path, "often_stopped.work", ran.run_id)["past"]
    assert past["recurrence"]["in_a_row"] == 2
    assert past["stopped"] == 1


@pytest.mark.nightly
def test_a_task_that_defers_has_not_failed(airflow: Any, tmp_path: Path) -> None:
    ran = airflow.run(
        f"""
import datetime
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import timezone

class Waiting(DaskObservedOperator):
    def after(self, context, event=None):
        return "in time"

def work(client, ti):
    client.submit(abs, -1).result()
    ti.task.defer(trigger=DateTimeTrigger(timezone.utcnow()), method_name="after")

with DAG("deferring"):
    Waiting(
        task_id="work",
        python_callable=work,
        cluster_kwargs=TINY,
        store={str(tmp_path)!r},
    )
""",
        "deferring",
    )

    card = _card(tmp_path, "deferring.work", ran.run_id)
    assert (ran.state, ran.value) == ("success", "in time")
    assert (card["state"], card["verdict"]) == ("succeeded", None)


@pytest.mark.nightly
@pytest.mark.parametrize("code", [0, 3])
def test_a_task_that_exits_has_failed_whatever_its_code(
    airflow: Any, tmp_path: Path, code: int
) -> None:
    ran = airflow.run(
        f"""
import sys

def work(client):
    client.submit(abs, -1).result()
    sys.exit({code})

with DAG("exits_{code}"):
    DaskObservedOperator(
        task_id="work", python_callable=work, cluster_kwargs=TINY,
        store={str(tmp_path)!r},
    )
""",
        f"exits_{code}",
    )

    card = _card(tmp_path, f"exits_{code}.work", ran.run_id)
    assert (ran.state, card["state"]) == ("failed", "failed")
    assert f"sys.exit({code}) at exits_{code}.py:" in card["verdict"]["title"]


class _Instance(SimpleNamespace):
    """A task instance that Airflow has given a state."""

    dag_id, task_id, run_id = "nightly", "price", "run-1"

    def get_task_states(self, **asked: Any) -> dict[str, dict[str, Any]]:
        name = self.task_id if self.map_index < 0 else f"price_{self.map_index}"
        assert asked["map_index"] == (None if self.map_index < 0 else self.map_index)
        return {self.run_id: {name: self.state}}


@pytest.mark.parametrize("map_index", [-1, 3])
@pytest.mark.parametrize(
    ("state", "limit", "reason"),
    [
        ("failed", None, "marked-failed"),
        ("success", None, "marked-success"),
        ("restarting", None, "cleared"),
        (None, None, "cleared"),
        ("skipped", 90, "run-timeout"),
        ("skipped", None, "other"),
        ("running", 90, "evicted"),
    ],
)
def test_the_state_of_a_task_reports_why_it_was_stopped(
    state: str | None, limit: int | None, reason: str, map_index: int
) -> None:
    from datetime import timedelta

    timeout = None if limit is None else timedelta(seconds=limit)
    task = SimpleNamespace(dag=SimpleNamespace(dagrun_timeout=timeout))
    stop = stop_by_signal(
        {"ti": _Instance(state=state, map_index=map_index, task=task)}
    )

    assert stop.reason == reason
    assert stop.limit == (90.0 if reason == "run-timeout" else None)


def test_an_answer_of_airflow_that_comes_late_is_reported_all_the_same() -> None:
    answer, reported = threading.Event(), threading.Event()
    stops: list[Stop] = []

    class Slow(_Instance):
        def get_task_states(self, **asked: Any) -> dict[str, dict[str, Any]]:
            assert answer.wait(60)
            return super().get_task_states(**asked)

    def report(stop: Stop) -> None:
        stops.append(stop)
        reported.set()

    task = SimpleNamespace(dag=SimpleNamespace(dagrun_timeout=None))
    slow = Slow(state="failed", map_index=-1, task=task)
    first = stop_by_signal({"ti": slow}, late=report)
    answer.set()

    assert reported.wait(60)
    assert first == Stop(by="host")  # until Airflow answers, it may be anybody
    assert [stop.reason for stop in stops] == ["marked-failed"]


def test_a_recorder_knows_of_a_stop_before_airflow_reports_why() -> None:
    answer = threading.Event()
    noted: list[tuple[str, str]] = []

    class Asked(_Instance):
        def get_task_states(self, **asked: Any) -> dict[str, dict[str, Any]]:
            assert noted == [("host", "other")]
            answer.set()
            return super().get_task_states(**asked)

    class Heard:
        def stopped_by(self, by: str, reason: str, **_: Any) -> None:
            noted.append((by, reason))

        def finish(self, **_: Any) -> None:
            """End."""

    task = SimpleNamespace(dag=SimpleNamespace(dagrun_timeout=None))
    context = {"ti": Asked(state="failed", map_index=-1, task=task)}
    recording: Any = Heard()
    said: list[str] = []
    far = "3 of 5 tasks done"
    finish_stopped(recording, context, 0.0, said.append, "", progress=far)

    assert answer.is_set()
    (words,) = said
    assert words == (
        "Airflow stopped this task (marked failed); its recording ends, with 3 of 5 tasks "
        "done at the last report"
    )
    assert noted == [("host", "other"), ("airflow", "marked-failed")]


def test_a_client_that_cannot_close_in_time_is_no_error_of_a_stopped_task(
    swallowed: deque[tuple[str, BaseException]],
) -> None:
    operator = DaskObservedOperator(task_id="work", python_callable=str)
    blocked, let_go = threading.Event(), threading.Event()

    def block() -> None:
        blocked.set()
        let_go.wait(60)

    cluster = LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, Client(cluster) as client:
        operator._client = client
        client.loop.add_callback(block)
        assert blocked.wait(60)

        operator.on_kill()

        let_go.set()
    assert list(swallowed) == []


def test_a_task_whose_supervisor_is_gone_is_ended_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    supervisor, own = socket.socketpair()
    comms = SimpleNamespace(socket=own)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", comms, raising=False)
    calls: list[bool] = []
    ended = threading.Event()

    def on_kill() -> None:
        calls.append(supervisor_is_gone())
        ended.set()

    task = SimpleNamespace(on_kill=on_kill)
    with own:
        watch_supervisor(task)
        watch_supervisor(task)  # by another recording of the same task
        supervisor.send(b"an answer that the task has not read")
        assert not supervisor_is_gone()

        supervisor.close()

        assert ended.wait(60)
        assert stop_by_signal({}) == Stop(by="host", reason="supervisor-lost")
    assert calls == [True]


def test_a_task_that_has_ended_is_watched_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    supervisor, own = socket.socketpair()
    comms = SimpleNamespace(socket=own)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", comms, raising=False)
    task = SimpleNamespace(on_kill=lambda: pytest.fail("it has ended"))
    before = threading.enumerate()
    with supervisor:
        watch_supervisor(task)
        (watching,) = set(threading.enumerate()).difference(before)

        own.close()  # as Airflow does at the end

        watching.join(60)
        assert not watching.is_alive()
        assert supervisor.recv(1) == b""  # and nothing else keeps it open
        assert not supervisor_is_gone()


def test_a_task_without_a_supervisor_is_not_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As in `dag.test()`, whatever becomes of the process that has started that.
    monkeypatch.delattr(task_runner, "SUPERVISOR_COMMS", raising=False)

    watch_supervisor(SimpleNamespace())

    assert not supervisor_is_gone()
