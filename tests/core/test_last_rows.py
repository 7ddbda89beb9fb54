"""What workers send last: it comes by another connection than the answer that it is removed."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from conditions import scaled, until
from dask_blackbox import Run, recording
from distributed import Client, LocalCluster
from scenario_runs import messages
from stored_events import details

pytestmark = pytest.mark.processes

LATE = 0.7


def _speak_while_the_connection_is_slow(dask_worker: Any) -> None:
    stream = dask_worker.batched_stream
    send = stream.send
    stream.send = lambda *sent: dask_worker.loop.call_later(LATE, send, *sent)
    logging.getLogger("distributed.worker").warning(
        "the last line of %s", dask_worker.name
    )


def test_the_last_lines_of_a_worker_with_a_slow_connection_are_recorded(
    tmp_path: Path,
) -> None:
    with (
        dask.config.set({"blackbox.spool": str(tmp_path / "spool")}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="slow") as rec,
    ):
        client.submit(sum, [1, 2]).result()
        client.run(_speak_while_the_connection_is_slow)

    run = Run.open(rec.card.links["recording"])
    lines = messages(run.logs, "the last line of")
    assert sorted(lines) == ["the last line of 0", "the last line of 1"]
    assert rec.card.completeness["complete"]


def _speak_and_be_busy(dask_worker: Any) -> None:
    def speak() -> None:
        logging.getLogger("distributed.worker").warning(
            "the last line of %s", dask_worker.name
        )
        # Nothing is sent, and nobody reads that the worker is to close.
        time.sleep(2 * LATE)

    dask_worker.loop.call_later(LATE / 2, speak)


def test_the_last_lines_of_workers_that_are_retired_as_the_run_ends_are_recorded(
    tmp_path: Path,
) -> None:
    with (
        dask.config.set({"blackbox.spool": str(tmp_path / "spool")}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        recording(client, store=tmp_path / "store", job="retired") as rec,
    ):
        client.submit(sum, [1, 2]).result()
        client.run(_speak_and_be_busy)
        time.sleep(LATE / 2)  # then they are busy
        client.retire_workers()
        assert client.scheduler_info(-1)["workers"] == {}

    run = Run.open(rec.card.links["recording"])
    lines = messages(run.logs, "the last line of")
    assert sorted(lines) == ["the last line of 0", "the last line of 1"]
    assert rec.card.completeness["complete"]


_WORKERS = """
import asyncio, sys
from distributed import Worker

async def work():
    workers = [Worker(sys.argv[1], nthreads=1, dashboard=False) for _ in range(17)]
    for each in workers:
        await each
    await workers[0].finished()

asyncio.run(work())
"""
"""More than are asked for a profile at once, in one process."""


@pytest.fixture
def python(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start Python processes, which are killed at the end."""
    with contextlib.ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = stack.enter_context(
                subprocess.Popen([sys.executable, *words], cwd=tmp_path)
            )
            stack.callback(process.kill)
            return process

        yield start


def test_a_scheduler_that_closes_while_workers_are_asked_for_profiles_is_pulled_from(
    tmp_path: Path, python: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Its recorder waits for workers that do not answer for longer than it waits for that."""
    at = tmp_path / "scheduler.json"
    words = ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(at)]
    scheduler = python("-m", "dask", *words)
    until(at.exists, "the scheduler")
    with (
        dask.config.set({"blackbox.spool": str(tmp_path / "spool")}),
        Client(scheduler_file=str(at)) as client,
    ):
        workers = python("-c", _WORKERS, client.scheduler.address)
        client.wait_for_workers(17, timeout=scaled(60))
        with recording(client, store=tmp_path / "store", job="closes") as rec:
            client.submit(sum, [1, 2]).result()
            workers.send_signal(signal.SIGSTOP)
            # When the recorder asks them; what comes too early is pulled in any case.
            threading.Timer(1.0, scheduler.terminate).start()

    run = Run.open(rec.card.links["recording"])
    assert len(details(run, "scheduler-closing")) == 1
    assert "could not be fetched" not in str(rec.card.completeness)
