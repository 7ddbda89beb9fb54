"""A third set held out: hosts, schedulers and drivers that go, and what goes with them.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from containers import container
from distributed import Client, as_completed, wait
from distributed.scheduler import KilledWorker
from staging import Stage, delayed, later, until
from staging import failure as any_failure
from starting import Processes

failure = partial(any_failure, held_out="third: deaths")


def simulate(year: int, seconds: float = 1.0) -> int:
    """Simulate a year."""
    time.sleep(seconds)
    return year


def has_left(client: Client, worker: str) -> bool:
    """Say whether the scheduler has taken notice that a worker is gone."""
    return worker not in client.scheduler_info()["workers"]


def end(cluster: Processes, number: int, signal_number: int) -> None:
    """Send a signal to a `dask worker`, and to it alone."""
    os.kill(cluster.workers[number].pid, signal_number)


def unplug(cluster: Processes, number: int) -> None:
    """Take a host away, with all that runs on it."""
    os.killpg(cluster.workers[number].pid, signal.SIGKILL)


@failure(
    "worker-preempted",
    names=["simulate", "SIGTERM|signal-15|signal 15"],
    allowed=1,
    noise="one of the workers had been sent home by a scale-down before",
)
def spot_instances_are_taken_back_in_turn(stage: Stage) -> None:
    with stage.started(3, "--nworkers", "1") as (client, _):
        done = client.map(simulate, range(6), seconds=0.3)
        wait(done)
        sent_home = next(iter(client.scheduler_info()["workers"]))
        client.retire_workers([sent_home])
        time.sleep(2)
        long: Any = client.submit(simulate, 2050, seconds=60)
        for _ in range(2):
            where = until(
                lambda: next((a for a, k in client.processing().items() if k), "")
            )
            time.sleep(2)
            parent = client.run(os.getppid, workers=[where])[where]
            os.kill(parent, signal.SIGTERM)
            until(partial(has_left, client, where))
        long.result()


@failure(
    "worker-preempted",
    names=["SIGTERM|signal-15|signal 15"],
    noise="nothing comes back: the driver waits in vain",
    settings={"blackbox.stall.after": "4s"},
)
def a_node_with_two_workers_is_drained(stage: Stage) -> None:
    with stage.started(1, "--nworkers", "2") as (client, cluster):
        client.wait_for_workers(2, timeout=40)
        frame = dd.from_pandas(pd.DataFrame({"year": range(20)}), npartitions=10)
        slow = frame.year.map_partitions(
            lambda part: part.map(simulate), meta=(None, int)
        )
        total = client.compute(slow.sum())
        time.sleep(4)
        end(cluster, 0, signal.SIGTERM)
        total.result(timeout=22)


@failure(
    "worker-lifetime",
    names=["simulate|lifetime"],
    settings={"blackbox.stall.after": "4s"},
)
def the_walltime_of_all_workers_ends(stage: Stage) -> None:
    with stage.started(2, "--lifetime", "12s") as (client, _):
        short = client.map(simulate, range(8), seconds=0.2)
        wait(short)
        long = client.map(simulate, range(8, 40), seconds=1.5)
        client.submit(sum, [*short, *long]).result(timeout=28)


@failure(
    "worker-lifetime",
    names=["simulate", "lifetime"],
    noise="a neighbour lives on",
    accepted="one life ended; the wait was too short",
)
def tasks_are_longer_than_the_life_of_a_worker(stage: Stage) -> None:
    options = ["--lifetime", "8s", "--lifetime-stagger", "1s", "--lifetime-restart"]
    with stage.started(1, *options) as (client, cluster):
        cluster.start_worker("--nthreads", "1")
        client.wait_for_workers(2, timeout=40)
        client.submit(sum, client.map(simulate, range(6), seconds=25)).result(
            timeout=35
        )


@failure(
    "worker-host-lost",
    names=["host|node|nanny", "trend|fused|map|sum|chunk"],
    allowed=1,
    noise="a caught exception",
)
def two_hosts_lose_their_power(stage: Stage) -> None:
    def trend(frame: pd.DataFrame) -> pd.DataFrame:
        time.sleep(1 if frame["day"].max() < 90 else 60)
        return frame.assign(mean=frame["day"].mean())

    with stage.started(3) as (client, cluster):
        try:
            client.submit(int, "n/a").result()
        except ValueError:
            print("no number: taken as 0")
        days = dd.from_pandas(pd.DataFrame({"day": range(100)}), npartitions=10)
        found = client.compute(days.map_partitions(trend).sum())
        for _ in range(2):
            time.sleep(6)
            busy = next(a for a, keys in client.processing().items() if keys)
            parent = client.run(os.getppid, workers=[busy])[busy]
            number = next(
                n for n, each in enumerate(cluster.workers) if each.pid == parent
            )
            unplug(cluster, number)
            until(partial(has_left, client, busy))
        found.result()


@failure(
    "worker-host-lost",
    names=["host|node|nanny|disappear"],
    noise="nothing comes back: the driver waits in vain",
    settings={"blackbox.stall.after": "4s"},
)
def the_only_host_has_two_workers_and_goes(stage: Stage) -> None:
    with stage.started(1, "--nworkers", "2") as (client, cluster):
        client.wait_for_workers(2, timeout=40)
        words = db.from_sequence([f"wörter {n}" for n in range(30)], npartitions=15)
        lengths = words.map(len).map(simulate)
        result = client.compute(lengths.sum())
        later(5, unplug, cluster, 0)
        result.result(timeout=24)


@failure("scheduler-lost", names=["shut|clos|ended"])
def another_driver_shuts_the_cluster_down(stage: Stage) -> None:
    async def work(address: str) -> list[int]:
        async with Client(address, asynchronous=True) as client:
            futures = client.map(simulate, range(40))
            return list(await client.gather(futures))

    with stage.started(2) as (client, cluster):
        later(6, lambda: Client(cluster.address).shutdown())
        client.gather(client.map(simulate, range(40)))
        asyncio.run(work(cluster.address))


@failure("scheduler-lost", names=["scheduler"], noise="it died of its own memory")
def the_pod_of_the_scheduler_is_too_small(stage: Stage) -> None:
    def weigh(table: bytes, number: int) -> int:
        time.sleep(0.1)
        return len(table) + number

    with container("420M") as pod, stage.started(2) as (client, cluster):
        assert cluster.scheduler is not None
        pod.take(cluster.scheduler.pid)
        futures: list[Any] = []
        for number in range(60):
            futures.append(client.submit(weigh, os.urandom(15_000_000), number))
            time.sleep(0.2)
        client.gather(futures)


@contextmanager
def quiet_cluster(stage: Stage) -> Iterator[Client]:
    """A cluster in the driver's own process, recorded."""
    with stage.local(1, processes=False, threads_per_worker=2) as client:
        yield client


