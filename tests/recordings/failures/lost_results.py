"""Results and actors that are lost with their workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from typing import Any

import dask
import numpy as np
import pandas as pd
from distributed import Client, fire_and_forget
from distributed.scheduler import KilledWorker
from failures.shared_parts import simulate
from staging import Stage, failure, until


class Counter:
    """A user's actor."""

    def __init__(self) -> None:
        self.count = 0

    def increment(self) -> int:
        self.count += 1
        return self.count


def _pid_of(client: Any, address: str) -> int:
    return int(client.run(os.getpid, workers=[address])[address])


@failure("actor-lost", names="Counter")
def the_worker_of_an_actor_is_killed(stage: Stage) -> None:
    with stage.local(2) as client:
        future = client.submit(Counter, actor=True)
        counter: Any = future.result()
        for _ in range(5):
            counter.increment().result()
        os.kill(_pid_of(client, counter._address), signal.SIGKILL)
        while True:
            counter.increment().result()
            time.sleep(0.1)


@failure("actor-lost", names="Counter", noise="healthy work before")
def the_worker_of_an_actor_is_restarted(stage: Stage) -> None:
    with stage.started(3) as (client, _):
        counter: Any = client.submit(Counter, actor=True).result()
        client.gather(client.map(abs, range(30)))
        counter.increment().result()
        client.restart_workers([counter._address])
        counter.increment().result(timeout=15)


@failure("actor-lost", names="Counter")
def tasks_ask_an_actor_that_is_gone(stage: Stage) -> None:
    def work(counter: Any, number: int) -> int:
        time.sleep(0.2)
        return int(counter.increment().result()) + number

    with stage.local(3, threads_per_worker=2) as client:
        future = client.submit(Counter, actor=True)
        counter: Any = future.result()
        client.gather(client.map(work, [counter] * 6, range(6)))
        os.kill(_pid_of(client, counter._address), signal.SIGTERM)
        client.gather(client.map(work, [counter] * 20, range(20, 40)))


@failure(
    "actor-lost",
    "worker-signalled",
    names="Counter|tally",
    why="the actor is lost because somebody killed its worker",
    held_out="second",
)
def tasks_ask_an_actor_whose_worker_is_gone(stage: Stage) -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = 0

        def pid(self) -> int:
            return os.getpid()

        def add(self, number: int) -> int:
            self.total += number
            return self.total

    def tally(counter: Any, number: int) -> int:
        return int(counter.add(number).result())

    with stage.local(2) as client:
        counter: Any = client.submit(Counter, actor=True).result()
        os.kill(counter.pid().result(), signal.SIGKILL)
        until(lambda: len(client.scheduler_info()["workers"]) < 2)
        client.gather(client.map(partial(tally, counter), range(4)))


class PageCounter:
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
    held_out="third: deaths",
)
def an_actor_lives_as_long_as_its_worker(stage: Stage) -> None:
    with stage.started(1, "--lifetime", "12s", "--name", "short") as (client, cluster):
        cluster.start_worker("--nthreads", "1", "--name", "long")
        client.wait_for_workers(2, timeout=40)
        counter: Any = client.submit(PageCounter, actor=True, workers="short").result()
        for number in range(2_000):
            counter.add(f"w{number % 7}").result()
            client.submit(simulate, number, seconds=0.05).result()


def _kill_holders(client: Client, future: Any) -> None:
    """Kill the workers that hold a result."""
    for address in client.who_has([future])[future.key]:
        pid = client.run(os.getpid, workers=[address])[address]
        os.kill(pid, signal.SIGKILL)


@failure("data-lost", names="scattered|lookup|dict")
def a_scattered_table_is_lost(stage: Stage) -> None:
    with stage.local(3) as client:
        (table,) = client.scatter([{n: str(n) for n in range(10_000)}], hash=False)
        client.submit(len, table).result()
        _kill_holders(client, table)
        until(lambda: table.status != "finished")
        look = lambda number, found: found[number]  # noqa: E731
        client.gather(client.map(look, range(20), found=table))


@failure("data-lost", noise="healthy work before")
def a_delayed_uses_scattered_data_that_is_gone(stage: Stage) -> None:
    import numpy as np

    with stage.started(2, "--no-nanny") as (client, _):
        grid = client.scatter(np.ones(1000))
        client.gather(client.map(abs, range(40)))
        _kill_holders(client, grid)
        until(lambda: grid.status != "finished")
        parts = [dask.delayed(np.sum)(grid) for _ in range(4)]
        dask.compute(*parts)


@failure("data-lost", allowed=3)
def scattered_data_is_lost_while_it_is_used(stage: Stage) -> None:
    def score(number: int, model: Any) -> int:
        time.sleep(0.3)
        return len(model) + number

    with stage.local(2, threads_per_worker=2) as client:
        (model,) = client.scatter([list(range(100_000))], hash=False)
        futures = client.map(score, range(60), model=model)
        threading.Timer(2, _kill_holders, (client, model)).start()
        client.gather(futures)


@failure(
    "data-lost",
    "cancelled",
    names="reference",
    why="a restarted worker loses what was scattered to it: both apply",
    held_out="second",
)
def a_worker_with_the_only_copy_is_restarted(stage: Stage) -> None:
    def match(table: Any, number: int) -> int:
        time.sleep(0.3)
        return int(table[number])

    with stage.local(2) as client:
        here = next(iter(client.scheduler_info()["workers"]))
        table = client.scatter({"reference-table": np.arange(100)}, workers=[here])
        reference = table["reference-table"]
        client.gather(client.map(match, [reference] * 3, range(3)))
        client.restart_workers([here])
        client.gather(client.map(match, [reference] * 9, range(20, 29)))


@failure(
    "data-lost",
    "cancelled",
    names="load_year",
    hang=True,
    why="a result that its client has released is forgotten, and its futures are cancelled",
    held_out="second",
)
def a_future_outlives_its_client(stage: Stage) -> None:
    def load_year(year: int) -> list[int]:
        return [year] * 10

    with stage.started(2) as (client, cluster):
        with Client(cluster.address, set_as_default=False) as first:
            handed = first.submit(load_year, 2024)
            handed.result(20)
            key = handed.key
        from distributed import Future

        kept: Any = Future(key, client)
        client.submit(sum, kept).result(timeout=20)


@failure(
    "data-lost",
    names=["scatter", "lost"],
    allowed=0,
    noise="a KilledWorker of another computation, that was caught",
    held_out="third: deaths",
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
    "data-lost",
    "worker-memory-limit",
    names=["lookup|scatter|ndarray|lost"],
    why="a worker dies at its memory limit, and with it data that was scattered",
    held_out="third: tasks",
)
def a_greedy_task_takes_scattered_data_with_it(stage: Stage) -> None:
    def greedy(rounds: int) -> int:
        held = []
        for _ in range(rounds):
            held.append(np.ones(4_000_000))
            time.sleep(0.15)
        return len(held)

    def looked_up(number: int, lookup: Any) -> float:
        return float(lookup[number])

    with stage.local(2, memory_limit="400MiB") as client:
        worker = next(iter(client.scheduler_info()["workers"]))
        lookup = client.scatter(np.arange(1000.0), workers=[worker])
        client.submit(looked_up, 7, lookup).result()
        fire_and_forget(client.submit(greedy, 60, workers=[worker], retries=0))
        until(lambda: worker not in client.scheduler_info(n_workers=-1)["workers"], 40)
        client.gather(client.map(looked_up, range(20), lookup=lookup))
