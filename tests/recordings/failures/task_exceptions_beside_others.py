"""Tasks that raise an exception while something else goes wrong as well."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
import warnings
from typing import Any

from distributed import Client, LocalCluster, as_completed
from distributed.diagnostics.plugin import WorkerPlugin
from failures.shared_parts import TileError, drawn, kill
from staging import Stage, failure, until


@failure(
    "task-exception", names=["ZeroDivisionError|division", "rate"], noise="log spam"
)
def thousands_of_log_lines(stage: Stage) -> None:
    def rate(number: int) -> float:
        log = logging.getLogger("distributed.worker")
        for n in range(200):
            log.error("Worker stream died during communication: tcp://10.0.0.%d", n)
            warnings.warn(f"row {n} of {number} has no price", stacklevel=1)
        return 1 / (number - 77)

    with stage.local(2) as client:
        client.gather(client.map(rate, range(100)))


@failure(
    "task-exception",
    names=["KeyError", "join_prices"],
    noise="another driver's tasks fail and kill a worker",
    allowed=3,
)
def a_neighbour_makes_trouble(stage: Stage) -> None:
    def join_prices(number: int) -> float:
        time.sleep(0.2)
        return dict.fromkeys(range(40), 1.0)[number]

    with stage.started(3, "--nthreads", "2") as (client, cluster):
        loud = "client.map(divmod, range(30), [0] * 30), client.submit(os._exit, 9)"
        with stage.neighbour(cluster.address, loud):
            until(lambda: len(client.ncores()) < 3)
            client.gather(client.map(join_prices, range(50)))


@failure(
    "task-exception",
    names=["OverflowError", "price"],
    allowed=0,
    noise="KilledWorker was handled",
)
def a_killed_worker_was_handled_before(stage: Stage) -> None:
    def price(number: int) -> float:
        import math

        return math.exp(number)

    with stage.local(2) as client:
        risky = client.submit(os._exit, 5)
        assert risky.exception() is not None
        client.gather(client.map(price, [1, 10, 100, 1000]))


@failure("task-exception", names="UnicodeDecodeError|codec", noise="adaptive scaling")
def an_exception_on_an_adaptive_cluster(stage: Stage) -> None:
    def decode(number: int) -> str:
        time.sleep(0.1)
        return (b"caf\xe9" if number == 60 else b"cafe").decode("utf-8")

    with (
        LocalCluster(
            n_workers=0, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        stage.recording(client),
    ):
        cluster.adapt(minimum=0, maximum=3, interval="200ms")
        client.gather(client.map(decode, range(80)))


class QuotaExceeded(Exception):  # noqa: N818 - libraries call theirs so
    """As many libraries' own: it does not survive pickling."""

    def __init__(self, service: str, limit: int) -> None:
        super().__init__(f"{service} allows {limit} requests a minute")


@failure(
    "task-exception", names=["allows 60 requests", "call_api"], noise="retried tasks"
)
def an_exception_that_cannot_be_pickled(stage: Stage) -> None:
    def call_api(page: int) -> int:
        time.sleep(0.05)
        if page == 17:
            raise QuotaExceeded("geocoder", 60)
        return page

    with stage.started(2, "--nthreads", "2") as (client, _):
        futures = client.map(call_api, range(40), retries=2)
        sum(each.result() for each in as_completed(futures))


@failure(
    "task-exception",
    names=["ValueError", "score"],
    how="command",
    noise="a worker died before",
    allowed=3,
)
def a_model_fails_after_a_worker_died(stage: Stage) -> None:
    def score(number: int) -> float:
        time.sleep(0.1)
        if number == 55:
            raise ValueError("Input X contains NaN")
        return number / 2

    with stage.local(3) as client:
        futures = client.map(score, range(60))
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        client.gather(futures)


@failure(
    "task-exception",
    names=["ArithmeticError", "balance"],
    noise="a worker dies",
    held_out="second",
)
def an_exception_while_machines_are_taken_back(stage: Stage) -> None:
    def balance(number: int) -> int:
        time.sleep(1)
        if number == 11:
            raise ArithmeticError(f"account {number} is out by 3")
        return number

    with stage.started(3) as (client, cluster):
        futures = client.map(balance, range(12))
        until(lambda: any(client.processing().values()))
        cluster.workers[0].terminate()
        client.gather(futures)


