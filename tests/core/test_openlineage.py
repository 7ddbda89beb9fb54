"""The events of a run that a service of OpenLineage gets from the recorder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.config
import msgspec
import pytest
from conditions import until
from dask_blackbox.card import RunCard
from dask_blackbox.events import DataNamed
from dask_blackbox.finding import Finding, Subject
from dask_blackbox.manifest import Manifest
from dask_blackbox.protocol.destinations import openlineage_set
from dask_blackbox.protocol.messages import HostLineage, OpenLineage
from dask_blackbox.recorder.named_data import DataOfRun
from dask_blackbox.recorder.openlineage import complete_host_run, send_lineage
from dask_blackbox.report.openlineage import dataset_names
from http_receiver import Receiver, receiver

pytestmark = pytest.mark.processes

PARENT = "019b0000-0000-7000-8000-000000000001"
MANIFEST = Manifest(
    recording="0123456789ab", job="nightly", run_id="run-7", started=1_800_000_000.0
)


def events_of(found: Receiver) -> list[dict[str, Any]]:
    """Return the events that came, in their order."""
    return [each.json() for each in found.posts if each.path == "/api/v1/lineage"]


def a_card(**fields: Any) -> RunCard:
    given: dict[str, Any] = {
        "job": "nightly",
        "run_id": "run-7",
        "state": "failed",
        "headline": "KeyError in 'clean'",
        "verdict": Finding(
            rule="task-exception",
            severity="failure",
            title="KeyError in 'clean'",
            cause="A task raised.",
            remedy="Look at the rows.",
            confidence="high",
            subject=Subject(key="clean-1"),
            retry_advice="data",
        ),
        "numbers": {"duration": 60.0, "tasks": 2},
        "links": {
            "report": "https://bucket.invalid/run-7/report.html?X-Amz-Signature=a"
        }
        | {"recording": "s3://bucket/nightly/run-7"},
    }
    return RunCard(**given | fields)


def test_a_failed_run_has_a_start_and_an_end_with_the_verdict() -> None:
    with receiver(201) as found:
        to = OpenLineage(
            url=found.url, namespace="etl", parent=f"airflow/dag.task/{PARENT}"
        )
        assert send_lineage(to, MANIFEST, a_card()) == []
        assert send_lineage(to, MANIFEST, a_card()) == []

    start, end, again, _ = events_of(found)
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert start["eventTime"].startswith("2027-01-15T08:00:00")
    assert end["eventTime"].startswith("2027-01-15T08:01:00")
    assert start["run"]["runId"] == end["run"]["runId"] == again["run"]["runId"]
    assert (end["job"]["namespace"], end["job"]["name"]) == ("etl", "nightly")
    facets = end["run"]["facets"]
    assert facets["daskRun"]["rule"] == "task-exception"
    assert facets["daskRun"]["retry"] == "data"
    assert facets["daskRun"]["report"] == "s3://bucket/nightly/run-7/report.html"
    assert facets["errorMessage"]["message"] == "KeyError in 'clean'"
    assert facets["parent"]["run"]["runId"] == PARENT
    assert facets["parent"]["job"]["name"] == "dag.task"
    assert facets["processing_engine"]["name"] == "Dask"


@pytest.mark.parametrize(
    ("state", "last"),
    [("succeeded", "COMPLETE"), ("aborted", "ABORT"), ("lost", "ABORT")],
)
def test_the_last_event_says_how_the_run_ended(state: str, last: str) -> None:
    with receiver(201) as found:
        card = a_card(state=state, verdict=None)
        send_lineage(OpenLineage(url=found.url), MANIFEST, card)

    event = events_of(found)[-1]
    assert event["eventType"] == last
    facets = event["run"]["facets"]
    assert ("errorMessage" in facets) is (state != "succeeded")
    assert "parent" not in facets


@pytest.mark.parametrize(
    "trouble", ["refuses", pytest.param("is away", marks=pytest.mark.nightly)]
)
def test_what_a_service_does_not_take_is_a_line_in_the_log(
    trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiver(400) as found:
        url = found.url if trouble == "refuses" else "http://127.0.0.1:9"
        problems = send_lineage(OpenLineage(url=url), MANIFEST, a_card())

    assert problems
    assert "OpenLineage's event was not sent" in caplog.text


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("marquez:5000", "is no URL; give one like 'http://marquez:5000'"),
        (5000, "give a URL, or true to use OPENLINEAGE_URL"),
    ],
)
def test_a_mistake_in_the_setting_is_a_line_in_the_log(
    value: object, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with dask.config.set({"blackbox.openlineage": value}):
        assert openlineage_set() is None

    assert says in caplog.text


def test_namespace_and_parent_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "etl")
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"airflow/dag.task/{PARENT}")
    with dask.config.set({"blackbox.openlineage": True}):
        known = openlineage_set()
        monkeypatch.setenv("OPENLINEAGE_PARENT_ID", "nonsense")
        unknown = openlineage_set()

    assert known == OpenLineage(namespace="etl", parent=f"airflow/dag.task/{PARENT}")
    assert unknown == OpenLineage(namespace="etl")


_DRIVER = """
import os, signal, sys
from distributed import Client, LocalCluster
from dask_blackbox import recording
from dask_blackbox.protocol.messages import HostLineage

