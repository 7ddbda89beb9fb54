"""Runs that hang: nothing is raised, until somebody's patience ends."""

from __future__ import annotations

import os
import time
from typing import Any

import dask
from distributed import Client, Event, Lock, Queue, get_client, wait
from staging import Stage, delayed, failure
from starting import processes

END = {"blackbox.stall.after": "3s", "blackbox.stall.end-run": "10s"}

# no-valid-worker


@failure("no-valid-worker", names=["GPU", "train"], hang=True)
def a_resource_that_nobody_has(stage: Stage) -> None:
    def train(number: int) -> int:
        return number

    with stage.started(2, "--resources", "gpu=1") as (client, _):
        client.gather(client.map(abs, range(20)))
        client.submit(train, 1, resources={"GPU": 1}).result(timeout=12)


@failure("no-valid-worker", names="restrict|10.0.0.5|host|worker", settings=END)
def tasks_are_pinned_to_a_host_of_yesterday(stage: Stage) -> None:
    with stage.local(2), dask.annotate(workers=["10.0.0.5"]):
        import dask.array as da

        with dask.config.set({"optimization.fuse.active": False}):
            da.ones(10, chunks=5).sum().compute(optimize_graph=False)


@failure(
    "no-valid-worker",
    names="memory|MEM|resource",
    settings={
        "distributed.scheduler.no-workers-timeout": "4s",
    },
)
def more_of_a_resource_than_any_worker_has(stage: Stage) -> None:
    with (
        stage.local(2, resources={"memory": 4e9}),
        dask.annotate(resources={"memory": 64e9}),
    ):
        join = dask.delayed(lambda a, b: a + b, name="join")
        join(1, 2).compute(optimize_graph=False)


@failure("no-valid-worker", names="alice|worker", hang=True, noise="handled exceptions")
def the_named_worker_has_been_retired(stage: Stage) -> None:
    with stage.started(1, "--name", "bob") as (client, cluster):
        cluster.start_worker("--name", "alice", "--nthreads", "1")
        client.wait_for_workers(2, timeout=30)
        wait(client.submit(divmod, 1, 0))
        client.retire_workers(names=["alice"])
        client.submit(abs, -1, workers=["alice"]).result(timeout=12)


# workers-paused


def _leak(mebibytes: int) -> int:
    """Keep memory that Dask does not know of, as caches and fragmentation do."""
    import builtins

    held: list[bytes] = builtins.__dict__.setdefault("held", [])
    held.append(os.urandom(1024) * 1024 * mebibytes)
    time.sleep(0.3)
    return len(held)


@failure(
    "workers-paused",
    hang=True,
    names="paused",
    settings={
        "distributed.worker.memory.terminate": False,
    },
)
def a_cache_fills_all_workers(stage: Stage) -> None:
    with stage.local(2, memory_limit="500MiB") as client:
        futures = client.map(_leak, [40] * 60, pure=False)
        client.submit(sum, futures).result(timeout=25)


@failure("workers-paused", hang=True, names="paused", noise="retried tasks")
def one_worker_is_full_for_ever(stage: Stage) -> None:
    with stage.started(1, "--memory-limit", "600MiB", "--nthreads", "2") as (client, _):
        client.gather(client.map(divmod, range(3), [1] * 3, retries=2))
        client.submit(_leak, 450).result()
        futures = client.map(time.sleep, [0.2] * 20, pure=False)
        client.submit(len, futures).result(timeout=15)


@failure(
    "workers-paused",
    names="paused",
    settings={
        **END,
        "distributed.worker.memory.terminate": False,
    },
)
def blocks_are_held_by_a_library(stage: Stage) -> None:
    import dask.array as da

    def transform(block: Any) -> Any:
        _leak(60)
        return block

    with stage.local(1, threads_per_worker=2, memory_limit="500MiB"):
        x = da.ones((40,), chunks=1)
        x.map_blocks(transform, dtype=float, meta=x._meta).sum().compute()


# nested-client-deadlock


@failure("nested-client-deadlock", names="outer|process_day", hang=True)
def all_threads_wait_for_their_own_tasks(stage: Stage) -> None:
    def part(number: int) -> int:
        return number

    def process_day(day: int) -> int:
        client = get_client()
        futures = client.map(part, range(day, day + 5))
        return sum(client.gather(futures))

    with stage.local(2) as client:
        client.submit(sum, client.map(process_day, range(4))).result(timeout=14)