@failure(
    "driver-killed",
    "worker-segfault",
    names=["SIGSEGV|signal 11|[Ss]egmentation|segfault"],
    how="command",
    why="workers are threads of the driver: a task that crashes ends all of them",
)
def a_task_crashes_in_a_cluster_of_threads(stage: Stage) -> None:
    def decompress(page: int) -> bytes:
        time.sleep(0.2)
        return ctypes.string_at(page if page == 8 else id(page), 1)

    with quiet_cluster(stage) as client:
        client.gather(client.map(decompress, range(20)))


@failure("driver-killed", names=["SIGKILL|signal 9|OOM|memory"])
def the_driver_needs_more_than_its_container(stage: Stage) -> None:
    def table(part: int) -> Any:
        return np.full((300, 10_000), float(part))

    with container("900M") as pod, stage.local(2) as client:
        parts = client.map(table, range(50))
        wait(parts)
        pod.take(os.getpid())
        kept = [pd.DataFrame(part).assign(copy=1) for part in client.gather(parts)]
        print(pd.concat(kept).shape)


@failure("driver-killed", names=["SIGSEGV|signal 11|[Ss]egmentation|segfault|crash"])
def the_driver_crashes_while_it_plots(stage: Stage) -> None:
    def draw(points: list[int]) -> None:
        ctypes.memmove(len(points), 0, 8)

    with stage.local(2) as client:
        points = []
        for future in as_completed(client.map(simulate, range(30), seconds=0.5)):
            points.append(future.result())
            if len(points) == 20:
                draw(points)


class Counter:
    """Counts words, for all tasks."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def add(self, word: str) -> int:
        """Count a word."""
        self.seen[word] = self.seen.get(word, 0) + 1
        return self.seen[word]


@failure(
    "actor-lost",
    "worker-lifetime",
    names=["Counter|[Aa]ctor"],
    why="the worker of the actor reaches its lifetime: both apply",
)
def an_actor_lives_as_long_as_its_worker(stage: Stage) -> None:
    with stage.started(1, "--lifetime", "12s", "--name", "short") as (client, cluster):
        cluster.start_worker("--nthreads", "1", "--name", "long")
        client.wait_for_workers(2, timeout=40)
        counter: Any = client.submit(Counter, actor=True, workers="short").result()
        for number in range(2_000):
            counter.add(f"w{number % 7}").result()
            client.submit(simulate, number, seconds=0.05).result()


@failure(
    "data-lost",
    names=["scatter", "lost"],
    allowed=0,
    noise="a KilledWorker of another computation, that was caught",
)
def a_faulty_step_takes_the_scattered_table_with_it(stage: Stage) -> None:
    def faulty(table: Any) -> int:
        os._exit(9 if len(table) else 0)

    def use(table: Any, number: int) -> int:
        return int(table["code"].iloc[number])

    with stage.local(2) as client:
        codes = client.scatter(pd.DataFrame({"code": range(100)}))
        client.gather(client.map(use, [codes] * 4, range(4)))
        try:
            client.submit(
                faulty, codes, workers=list(client.who_has(codes))[:0]
            ).result()
        except KilledWorker:
            print("the optional step did not work")
        client.gather(client.map(use, [codes] * 20, range(20)))


@failure(
    "cluster-lost-worker",
    "worker-memory-limit",
    names=["never|lost|drop|gone|replac"],
    settings={
        "distributed.deploy.lost-worker-timeout": "100ms",
        "blackbox.stall.after": "4s",
    },
    why="both workers die at their limit first; what hangs is what the cluster drops",
)
def workers_that_restart_slowly_are_dropped(stage: Stage) -> None:
    def pivot(rows: int) -> int:
        return int(np.ones((rows, 1_000)).nbytes)

    def widen(rows: int) -> int:
        return sum(pivot(rows) for _ in range(3))

    with stage.local(2, memory_limit="400MiB") as client:
        parts = [delayed(widen)(rows) for rows in (10, 100, 120_000, 130_000)]
        total: Any = delayed(sum)(parts)
        client.compute(total).result(timeout=25)
