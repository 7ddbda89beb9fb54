"""A worker that is suspended when the run ends: its last lines are read, or may be missing."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from conditions import until
from dask_blackbox import Recording, Run, recording
from dask_blackbox.capture.nanny.worker_exit import ring_folder
from dask_blackbox.recorder.unread_rings import last_lines
from distributed import Client, LocalCluster
from stored_events import details

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def _spool(tmp_path: Path) -> Iterator[None]:
    with dask.config.set({"blackbox.spool": str(tmp_path / "spool")}):
        yield


def _say_and_stop() -> None:
    print("the last line")
    os.kill(os.getpid(), signal.SIGSTOP)


def _seconds_of_silence(dask_scheduler: Any) -> float:
    [state] = dask_scheduler.workers.values()
    return float(time.time() - state.last_seen)


def _recorded(store: Path, *, lose_rings: bool = False) -> Recording:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        [worker] = cluster.scheduler.workers.values()
        with recording(client, store=store, job="silent") as rec:
            asked = client.submit(_say_and_stop)
            until(
                lambda: client.run_on_scheduler(_seconds_of_silence) > 6, "its silence"
            )
            if lose_rings:
                for ring in Path(ring_folder(rec.id)).iterdir():
                    ring.unlink()
        os.kill(worker.pid, signal.SIGCONT)
        asked.result()
    return rec


def test_the_last_lines_of_a_suspended_worker_are_read_on_its_host(
    tmp_path: Path,
) -> None:
    rec = _recorded(tmp_path / "store")
    run = Run.open(rec.card.links["recording"])

    assert run.logs["message"].to_list().count("the last line") == 1
    assert [each.get("lines_read") for each in details(run, "worker-unresponsive")][-1]
    assert rec.card.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": True,
    }
    assert rec.card.numbers["deaths"] == 0


@pytest.mark.nightly
def test_where_they_cannot_be_read_they_may_be_missing(tmp_path: Path) -> None:
    rec = _recorded(tmp_path / "store", lose_rings=True)
    [[sentence]] = rec.card.completeness["missing"].values()

    assert sentence.startswith(
        "its last log lines may be missing: it had been silent for "
    )


@pytest.mark.nightly
def test_lines_of_a_living_worker_are_read_where_its_scheduler_is_lost(
    tmp_path: Path,
) -> None:
    def say() -> None:
        print("a line that may not have been sent")

    printed = "a line that may not have been sent"

    def lines(*, cut_off: bool) -> list[str]:
        rows = last_lines(ring_folder(rec.id), (), all_dead=False, cut_off=cut_off)
        return [printed for each in rows for line in each["log"] if printed in line]

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="cut-off") as rec,
    ):
        client.submit(say).result()
        [ring] = Path(ring_folder(rec.id)).glob("*.ring")
        kept = tmp_path / ring.name
        shutil.copy(ring, kept)

        assert lines(cut_off=False) == []
        ring.parent.mkdir(exist_ok=True)
        shutil.copy(kept, ring)
        found = lines(cut_off=True)

    assert found == [printed]
