"""Workers that never come, or do not start; and clusters that lose them for ever."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import Any

import dask
from distributed import (
    Client,
    LocalCluster,
    Nanny,
    NannyPlugin,
    SpecCluster,
    WorkerPlugin,
)
from distributed.scheduler import Scheduler
from staging import Stage, failure, until
from starting import processes

# workers-never-arrived


@failure("workers-never-arrived", names=["0|none|no worker", "2"])
def the_quota_is_used_up(stage: Stage) -> None:
    with (
        processes(0) as cluster,
        Client(cluster.address) as client,
        stage.recording(client),
    ):
        client.wait_for_workers(2, timeout=6)


@failure("workers-never-arrived", names=["8", "3"], noise="healthy work before")
def only_some_of_the_workers_come(stage: Stage) -> None:
    with stage.started(3) as (client, _):
        client.gather(client.map(abs, range(30)))
        client.wait_for_workers(8, timeout=6)


@failure(
    "workers-never-arrived", "no-valid-worker", hang=True,
    why="work was submitted to a cluster without workers: both apply",
)  # fmt: skip
def work_is_sent_to_a_cluster_without_workers(stage: Stage) -> None:
    with stage.local(0):
        Client.current().submit(sum, [1, 2, 3]).result(timeout=12)


@failure("workers-never-arrived", how="command", names="4")
def pods_are_pending(stage: Stage) -> None:
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(4, timeout=8)


# worker-start-failed


@failure("worker-start-failed", names="bootstrapping|main|guard|Nanny", how="command")
def a_script_without_a_guard(stage: Stage) -> None:
    text = """
from dask.distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
client = Client(cluster)
print(client.submit(sum, [1, 2]).result())
"""
    code = stage.script(text)
    raise SystemExit(code)


@failure(
    "worker-start-failed",
    names="site_setup|No module",
    settings={
        "distributed.worker.preload": "['site_setup']",
    },
)
def a_preload_that_is_not_installed(stage: Stage) -> None:
    with stage.recording(), stage_cluster(2) as client:
        client.submit(abs, -1).result()


class NeedsDriver(WorkerPlugin):
    """Sets a worker up, or cannot."""

    def setup(self, worker: Any) -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")


@failure("worker-start-failed", names="libcuda")
def a_plugin_cannot_set_up_its_worker(stage: Stage) -> None:
    with stage.local(2) as client:
        client.register_plugin(NeedsDriver())
        client.gather(client.map(abs, range(10)))


class NeedsToken(NannyPlugin):
    """Sets a nanny up, or cannot."""

    restart = True

    def setup(self, nanny: Any) -> None:
        raise KeyError("VAULT_TOKEN")


@failure("worker-start-failed", names="VAULT_TOKEN", noise="healthy work before")
def a_nanny_plugin_fails(stage: Stage) -> None:
    with stage.started(2) as (client, _):
        client.gather(client.map(abs, range(10)))
        client.register_plugin(NeedsToken())


@failure("worker-start-failed", names="port|in use", how="command")
def the_port_of_a_worker_is_taken(stage: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        spec = {
            0: {
                "cls": Nanny,
                "options": {"port": port, "host": "127.0.0.1", "nthreads": 1},
            }
        }
        scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0}}
        with SpecCluster(workers=spec, scheduler=scheduler) as cluster:
            Client(cluster).submit(abs, -1).result(timeout=15)


def stage_cluster(n_workers: int) -> Any:
    """A cluster with its client, made inside of a recording that began before."""
    from contextlib import contextmanager

    @contextmanager
    def made() -> Any:
        with (
            LocalCluster(n_workers=n_workers, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client

    return made()


# cluster-lost-worker: the race of SpecCluster


RACE = {"distributed.deploy.lost-worker-timeout": "100ms"}


def _kill_all(client: Client) -> None:
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)


@failure("cluster-lost-worker", settings={**RACE, "blackbox.stall.after": "3s"})
def the_only_worker_is_dropped_for_ever(stage: Stage) -> None:
    with stage.local(1) as client:
        futures = client.map(time.sleep, [0.3] * 40, pure=False)
        time.sleep(1.5)
        _kill_all(client)
        client.submit(sum, [1, 2]).result(timeout=20)
        client.gather(futures)


@failure(
    "cluster-lost-worker",
    settings={**RACE, "blackbox.stall.after": "3s"},
    noise="handled exceptions",
)
def all_workers_are_dropped_for_ever(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        until(lambda: client.submit(divmod, 1, 0).exception())
        futures = client.map(time.sleep, [0.3] * 80, pure=False)
        time.sleep(1.5)
        _kill_all(client)
        dask.delayed(sum)([1, 2]).compute()
        client.gather(futures)


@failure(
    "cluster-lost-worker",
    how="command",
    settings={**RACE, "blackbox.stall.after": "3s", "blackbox.stall.end-run": "10s"},
)
def a_spec_cluster_drops_its_worker(stage: Stage) -> None:
    spec = {"w": {"cls": Nanny, "options": {"nthreads": 2}}}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0}}
    with (
        SpecCluster(workers=spec, scheduler=scheduler) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(10)))
        futures = client.map(time.sleep, [0.3] * 40, pure=False)
        time.sleep(1.5)
        _kill_all(client)
        client.gather(futures)
