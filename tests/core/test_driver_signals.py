"""Signals that the driver's own code sends are recorded, those that Dask sends are not."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
import pytest
from dask_blackbox import Run, recording
from dask_blackbox.events import DriverSignalled
from distributed import Client, LocalCluster

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def _spool(tmp_path: Path) -> Iterator[None]:
    with dask.config.set({"blackbox.spool": str(tmp_path / "spool")}):
        yield


def _kill_by_itself(process: subprocess.Popen[bytes]) -> None:
    process.kill()


def _kill_by_a_timer(process: subprocess.Popen[bytes]) -> None:
    timer = threading.Timer(0.0, process.kill)
    timer.start()
    timer.join()


@pytest.mark.parametrize(
    ("kill", "function"),
    [
        (_kill_by_itself, "_kill_by_itself"),
        pytest.param(_kill_by_a_timer, None, marks=pytest.mark.nightly),
    ],
)
def test_a_signal_of_the_drivers_own_code_is_recorded(
    tmp_path: Path,
    kill: Callable[[subprocess.Popen[bytes]], None],
    function: str | None,
) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="signals") as rec,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as process,
    ):
        kill(process)
        process.wait()
        client.restart_workers([w.worker_address for w in cluster.workers.values()])

    sent = Run.open(rec.card.links["recording"]).of(DriverSignalled)
    assert [(each.target, each.signal, each.function) for each in sent] == [
        (process.pid, "SIGKILL", function)
    ]


class OverTimeError(Exception):
    """What a host raises; not an `OSError`, which an import swallows as it reads a file."""


# It may end the reading of a file in the standard library, which leaves it to the collector.
@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO")
def test_a_time_limit_that_ends_at_the_entry_is_how_the_run_ended(
    tmp_path: Path,
) -> None:
    rec = recording(store=tmp_path / "store", job="limit")

    def over(number: int, frame: object) -> None:
        if rec.recorded_now:  # its recorder has been started, and takes longer
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise OverTimeError("the host's limit")

    before = signal.signal(signal.SIGALRM, over)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        with pytest.raises(OverTimeError, match="the host's limit"), rec:
            pytest.fail("the limit had no effect")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert rec.card.state == "failed"
    assert "the host's limit" in rec.card.headline
