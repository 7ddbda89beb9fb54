"""A third set held out: workers that do not come back, or are not the right ones.

Written by somebody who had read no rule.  What came out the first time is written down in
`heldout.json`, and stays.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from typing import Any

import dask
from distributed import (
    WorkerPlugin,
    get_worker,
    wait,
)
from staging import Stage, delayed, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: services")


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
    "cluster-lost-worker",
    hang=True,
    settings={"distributed.deploy.lost-worker-timeout": "1s"},
    bound=60,
    noise="the worker was killed once, from outside",
)
def the_only_worker_is_slow_to_come_back(stage: Stage) -> None:
    slow = stage.module("warm_caches", "import time\ntime.sleep(4)\n")

    def tile(number: int) -> int:
        time.sleep(0.4)
        return number * number

    with stage.local(1, preload=[str(slow)]) as client:
        tiles = client.map(tile, range(60))
        until(lambda: sum(each.done() for each in tiles) > 4)
        (pid,) = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        done = client.get_executor().submit(sum, [1, 2])
        print(done.result(timeout=25), client.gather(tiles))


@failure(
    "no-valid-worker",
    hang=True,
    names=["gpu", "resource"],
    noise="all else goes on; the workers offer GPU, with capital letters",
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
