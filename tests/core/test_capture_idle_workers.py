"""The thread that samples a worker sleeps while nothing happens, and no longer than that."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from conditions import scaled, until
from dask_blackbox.capture.worker import worker as module
from dask_blackbox.capture.worker.ring import read_ring
from dask_blackbox.capture.worker.worker import WorkerCapture
from distributed import Client, Event, LocalCluster, get_worker

pytestmark = pytest.mark.processes

NAME = "idle-worker"
LOGGER = logging.getLogger("of_an_idle_worker")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Client]:
    """A client of one worker, whose thread would sleep for an hour when nothing happens."""
    monkeypatch.setattr(module, "_IDLE_PAUSE", 3600.0)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        plugin = WorkerCapture(
            name=NAME, recording=NAME, ring_bytes=2**20, stdout=False
        )
        client.register_plugin(plugin, name=NAME)
        yield client
        client.unregister_worker_plugin(NAME)


def capture_of(client: Client) -> Any:
    """Return the plugin of the only worker, once its thread sleeps for long."""
    cluster: Any = client.cluster
    capture = cluster.workers[0].plugins[NAME]
    until(lambda: capture._idle, "a worker where nothing happens")
    return capture


def samples_of(capture: Any) -> int:
    """Return how often the memory of the worker was sampled."""
    found = read_ring(capture._ring.path)
    assert found is not None
    return len(found["memory"])


def test_memory_is_sampled_from_the_beginning_of_a_task_on(client: Client) -> None:
    def until_sampled() -> int:
        plugin: Any = get_worker().plugins["idle-worker"]
        before = samples_of(plugin)
        until(lambda: samples_of(plugin) >= before + 3, "samples during a task")
        return before

    capture = capture_of(client)
    before = client.submit(until_sampled, pure=False).result(timeout=scaled(120))

    assert before <= samples_of(capture) - 3


def test_a_line_that_an_idle_worker_logs_is_shipped(client: Client) -> None:
    capture_of(client)

    LOGGER.warning("said by nobody's task")

    def shipped() -> bool:
        rows = [
            row
            for _, message in client.get_events(NAME)
            for row in message.get("rows", {}).get("log", ())
        ]
        return any("nobody's task" in str(row) for row in rows)

    until(shipped, "the line at the scheduler")


def test_a_task_that_waits_is_sampled_until_it_ends(client: Client) -> None:
    def wait() -> int:
        Event("go on").wait()
        return threading.get_ident()

    capture = capture_of(client)
    waiting = client.submit(wait, pure=False)

    def cpu_known() -> bool:
        found = read_ring(capture._ring.path)
        return any("cpu" in task for task in (found or {}).get("executing", ()))

    until(cpu_known, "the CPU of a task that executes")
    assert not capture._idle
    Event("go on", client=client).set()
    waiting.result(timeout=scaled(120))
    capture_of(client)