@failure(
    "task-exception",
    names=["OverflowError", "to_cents"],
    noise="others fail too",
    held_out="second",
)
def the_driver_gathers_what_failed_and_raises(stage: Stage) -> None:
    def to_cents(number: int) -> int:
        if number % 5 == 4:
            raise OverflowError(f"amount {number} does not match")
        return number * 100

    with stage.local(2) as client:
        done = as_completed(client.map(to_cents, range(20)))
        failed = [future for future in done if future.status == "error"]
        if failed:
            raise RuntimeError(f"{len(failed)} of 20 amounts failed") from failed[
                0
            ].exception()


@failure(
    "task-exception",
    names=["InvalidGeometry|polygon 11", "simplify"],
    noise="20,000 warnings",
    held_out="second",
)
def warnings_flood_the_logs(stage: Stage) -> None:
    def simplify(number: int) -> int:
        for each in range(1000):
            warnings.warn(f"ring {each} of polygon {number} is open", stacklevel=1)
            print(f"ring {each}: skipped")
        if number == 11:
            raise ValueError("InvalidGeometry: polygon 11 crosses itself")
        return number

    with stage.started(2) as (client, _):
        client.gather(client.map(simplify, range(20)))


async def _ask(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


def scored(seconds: float) -> float:
    return asyncio.run(asyncio.wait_for(_ask(seconds), timeout=0.5))


@failure(
    "task-exception",
    names=["TimeoutError", "scored"],
    noise="a worker leaves",
    held_out="third: tasks",
)
def a_timeout_inside_of_a_task(stage: Stage) -> None:
    with stage.local(3) as client:
        client.submit(time.sleep, 0.1, pure=False).result()
        gone = next(iter(client.scheduler_info()["workers"]))
        client.retire_workers([gone])
        seconds = [0.05, 0.1, 0.15, 0.2, 30.0, 0.25]
        client.gather(client.map(scored, seconds))


@failure(
    "task-exception",
    names=["ZeroDivisionError", "drawn"],
    noise="tasks that raise what is caught",
    held_out="third: tasks",
)
def some_errors_are_expected_and_one_is_not(stage: Stage) -> None:
    tiles = [f"sea-{n}" for n in range(9)] + [f"land-{n}" for n in range(20)]
    with stage.local(2, threads_per_worker=2) as client:
        empty = 0
        for future in as_completed(client.map(drawn, tiles)):
            try:
                future.result()
            except TileError:
                empty += 1


@failure(
    "task-exception",
    names=["KeyError|eur", "in_euro"],
    noise="a worker dies early, and nobody minds",
    held_out="third: tasks",
)
def a_worker_dies_early_and_nobody_minds(stage: Stage) -> None:
    def in_euro(day: int, rates: dict[str, float]) -> float:
        time.sleep(0.3)
        return day * rates["eur" if day < 39 else "EUR"]

    with stage.local(3) as client:
        client.gather(client.map(time.sleep, [0.1] * 6, pure=False))
        kill(client.run(os.getpid).popitem()[1])
        client.gather(client.map(in_euro, range(45), rates={"eur": 1.0}))


class Counting(WorkerPlugin):
    """It says alarming things, and does no harm."""

    def setup(self, worker: Any) -> None:
        log = logging.getLogger("distributed.worker")
        log.critical("Lost connection to the licence server, working without it")
        log.error("MemoryError: could not allocate the cache of 2 GiB, using none")


@failure(
    "task-exception",
    names=["UnicodeDecodeError|codec", "decoded"],
    noise="alarming lines in the logs of workers",
    held_out="third: tasks",
)
def alarming_logs_are_not_the_cause(stage: Stage) -> None:
    def decoded(data: bytes) -> str:
        time.sleep(0.2)
        return data.decode("utf-8")

    with stage.started(2) as (client, _):
        client.register_plugin(Counting())
        words = ["Zürich", "Genève", "Bern", "Łódź", "Zug"]
        data = [word.encode() for word in words] + ["Köln".encode("latin-1")]
        list(as_completed(client.map(decoded, data), raise_errors=True))
        client.gather(client.map(decoded, data))
