"""Work that is cancelled."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import dask
from distributed import Client, Future, as_completed, wait
from staging import Stage, failure, later, until


@failure("cancelled", names="stale-inputs")
def a_watchdog_cancels_from_a_thread(stage: Stage) -> None:
    def model(number: int) -> int:
        time.sleep(20)
        return number

    with stage.local(2) as client:
        futures = client.map(model, range(4), key="model")
        act = lambda: client.cancel(futures, reason="stale-inputs", msg="newer data")  # noqa: E731
        later(2, act)
        client.gather(futures)


@failure("cancelled", names="restart", noise="another driver")
def somebody_restarts_the_shared_cluster(stage: Stage) -> None:
    with stage.started(2) as (_, cluster):
        parts = [dask.delayed(time.sleep)(0.5) for _ in range(60)]

        def restart() -> None:
            with Client(cluster.address, set_as_default=False) as other:
                other.restart(wait_for_workers=False)

        later(3, restart)
        dask.compute(*parts)


@failure("cancelled", noise="handled exceptions, retried tasks")
def another_client_cancels_with_force(stage: Stage) -> None:
    def long(number: int) -> int:
        time.sleep(20)
        return number

    with stage.started(1, "--nthreads", "2") as (client, cluster):
        wait(client.submit(divmod, 1, 0, retries=1))
        future = client.submit(long, 1, key="long-1")

        def cancel() -> None:
            with Client(cluster.address, set_as_default=False) as other:
                other.cancel([Future("long-1", client=other)], force=True)

        later(3, cancel)
        future.result()


@failure("cancelled", names="restart", held_out="first")
def the_driver_restarts_its_own_cluster(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        futures = client.map(time.sleep, [0.5] * 60, pure=False)
        time.sleep(1.5)
        client.restart(wait_for_workers=False)
        client.gather(futures)


@failure("cancelled", names=["out of budget"], held_out="second")
def a_watchman_cancels_what_costs_too_much(stage: Stage) -> None:
    def simulate(number: int) -> int:
        time.sleep(20)
        return number

    with stage.local(2) as client:
        futures = client.map(simulate, range(6))
        threading.Timer(
            2, client.cancel, [futures], {"reason": "out of budget", "force": True}
        ).start()
        client.gather(futures)


@failure("cancelled", names="restart", held_out="second")
def a_colleague_restarts_the_cluster(stage: Stage) -> None:
    def train(number: int) -> int:
        time.sleep(30)
        return number

    with (
        stage.started(2) as (client, cluster),
        stage.neighbour(cluster.address, "(time.sleep(2), client.restart())"),
    ):
        client.gather(client.map(train, range(4)))


@failure(
    "cancelled",
    names=["nightly window"],
    noise="others finished before",
    held_out="third: services",
)
def a_watchdog_calls_the_night_off(stage: Stage) -> None:
    def priced(number: int) -> int:
        time.sleep(1)
        return number

    with stage.local(2) as client:
        prices = client.map(priced, range(40))
        until(lambda: sum(each.done() for each in prices) > 5)
        reason = {"reason": "sla", "msg": "the nightly window is over at 05:00"}
        later(2, partial(client.cancel, prices, **reason))
        print(sum(future.result() for future in as_completed(prices)))


@failure(
    "cancelled",
    names=["restart"],
    noise="a neighbour on a shared cluster",
    held_out="third: services",
)
def a_colleague_restarts_the_shared_cluster(stage: Stage) -> None:
    def cube(number: int) -> int:
        time.sleep(0.5)
        return number**3

    with stage.started(2) as (client, cluster):
        lazy = [dask.delayed(cube)(number) for number in range(60)]
        kept = dask.persist(*lazy)
        until(lambda: sum(map(len, client.has_what().values())) > 4)
        with stage.neighbour(cluster.address, "client.restart()"):
            print(sum(dask.compute(*kept)))


@failure("cancelled", names=["cancel"], held_out="third: tasks")
def a_watchdog_cancels_what_takes_too_long(stage: Stage) -> None:
    def simulated(step: int) -> int:
        time.sleep(0.6)
        return step

    def watch(client: Client, futures: list[Any]) -> None:
        deadline = time.monotonic() + 4
        while time.monotonic() < deadline:
            time.sleep(0.2)
        client.cancel(futures, force=True)

    with stage.local(2) as client:
        futures = client.map(simulated, range(50))
        thread = threading.Thread(target=watch, args=(client, futures), daemon=True)
        thread.start()
        print(sum(client.gather(futures)))


@failure(
    "cancelled",
    names=["simulate"],
    noise="the first result was good enough",
    held_out="fourth: services",
)
def an_executor_is_shut_down_before_its_results_are_read(stage: Stage) -> None:
    def simulate(seed: int) -> int:
        time.sleep(1.5)
        return seed

    with stage.local() as client:
        pool = client.get_executor()
        runs = [pool.submit(simulate, seed) for seed in range(12)]
        print("best so far", runs[0].result())
        pool.shutdown(wait=False)
        print(sum(run.result() for run in runs))
