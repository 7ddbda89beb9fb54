"""The system's clock is set while a run goes on: nothing false is recorded or said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from conditions import until
from dask_blackbox import Run, recording
from dask_blackbox.manifest import Heartbeat, decode_heartbeat
from distributed import Client, LocalCluster
from fuzz_network import jumping_clock
from stored_events import details

pytestmark = pytest.mark.processes

HOUR = 3600.0


@pytest.fixture(autouse=True)
def _spool(tmp_path: Path) -> Iterator[None]:
    with dask.config.set({"blackbox.spool": str(tmp_path / "spool")}):
        yield


def heartbeats(store: Path) -> Iterator[Heartbeat]:
    """Yield each heartbeat of the only run of a store, as it is written."""
    seen = b""
    while True:

        def newer(before: bytes = seen) -> bytes | None:
            for path in store.glob("runs/*/*/*/heartbeat.json"):
                if (text := path.read_bytes()) != before:
                    return text
            return None

        seen = until(newer, "another heartbeat")
        yield decode_heartbeat(seen)


def test_a_recorder_whose_clock_is_set_back_does_not_seem_to_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, jump = jumping_clock(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with recording(store=tmp_path / "store", job="clock") as rec:
        beats = heartbeats(tmp_path / "store")
        before = next(beats)
        jump(-HOUR)
        later = [next(beats), next(beats)]
        state = Run.open(rec.card.links["recording"]).state
        jump(0.0)

    assert state == "running"
    assert before.at < later[0].at < later[1].at
    assert [0 < (each.lasted or 0) < HOUR for each in later] == [True, True]


@pytest.mark.nightly
def test_a_scheduler_whose_clock_is_set_forward_reports_no_stall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, go = time.time, str(tmp_path / "go")

    def wait() -> str:  # by value: workers do not import this module
        while not Path(go).exists():
            time.sleep(0.01)
        return "done"

    with (
        # Longer than the test, and shorter than the jump.
        dask.config.set({"blackbox.stall.after": "10m"}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="clock") as rec,
    ):
        beats = heartbeats(tmp_path / "store")
        next(beats)
        waiting = client.submit(wait)
        until(client.processing, "the task")
        monkeypatch.setattr(time, "time", lambda: real() + HOUR)
        next(beats)
        next(beats)
        monkeypatch.setattr(time, "time", real)
        Path(go).touch()
        result = waiting.result()
    run = Run.open(rec.card.links["recording"])

    assert result == "done"
    assert details(run, "stall") == details(run, "tasks-unrunnable") == []
    assert rec.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert rec.card.numbers["duration"] < HOUR
