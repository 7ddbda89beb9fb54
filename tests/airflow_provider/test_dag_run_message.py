"""One message about a DAG run, from Airflow's own DAG processor and from an event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.causes import Cause, advice_on
from airflow_dask_blackbox.notifications.dag_run_message import message_of_run
from airflow_dask_blackbox.notifications.dask_card import DaskCardNotifier

_CALLBACKS = Path(__file__).with_name("dag_callbacks.py")

_DAG = """
from pathlib import Path
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import Asset
from airflow_dask_blackbox.notifications.dask_card import DaskCardNotifier

def load(region):
    import dask
    def price(row):
        return row["unit_price"]
    rows = {{}} if region != "emea" else {{"unit_price": 1}}
    return dask.delayed(price)(rows).compute()

def fails():
    raise RuntimeError("no Dask here")

def write(context):
    with Path("{message}").open("a") as file:
        file.write(context["dask"].text + "\\n----\\n")

with DAG("forty", on_failure_callback=DaskCardNotifier(write)):
    loads = DaskObservedOperator.partial(
        task_id="load", python_callable=load, map_index_template="{{{{ task.op_kwargs['region'] }}}}",
        cluster_kwargs={{**TINY, "processes": False}},
    ).expand(op_kwargs=[{{"region": name}} for name in ("apac", "emea", "latam")])
    summary = PythonOperator(task_id="summary", python_callable=print, outlets=[Asset("s3://lake/summary")])
    loads >> summary
    PythonOperator(task_id="other_1", python_callable=fails)
"""


@pytest.mark.nightly
def test_airflow_calls_the_notifier_of_a_dag_once_and_gets_one_message(
    airflow: Any, tmp_path: Path
) -> None:
    sent = tmp_path / "sent.txt"
    dag = airflow.load(_DAG.format(message=sent), "forty")
    run = dag.test()
    # With `dag.test()`, Airflow 3.3.2 can call no notifier of a DAG.
    sent.unlink(missing_ok=True)

    done = subprocess.run(
        [sys.executable, _CALLBACKS, dag.fileloc, "forty", run.run_id],
        capture_output=True,
        text=True,
        check=False,
    )

    assert sent.exists(), done.stdout + done.stderr
    minimal, with_task = sent.read_text().split("\n----\n")[:2]
    assert minimal == with_task
    head, _, *lines = minimal.splitlines()
    assert head == "forty: 3 of 5 tasks failed, 1 cause"
    text = "\n".join(lines)
    assert "2 tasks: KeyError in 'price': 'unit_price'" in text
    assert "Tasks: load [apac], load [latam]\n" in text
    assert "Cannot run because of it: summary\n" in text
    assert "Assets not updated: s3://lake/summary" in text
    assert "1 task: Unknown: no recording says why\nTasks: other_1" in text
    assert text.endswith("/plugin/dask-runs-of-run")


def test_without_the_states_of_its_tasks_the_message_is_sent_all_the_same() -> None:
    message = message_of_run({"run_id": "r 1", "reason": "timed_out"})

    assert message.subject.endswith(
        "failed (timed_out); the states of its tasks are unknown here"
    )
    assert message.url.endswith("/runs/r%201/plugin/dask-runs-of-run")


def test_in_an_event_loop_notifiers_send_in_their_own_way_and_errors_come_last() -> (
    None
):
    from airflow.sdk import BaseNotifier

    sent: list[str] = []

    class Both(BaseNotifier):
        template_fields = ("text",)

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

        async def async_notify(self, context: Any) -> None:
            sent.append(f"async {self.text}")

    class OnlySync(Both):
        async_notify = BaseNotifier.async_notify

        def notify(self, context: Any) -> None:
            sent.append(f"sync {self.text}")

    def broken(_context: Any) -> None:
        raise ConnectionError("no chat today")

    async def function(context: Any) -> None:
        sent.append(f"function {context['dask'].subject}")

    async def missed() -> None:
        await DaskCardNotifier(
            broken,
            Both("{{ dask.subject }}"),
            OnlySync("{{ dask.subject }}"),
            function,
            context={"dag_run": {"dag_id": "late", "dag_run_id": "r1"}},
        )

    with pytest.raises(ConnectionError, match="no chat today"):
        asyncio.run(missed())
    subject = "late: is late; the states of its tasks are unknown here"
    assert sent == [f"{how} {subject}" for how in ("async", "sync", "function")]


def test_notifiers_are_given_as_data_to_the_callback_of_a_deadline() -> None:
    smtp = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
    made = DaskCardNotifier(
        send=[{"class": smtp, "kwargs": {"to": "a@shop.example", "from_email": "b"}}]
    )

    assert [type(each).__name__ for each in made.notifiers] == ["SmtpNotifier"]
    with pytest.raises(OperatorConfigurationError, match=r"'smtp\.Nothing'"):
        DaskCardNotifier(send=[{"class": "smtp.Nothing"}])
    with pytest.raises(OperatorConfigurationError, match="each item is a dict such as"):
        DaskCardNotifier(send=["slack"])  # type: ignore[list-item]


def test_causes_that_differ_in_numbers_and_addresses_are_one() -> None:
    one, other = (
        Cause("r", "Killed at 1.2 GiB on tcp://10.0.0.1:3"),
        Cause("r", "Killed at 900 MiB on tcp://h:42"),
    )
    assert one.key != other.key  # the unit
    assert one.key == Cause("r", "Killed at 7 GiB on tcp://h:42").key
    assert one.key != one._replace(rule="s").key
    assert Cause.announced(one._asdict()) == one
    for wrong in (None, "text", {}, {"title": 3, "rule": "r"}, {"rule": "r"}):
        assert Cause.announced(wrong) is None


def test_advice_that_differs_is_given_for_the_tasks_that_it_is_for() -> None:
    def needs(task: str, memory: str) -> tuple[str, str, Cause]:
        line = f"To paste into d.py, task {task!r}: `cluster_kwargs={{{memory!r}}}`."
        return task, task, Cause("r", "Killed", f"Give {memory}. {line}")

    same = advice_on([needs("load", "2 GiB"), needs("load", "2 GiB")])
    each = advice_on([needs("load", "2 GiB"), needs("join", "3 GiB")])
    differs = advice_on([needs("load", "2 GiB"), needs("load", "3 GiB")])

    assert same.remedies == (("Give 2 GiB.", ("load",)),)
    assert [len(given.lines) for given in (same, each, differs)] == [1, 2, 0]
    assert [given.differs for given in (same, each, differs)] == [(), (), ("load",)]
    assert advice_on([("a", "a", Cause("r", "Killed"))]) == ((), (), ())


def test_a_long_remedy_keeps_the_line_to_paste_and_a_title_that_is_cut_says_so() -> (
    None
):
    line = "To paste into nightly.py, task 'load': `dask_config={}`."
    remedy = "Give workers more memory. " * 100 + line
    cause = Cause.announced({"rule": "r", "title": "x" * 900, "remedy": remedy})

    assert cause is not None
    assert len(cause.remedy) == 2_000
    assert cause.remedy.endswith(f"… {line}")
    assert cause.title == "x" * 499 + "…"