@failure("nested-client-deadlock", names="fan_out", settings=END)
def a_client_is_made_inside_of_a_task(stage: Stage) -> None:
    @delayed
    def fan_out(address: str) -> int:
        with Client(address) as client:
            return sum(client.gather(client.map(abs, range(5))))

    with stage.started(1) as (_, cluster):
        fan_out(cluster.address).compute()


@failure("nested-client-deadlock", names="grid_search", hang=True, noise="healthy work")
def more_searches_than_threads(stage: Stage) -> None:
    def grid_search(number: int) -> int:
        with_client = get_client()
        return int(with_client.submit(pow, number, 2).result())

    with stage.started(1, "--nthreads", "4") as (client, _):
        client.gather(client.map(abs, range(30)))
        client.gather(client.map(grid_search, range(4)))
        futures = client.map(grid_search, range(10, 18))
        client.submit(sum, futures).result(timeout=14)


# stalled


@failure("stalled", names="wait_for_go", hang=True)
def an_event_that_nobody_sets(stage: Stage) -> None:
    def wait_for_go(number: int) -> int:
        Event("go").wait()
        return number

    with stage.local(2) as client:
        client.submit(sum, client.map(wait_for_go, range(3))).result(timeout=12)


@failure("stalled", names="left|right|transfer", settings=END)
def two_locks_in_two_orders(stage: Stage) -> None:
    def transfer(one: str, two: str) -> str:
        with Lock(one):
            time.sleep(1)
            with Lock(two):
                return one + two

    with stage.local(2) as client:
        client.gather(client.map(transfer, ["left", "right"], ["right", "left"]))


@failure("stalled", names="consume", hang=True, noise="handled exceptions")
def a_consumer_without_a_producer(stage: Stage) -> None:
    @delayed
    def consume(name: str) -> Any:
        return Queue(name).get()

    with stage.started(1, "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        client.compute(consume("orders")).result(timeout=12)


@failure("stalled", names="download", hang=True)
def a_server_that_accepts_and_says_nothing(stage: Stage) -> None:
    import socket

    def download(port: int) -> bytes:
        import socket as sockets

        with sockets.create_connection(("127.0.0.1", port)) as connection:
            return connection.recv(100)

    with socket.socket() as server, stage.local(2) as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        futures = client.map(download, [server.getsockname()[1]])
        client.submit(len, futures).result(timeout=12)


# unknown: a failure that says nothing of itself


@failure("unknown", names=())
def a_host_says_failed_and_nothing_else(stage: Stage) -> None:
    from dask_blackbox.driver import recording

    with processes(1) as cluster, Client(cluster.address) as client:
        client.wait_for_workers(1, timeout=40)
        flight = recording(client, store=stage.store, job=stage.name, run_id="told")
        flight.start()
        client.gather(client.map(abs, range(10)))
        flight.finish(state="failed")


@failure(
    "unknown", "driver-exception", how="command",
    why="the driver's own code ended it without giving a reason",
)  # fmt: skip
def a_command_fails_without_a_word(stage: Stage) -> None:
    with stage.local(1) as client:
        client.gather(client.map(abs, range(10)))
    os._exit(3)


@failure("unknown", noise="a scale-down")
def a_framework_reports_failure_after_good_work(stage: Stage) -> None:
    from dask_blackbox.driver import recording
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        flight = recording(client, store=stage.store, job=stage.name, run_id="told")
        flight.start()
        client.gather(client.map(abs, range(10)))
        cluster.scale(1)
        client.gather(client.map(abs, range(10, 30)))
        flight.finish(state="failed")


@failure("stalled", names=["hold", "Event"], hang=True)
def an_asynchronous_driver_waits_in_vain(stage: Stage) -> None:
    import asyncio

    def hold(number: int) -> int:
        Event("go").wait()
        return number

    async def main(address: str) -> None:
        async with Client(address, asynchronous=True) as client:
            await asyncio.wait_for(asyncio.gather(*client.map(hold, range(3))), 14)

    with stage.started(2) as (_, cluster):
        asyncio.run(main(cluster.address))
