"""A worker that does not answer: what its nanny sees of it, and which task is blamed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from conditions import scaled, until
from dask_blackbox import Recording, Run, RunCard, recording
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of
from dask_blackbox.analyse.frozen_workers import FrozenWorker, native_evidence
from dask_blackbox.capture.nanny.native_stacks import native_stack
from dask_blackbox.events import ExecutingTask, ProcessState
from distributed import Client, KilledWorker, LocalCluster
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path) -> Iterator[None]:
    settings = {
        "blackbox.spool": str(tmp_path / "spool"),
        "blackbox.stall.after": "2s",
        "distributed.scheduler.allowed-failures": 0,
    }
    with dask.config.set(settings):
        yield


def _sampled(dask_worker: Any) -> bool:
    [threads] = [
        plugin._threads
        for plugin in dask_worker.plugins.values()
        if hasattr(plugin, "_threads")
    ]
    return bool(threads._seen)


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _match(letters: int) -> bool:
    return bool(re.match(r"(a|aa)+$", "a" * letters + "b"))


def test_the_task_that_keeps_the_lock_is_blamed_and_its_line_is_named(
    tmp_path: Path,
) -> None:
    with (
        dask.config.set(
            {
                "distributed.scheduler.worker-ttl": f"{scaled(5)}s",
                "blackbox.capture.native-stacks": True,
            }
        ),
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="frozen") as rec,
    ):
        beside = client.submit(_sleep, 60, key="sleep-1")
        until(lambda: all(client.run(_sampled).values()), "its thread")
        with pytest.raises(KilledWorker):
            client.submit(_match, 60, key="match-1").result()
        beside.cancel()

    card = rec.card
    assert card.verdict is None or card.verdict.rule == "worker-heartbeat-timeout"
    # A worker that a busy machine delays may be given up, too, before this one.
    *_, death = deaths_of(Run.open(card.links["recording"]))
    killed = death.when_killed
    assert killed is not None
    assert killed.state == "alive"
    assert killed.cpu is not None
    assert killed.watched is not None
    # It computed; how much of a core it got is a matter of who else computes.
    assert killed.cpu > killed.watched / 20
    frozen = FrozenWorker(
        address=death.address,
        process=killed,
        running=death.running,
        stack=death.stack,
    )
    assert frozen.suspects == ("match-1",)
    assert frozen.line is not None
    assert frozen.line.function == "_match"
    # What Python's own stacks cannot show: the matching itself is native code.
    assert killed.native_failed == ""
    [place] = [n for n, each in enumerate(killed.native) if each.startswith("_match (")]
    assert any("sre" in each for each in killed.native[:place])
    shown = [e.text for e in native_evidence(killed, death.at)]
    assert shown[0].startswith("Its stack with native code, the innermost first: ")


def test_a_worker_whose_nanny_finds_no_py_spy_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    found = native_stack(os.getpid())

    assert found == {
        "native_failed": "py-spy is not installed in the worker's environment"
    }
    process = ProcessState(native_failed=str(found["native_failed"]))
    assert "is not installed" in native_evidence(process, 0.0)[0].text
    assert native_evidence(ProcessState(), 0.0) == ()


def test_a_process_that_is_gone_has_no_native_stack() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass

    found = native_stack(ended.pid)

    assert str(found["native_failed"]).startswith("py-spy: ")


def _given_up(tmp_path: Path) -> RunCard:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        [worker] = cluster.scheduler.workers.values()
        rec = recording(client, store=tmp_path / "store", job="stopped")
        with pytest.raises(TimeoutError):
            _stop_and_wait(client, rec, worker.pid)
        os.kill(worker.pid, signal.SIGCONT)
    return rec.card


def _stop_and_wait(client: Client, rec: Recording, pid: int) -> None:
    with rec:
        future = client.submit(_sleep, 20, key="sleep-1")
        until(lambda: any(client.call_stack().values()), "the task")
        os.kill(pid, signal.SIGSTOP)
        future.result(timeout=10)


@pytest.mark.nightly
def test_a_driver_that_gave_up_on_a_worker_that_it_had_stopped(tmp_path: Path) -> None:
    card = _given_up(tmp_path)

    verdict = card.verdict
    assert verdict is not None
    assert (verdict.rule, verdict.confidence) == ("stalled", "high")
    assert "was stopped by the run's own script while running 'sleep'" in verdict.title
    assert re.search(
        r"It was stopped at \S+test_frozen_workers.py:\d+\.", verdict.cause
    )
    assert "SIGCONT" in verdict.remedy
    stalls = details(Run.open(card.links["recording"]), "stall")
    answers = [each for stall in stalls for each in stall["answers"].values()]
    states = [each["process"]["state"] for each in answers if "process" in each]
    assert set(states) == {"stopped"}


def test_a_task_whose_thread_was_seen_did_not_freeze_a_worker_that_another_began_on() -> (
    None
):
    seen = ExecutingTask(key="seen-1", thread=1, native=11)
    new = ExecutingTask(key="new-1")
    worker = FrozenWorker(address="tcp://w1", running=(seen, new))

    assert worker.suspects == ("new-1",)


@pytest.mark.parametrize(
    ("busy", "suspects"), [(11, ("one-1",)), (12, ("two-1",)), (99, ("one-1", "two-1"))]
)
def test_the_thread_that_computed_has_the_lock(
    busy: int, suspects: tuple[str, ...]
) -> None:
    one = ExecutingTask(key="one-1", thread=1, native=11)
    two = ExecutingTask(key="two-1", thread=2, native=12)
    process = ProcessState(state="alive", watched=4.0, cpu=4.0, busy_thread=busy)
    worker = FrozenWorker(address="tcp://w1", process=process, running=(one, two))

    assert worker.suspects == suspects