def price(row):
    return row["unit_price"]

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            rec = recording(client, store=sys.argv[1], job="nightly")
            rec.host_lineage = HostLineage(namespace="host", job="task", run_id=sys.argv[3])
            with rec:
                client.submit(price, {}, key="price-1").exception()
                if sys.argv[2] == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                client.submit(price, {}, key="price-2").result()
"""


@pytest.mark.parametrize(
    "ending", ["failed", pytest.param("killed", marks=pytest.mark.nightly)]
)
def test_a_recorded_run_arrives_whatever_happens_to_its_driver(
    ending: str, tmp_path: Path
) -> None:
    script = tmp_path / "nightly.py"
    script.write_text(_DRIVER)
    with receiver(201) as found:
        environ = os.environ | {
            "DASK_BLACKBOX__OPENLINEAGE": "true",
            "OPENLINEAGE_URL": found.url,
            "OPENLINEAGE_API_KEY": "the-key-of-lineage",
        }
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "store"), ending, PARENT],
            env=environ,
            capture_output=True,
            check=False,
        )
        # Of a run that ended by itself, the host's own process has sent what it had.
        events = 2 if ending == "failed" else 3
        until(
            lambda: len(found.posts) == events,
            "all events have arrived",
            describe=lambda: done.stderr,
        )

    assert done.returncode == (1 if ending == "failed" else -signal.SIGKILL)
    start, end, *of_host = events_of(found)
    assert start["eventType"] == "START"
    assert end["eventType"] == ("FAIL" if ending == "failed" else "ABORT")
    assert [each["run"]["runId"] for each in of_host] == [PARENT] * (events - 2)
    assert [each["eventType"] for each in of_host] == ["ABORT"] * (events - 2)
    rule = "task-exception" if ending == "failed" else "driver-killed"
    assert end["run"]["facets"]["daskRun"]["rule"] == rule
    keys = [each.headers["authorization"] for each in found.posts]
    assert keys == ["Bearer the-key-of-lineage"] * events


def some_data() -> DataOfRun:
    """Return what a run has read and written."""
    data = DataOfRun()
    row = {"reads": ["s3://lake/orders"], "writes": ["/data/out"]}
    data.add_rows({"event": [[1.0, DataNamed.kind, "driver", json.dumps(row)]]})
    return data


@pytest.mark.parametrize(
    ("stopped", "rule", "ends"),
    [
        (False, "driver-killed", "ABORT"),
        (True, "workers-died", "OTHER"),
        (False, "stopped-by-host", "OTHER"),
    ],
)
def test_the_hosts_own_run_gets_what_its_killed_process_cannot_send(
    *, stopped: bool, rule: str, ends: str
) -> None:
    card = a_card(state="aborted")
    assert card.verdict is not None
    verdict = msgspec.structs.replace(card.verdict, rule=rule)
    card = msgspec.structs.replace(card, verdict=verdict)
    with receiver(201) as found:
        to = HostLineage(
            settings={"transport": {"type": "http", "url": found.url}},
            namespace="airflow",
            job="nightly.load",
            run_id=PARENT,
            report="https://airflow.invalid/dags/nightly",
        )
        problems = complete_host_run(to, MANIFEST, card, some_data(), stopped=stopped)

    assert problems == []
    [event] = events_of(found)
    assert event["eventType"] == ends
    assert event["eventTime"].startswith("2027-01-15T08:01:00")
    assert event["run"]["runId"] == PARENT
    assert (event["job"]["namespace"], event["job"]["name"]) == (
        "airflow",
        "nightly.load",
    )
    facets = event["run"]["facets"]
    assert facets["daskRun"]["rule"] == rule
    assert facets["daskRun"]["report"] == "https://airflow.invalid/dags/nightly"
    # The client itself adds tags; the error stands where nobody else says how it ended.
    more = {"errorMessage"} if ends == "ABORT" else set()
    assert set(facets) - {"daskRun", "tags"} == more
    assert [each["name"] for each in event["inputs"]] == ["orders"]
    assert [each["name"] for each in event["outputs"]] == ["/data/out"]


def test_the_events_have_what_the_graphs_read_and_write() -> None:
    data = some_data()
    with receiver(201) as found:
        send_lineage(OpenLineage(url=found.url), MANIFEST, a_card(), data)

    for event in events_of(found):
        (read,), (written,) = event["inputs"], event["outputs"]
        assert (read["namespace"], read["name"]) == ("s3://lake", "orders")
        assert (written["namespace"], written["name"]) == ("file", "/data/out")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/data/orders"], [("file", "/data/orders")]),
        (["/data/2026/*/part-?.csv"], [("file", "/data/2026")]),
        (["s3://lake/orders/"], [("s3://lake", "orders")]),
        (["s3a://lake"], [("s3://lake", "/")]),
        (["gcs://lake/a/b.csv"], [("gs://lake", "a/b.csv")]),
        (
            ["abfss://box@shop.dfs.core.windows.net/a"],
            [("abfss://box@shop.dfs.core.windows.net", "a")],
        ),
        (["hdfs://namenode:8020/a"], [("hdfs://namenode:8020", "/a")]),
        (["/x/1.csv", "/x/2.csv"], [("file", "/x/1.csv"), ("file", "/x/2.csv")]),
        ([f"/x/{n}.csv" for n in range(11)], [("file", "/x")]),
    ],
)
def test_paths_are_named_as_openlineage_asks(
    paths: list[str], names: list[tuple[str, str]]
) -> None:
    assert dataset_names(paths) == names
