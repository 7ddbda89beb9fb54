"""Whatever Airflow ends, and whenever: the verdict says who it was, and no failure of the job."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from conditions import flag_of, until
from dask_blackbox.layout import RunAddress
from dask_blackbox.testing import EmbeddedS3
from distributed import Client
from recorder_processes import recorder_of

ROOT = Path(__file__).parents[2]
COMMANDS = Path(os.environ.get("AIRFLOW_COMMANDS", ROOT / ".venvs" / "airflow" / "bin"))

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not COMMANDS.exists(), reason="needs .venvs/airflow"),
    pytest.mark.timeout(600),  # an Airflow, on a busy machine
]


def _ended_card(s3: EmbeddedS3, dag: str, run_id: str) -> Any:
    client = s3.client()
    key = f"{RunAddress.of(f'{dag}.work', run_id, 1).folder}card.json"
    with suppress(client.exceptions.NoSuchKey):
        card = json.loads(client.get_object(Bucket=s3.bucket, Key=key)["Body"].read())
        return card if card["state"] != "running" else None
    return None


def _marked(host: Any, run: Any, _pid: int) -> None:
    host.set_state(run, "work", "failed")


def _cleared(host: Any, run: Any, _pid: int) -> None:
    host.ask(
        f"dags/{run.dag_id}/clearTaskInstances",
        {
            "dry_run": False,
            "dag_run_id": run.run_id,
            "task_ids": ["work"],
            "only_failed": False,
            "only_running": False,
        },
    )


def _terminated(_host: Any, _run: Any, pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


def _supervisor_killed(_host: Any, _run: Any, pid: int) -> None:
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)


def _left_alone(_host: Any, _run: Any, _pid: int) -> None:
    """Airflow's own clock runs out."""


class Ending(NamedTuple):
    """A way to end a task."""

    dag: str
    stop: Callable[..., None]
    says: str


@pytest.mark.parametrize("moment", ["starting", "running"])
@pytest.mark.parametrize(
    "how",
    [
        Ending("moments", _marked, "marked failed"),
        Ending("moments", _cleared, "cleared"),
        Ending("moments", _terminated, "SIGTERM"),
        Ending("moments", _supervisor_killed, "its supervisor process is gone"),
        Ending("moments_of_task", _left_alone, "execution_timeout"),
        Ending("moments_of_run", _left_alone, "dagrun_timeout"),
    ],
    ids=[
        "marked",
        "cleared",
        "sigterm",
        "supervisor",
        "task-timeout",
        "run-timeout",
    ],
)
def test_the_verdict_names_who_stopped_the_task(
    host: Any,
    s3: EmbeddedS3,
    tmp_path: Path,
    how: Ending,
    moment: str,
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger(how.dag, conf={"flag": str(flag), "moment": moment})
    pid = int(flag_of(flag))
    how.stop(host, run, pid)

    card = until(lambda: _ended_card(s3, how.dag, run.run_id), interval=0.2)

    if how.stop is _supervisor_killed:
        os.kill(pid, signal.SIGKILL)  # its callable sleeps on, unseen
    elif how.stop in (_cleared, _terminated):
        # No more tries of it; and after SIGTERM alone, the callable sleeps on.
        host.set_state(run, "work", "failed")
    verdict = card["verdict"]
    assert verdict["rule"] == "stopped-by-host", verdict
    assert how.says in f"{verdict['title']} {verdict['cause']}"
    assert "memory" not in verdict["remedy"]
    assert [each for each in card["findings"] if each["severity"] == "failure"] == []


def test_a_recording_in_a_busy_task_that_is_marked_reports_it_in_log_and_headline(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("moments_plainly", conf={"flag": str(flag)})
    flag_of(flag)
    host.set_state(run, "work", "failed")

    card = until(lambda: _ended_card(s3, "moments_plainly", run.run_id), interval=0.2)

    assert card["verdict"]["rule"] == "stopped-by-host"
    assert " (marked failed)" in card["headline"]
    assert until(
        lambda: any(
            line.startswith("Airflow stopped this task (marked failed); its recording")
            for line in host.log(run, "work")
        ),
        interval=0.5,
    )


def test_a_task_that_is_marked_while_its_cluster_closes_had_succeeded(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "pid"
    run = host.trigger("moments", conf={"flag": str(flag), "moment": "closing"})
    flag_of(flag)
    host.set_state(run, "work", "failed")

    card = until(lambda: _ended_card(s3, "moments", run.run_id), interval=0.2)

    assert card["state"] == "succeeded"
    assert card["verdict"] is None
    assert card["numbers"]["tasks"] == 10


def _answers(address: str) -> bool:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), timeout=2):
        return True
    return False


@pytest.mark.parametrize("dag", ["orphans", "kept_cluster", "lasting_cluster"])
def test_a_cluster_that_outlives_a_killed_task_is_closed_unless_it_is_kept(
    host: Any, s3: EmbeddedS3, tmp_path: Path, dag: str
) -> None:
    flag = tmp_path / "flag"
    run = host.trigger(dag, conf={"flag": str(flag)})
    pid, address = flag_of(flag).split()
    os.kill(int(pid), signal.SIGKILL)

    card = until(lambda: _ended_card(s3, dag, run.run_id), interval=0.2)

    kept = dag != "orphans"
    assert card["state"] == "aborted"
    assert _answers(address) is kept
    titles = [
        each["title"] for each in card["findings"] if each["rule"] == "cluster-orphaned"
    ]
    closed = [] if kept else [f"The recorder closed the cluster at {address}"]
    assert titles == closed
    if kept:
        with Client(address) as client:
            client.shutdown()


def test_a_cluster_that_outlives_a_stopped_task_is_closed(
    host: Any, s3: EmbeddedS3, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    run = host.trigger("orphans", conf={"flag": str(flag)})
    _, address = flag_of(flag).split()
    # SIGTERM, and SIGKILL five seconds later: its callable sleeps on in between.
    host.set_state(run, "work", "failed")

    card = until(lambda: _ended_card(s3, "orphans", run.run_id), interval=0.2)

    assert card["verdict"]["rule"] == "stopped-by-host"
    assert until(lambda: not _answers(address), interval=0.2)


def test_the_next_try_closes_the_cluster_of_one_that_was_killed_with_its_recorder(
    host: Any, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    run = host.trigger("orphans", conf={"flag": str(flag)})
    pid, address = flag_of(flag).split()
    task = psutil.Process(int(pid))
    recorder = recorder_of(task.pid)
    task.suspend()  # as in a pod that is gone: no time to start another recorder
    recorder.kill()
    task.kill()
    assert host.wait(run) == "failed"
    assert _answers(address)

    _cleared(host, run, 0)

    until(lambda: host.task(run, "work")["try_number"] == 2, interval=0.2)
    assert host.wait(run) == "success"
    assert until(lambda: not _answers(address), timeout=240, interval=0.2)
