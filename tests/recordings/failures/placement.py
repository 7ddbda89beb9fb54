"""Tasks that no worker may run."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import dask
import dask.array as da
from distributed import Client, wait
from failures.shared_parts import END
from staging import Stage, delayed, failure, until
from starting import processes


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


@failure("no-valid-worker", names="TPU", hang=True, noise="a neighbour works well")
def a_neighbour_works_while_we_wait(stage: Stage) -> None:
    with (
        stage.started(2) as (client, cluster),
        stage.neighbour(
            cluster.address, "client.map(time.sleep, [0.1] * 600, pure=False)"
        ),
    ):
        until(lambda: any(client.processing().values()))
        client.submit(abs, -1, resources={"TPU": 2}).result(timeout=14)


@failure("no-valid-worker", names="pinned|restrict|worker", hang=True, held_out="first")
def work_is_pinned_to_a_worker_that_restarted(stage: Stage) -> None:
    def pinned(number: int) -> int:
        return number

    with stage.local(2) as client:
        address, pid = next(iter(client.run(os.getpid).items()))
        os.kill(pid, signal.SIGKILL)
        until(lambda: address not in client.scheduler_info(n_workers=-1)["workers"])
        client.submit(pinned, 1, workers=[address]).result(timeout=12)


@failure("no-valid-worker", names=["denoise", "GPU"], hang=True, held_out="second")
def an_annotation_asks_for_a_gpu(stage: Stage) -> None:
    def denoise(block: Any) -> Any:
        return block + 1

    with (
        stage.local(2) as client,
        dask.config.set({"optimization.fuse.active": False}),
    ):
        with dask.annotate(resources={"GPU": 1}):
            array = da.ones((8, 8), chunks=(4, 4)).map_blocks(denoise, dtype=float)
        client.compute(array.sum(), optimize_graph=False).result(timeout=15)


@failure(
    "no-valid-worker",
    names=["archive", "node17"],
    settings={"distributed.scheduler.no-workers-timeout": "5s"},
    held_out="second",
)
def the_name_of_a_node_is_misspelt(stage: Stage) -> None:
    def archive(number: int) -> int:
        return number

    with stage.started(2) as (client, _):
        client.gather(client.map(archive, range(3), workers=["node17.cluster.local"]))


@failure(
    "no-valid-worker",
    hang=True,
    names=["gpu", "resource"],
    noise="all else goes on; the workers offer GPU, with capital letters",
    held_out="third: services",
)
def a_resource_is_spelled_in_small_letters(stage: Stage) -> None:
    def features(number: int) -> list[int]:
        time.sleep(0.3)
        return [number, number + 1]

    def embedded(rows: list[int]) -> int:
        return sum(rows)

    with stage.started(2, "--resources", "GPU=1 memory=4e9") as (client, _):
        rows = [delayed(features)(number) for number in range(12)]
        with dask.annotate(resources={"gpu": 1}):
            vectors = [delayed(embedded)(each) for each in rows]
        total = delayed(sum)(vectors)
        print(client.compute(total, optimize_graph=False).result(timeout=15))


@failure(
    "no-valid-worker",
    hang=True,
    names=["highmem"],
    noise="the worker was there for the first stage, and was sent home",
    held_out="third: services",
)
def the_worker_that_is_asked_for_was_sent_home(stage: Stage) -> None:
    def joined(part: int) -> int:
        time.sleep(0.2)
        return part

    with stage.started(2) as (client, cluster):
        cluster.start_worker("--nthreads", "1", "--name", "highmem")
        client.wait_for_workers(3, timeout=30)
        first = client.map(joined, range(6), workers=["highmem"])
        print(sum(client.gather(first)))
        client.retire_workers(names=["highmem"])
        others = client.map(joined, range(10, 30))
        second = client.map(joined, range(100, 104), workers=["highmem"])
        gathered = threading.Thread(target=client.gather, args=(others,), daemon=True)
        gathered.start()
        wait(second, timeout=15)


@failure(
    "no-valid-worker",
    names=["GPU", "train", "loader"],
    hang=True,
    settings={"blackbox.stall.end-run": "9s"},
    noise="each of the two wishes could be met, by different workers",
    accepted="an address, not the name that the user gave",
    held_out="fourth: services",
)
def the_named_worker_has_no_card(stage: Stage) -> None:
    def load(number: int) -> str:
        return "word " * number

    def train(text: str) -> int:
        return len(text)

    with processes(0) as cluster, Client(cluster.address) as client:
        cluster.start_worker("--nthreads", "1", "--name", "loader")
        cluster.start_worker(
            "--nthreads", "1", "--name", "card", "--resources", "GPU=1"
        )
        client.wait_for_workers(2, timeout=40)
        with stage.recording(client):
            texts = client.map(load, range(6), workers=["loader"])
            client.gather(
                client.map(train, texts, workers=["loader"], resources={"GPU": 1})
            )
