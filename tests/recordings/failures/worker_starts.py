"""Workers that fail to start, or never arrive."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import (
    Client,
    LocalCluster,
    Nanny,
    NannyPlugin,
    SpecCluster,
    WorkerPlugin,
    get_worker,
    wait,
)
from distributed.deploy.spec import ProcessInterface
from distributed.scheduler import Scheduler
from staging import Stage, failure
from starting import processes


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


@failure(
    "worker-start-failed",
    names="LICENCE_SERVER|preload|Nanny failed",
    held_out="second",
)
def a_preload_misses_its_variable(stage: Stage) -> None:
    preload = stage.folder / "licence.py"
    preload.write_text("import os\n\nSERVER = os.environ['LICENCE_SERVER']\n")
    with (
        stage.recording(),
        LocalCluster(
            n_workers=1, preload=[str(preload)], dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.submit(sum, [1, 2]).result(timeout=20)


PRELOAD = '''
"""Opens the warehouse before any task runs."""
import json, pathlib

class VaultError(RuntimeError):
    pass

def token():
    try:
        return json.loads(pathlib.Path("/nowhere/vault/token.json").read_text())
    except FileNotFoundError as error:
        raise VaultError("no token for vault.internal:8200 — is the agent up?") from error

TOKEN = token()
'''


@failure(
    "worker-start-failed",
    names=["vault", "preload|warehouse"],
    accepted="the right cause; what the preload raised was only printed, before there was a cluster",
    held_out="third: services",
)
def a_preloaded_module_finds_no_token(stage: Stage) -> None:
    path = stage.module("warehouse_login", PRELOAD)
    with (
        stage.recording(),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            preload=[str(path)],
        ) as cluster,
        Client(cluster) as client,
    ):
        print(client.submit(sum, [1, 2]).result())


class Tokenizer(WorkerPlugin):
    """Loads what all tasks need."""

    def __init__(self, path: str) -> None:
        self.path = path

    def setup(self, worker: Any) -> None:
        worker.vocabulary = Path(self.path).read_text().split()


@failure(
    "worker-start-failed",
    "driver-exception",
    names=["fasttext.vocab", "Tokenizer|plugin"],
    why="registering a plugin raises in the driver what its setup raised on workers",
    held_out="third: services",
)
def a_plugin_reads_a_file_that_is_only_here(stage: Stage) -> None:
    with stage.local(2) as client:
        frame = dd.from_pandas(pd.DataFrame({"text": ["a b"] * 200}), npartitions=4)
        print(len(frame))
        client.register_plugin(Tokenizer("/models/fasttext.vocab"))
        counted = frame.text.map(len, meta=("text", "int64"))
        print(counted.sum().compute())


class LicencePlugin(WorkerPlugin):
    """Takes a seat of a licence server; there is one seat."""

    name = "licence"

    def __init__(self, seats: str) -> None:
        self.seats = seats

    def setup(self, worker: Any) -> None:
        try:
            os.mkdir(self.seats)  # noqa: PTH102 - a seat that is never given back
        except FileExistsError:
            message = "licence server: 0 of 1 seats left for 'solver-pro'"
            raise PermissionError(message) from None
        worker.solver = 1.5


@failure(
    "worker-start-failed",
    "task-exception",
    names=["solver", "seats|plugin|Plugin"],
    noise="a restart that was asked for",
    why="the task raises what follows from a plugin that failed on the new worker",
    held_out="third: services",
)
def a_plugin_fails_on_the_restarted_worker(stage: Stage) -> None:
    def simulate(seed: int) -> float:
        time.sleep(0.1)
        return float(seed * get_worker().solver)  # type: ignore[attr-defined]

    with stage.local(1) as client:
        client.register_plugin(LicencePlugin(str(stage.folder / "seat")))
        print(sum(client.gather(client.map(simulate, range(10)))))
        client.restart(timeout=15)  # to begin the second stage with clean memory
        print(sum(client.gather(client.map(simulate, range(10, 20)))))


@failure(
    "worker-start-failed",
    "driver-exception",
    names=["NotADirectoryError|Not a directory", "scratch"],
    how="command",
    why="the folder that workers are given cannot be made; the driver makes it for them",
    held_out="fourth: services",
)
def the_scratch_disk_is_not_mounted(stage: Stage) -> None:
    (stage.folder / "mnt").write_text("")
    with stage.local(local_directory=str(stage.folder / "mnt" / "scratch")) as client:
        client.gather(client.map(abs, range(8)))


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
    "workers-never-arrived",
    "no-valid-worker",
    hang=True,
    why="work was submitted to a cluster without workers: both apply",
)
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


@failure("workers-never-arrived", names=["1|one", "4|four"], held_out="second")
def one_worker_of_four_arrives(stage: Stage) -> None:
    with stage.started(1) as (client, _):
        client.wait_for_workers(4, timeout=8)
        client.submit(sum, [1, 2]).result()


class PendingJob(ProcessInterface):
    """A job of a batch system, handed in, that never leaves the queue."""

    def __init__(self, scheduler: str, name: Any = None, queue: str = "short") -> None:
        self.queue = queue
        super().__init__(scheduler=scheduler, name=name)  # type: ignore[no-untyped-call]

    async def start(self) -> None:
        await super().start()  # type: ignore[no-untyped-call]
        print(f"a job is pending in {self.queue} (Priority)")


@failure(
    "workers-never-arrived",
    "no-valid-worker",
    hang=True,
    names=["no worker|0 worker|without a worker|none|never"],
    why="no worker at all",
    held_out="third: services",
)
def jobs_stay_in_the_queue_of_the_batch_system(stage: Stage) -> None:
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": None}}
    worker = {"cls": PendingJob, "options": {"queue": "gpu-long"}}
    with (
        SpecCluster(scheduler=scheduler, worker=worker, silence_logs=40) as cluster,
        Client(cluster) as client,
        stage.recording(client),
    ):
        cluster.scale(3)
        field = da.random.random((2000, 2000), chunks=(500, 500))
        anomaly = (field - field.mean(axis=0)).persist()
        wait(anomaly, timeout=12)


@failure(
    "workers-never-arrived",
    "worker-start-failed",
    names=["1 of 2|1/2|one of two|only 1"],
    why="one of two cannot have the port, and ends",
    held_out="third: services",
)
def two_workers_are_given_the_same_port(stage: Stage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
    with (
        processes(0) as cluster,
        Client(cluster.address) as client,
        stage.recording(client),
    ):
        for _ in range(2):
            cluster.start_worker("--nthreads", "1", "--worker-port", port)
        client.wait_for_workers(2, timeout=15)


@failure(
    "workers-never-arrived",
    "worker-start-failed",
    names=["name|duplicate", "etl-worker|1/2|1 of 2"],
    why="the second worker is turned away by the scheduler, so that it never arrives",
    held_out="fourth: services",
)
def two_replicas_are_given_the_same_name(stage: Stage) -> None:
    with (
        processes(1, "--name", "etl-worker") as cluster,
        Client(cluster.address) as client,
    ):
        client.wait_for_workers(1, timeout=40)
        with stage.recording(client):
            cluster.start_worker("--nthreads", "1", "--name", "etl-worker")
            client.wait_for_workers(2, timeout=15)
