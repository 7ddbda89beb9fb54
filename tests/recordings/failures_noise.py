"""One cause among much else that goes wrong: what is loud is not what ended the run."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, as_completed, fire_and_forget, wait
from staging import Stage, delayed, failure, later, until


def _pids(client: Client) -> list[int]:
    return list(client.run(os.getpid).values())


def _grow(mebibytes: int) -> int:
    held = []
    for _ in range(20):
        held.append(os.urandom(1024) * (mebibytes * 1024 // 20))
        time.sleep(0.05)
    return len(held)


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
    "driver-exception",
    names="total is 0",
    allowed=5,
    noise="a worker died at its memory limit, and the work was done again",
)
def a_check_after_a_memory_death_that_was_survived(stage: Stage) -> None:
    mark = stage.folder / "grown"

    def load(path: str, number: int) -> int:
        if number == 3 and not Path(path).exists():
            Path(path).touch()
            _grow(700)
        return 0

    with stage.local(2, memory_limit="400MiB") as client:
        total = sum(client.gather(client.map(load, [str(mark)] * 8, range(8))))
        if total == 0:
            raise RuntimeError("the total is 0: yesterday it was 1.2 million")


@failure(
    "worker-memory-limit",
    names="merge_all",
    allowed=1,
    noise="a worker was killed before",
)
def a_memory_death_after_a_kill(stage: Stage) -> None:
    def merge_all(mebibytes: int) -> int:
        return _grow(mebibytes)

    with stage.local(2, memory_limit="400MiB") as client:
        futures = client.map(time.sleep, [0.1] * 40, pure=False)
        os.kill(_pids(client)[0], signal.SIGKILL)
        client.gather(futures)
        client.submit(merge_all, 700).result()


@failure(
    "worker-exit",
    names=["ConnectionError", "upload"],
    allowed=0,
    noise="a retried task",
)
def a_retried_task_meets_a_dying_worker(stage: Stage) -> None:
    mark = stage.folder / "tried"

    def upload(path: str) -> None:
        if not Path(path).exists():
            Path(path).touch()
            raise ConnectionError("the bucket did not answer")
        time.sleep(0.3)
        os._exit(4)

    with stage.started(2) as (client, _):
        client.submit(upload, str(mark), retries=3).result()


@failure("task-exception", names="FileNotFoundError", noise="restart, scale-down")
def an_exception_after_restart_and_scale_down(stage: Stage) -> None:
    import dask.bag as db

    def read(path: str) -> str:
        return Path(path).read_text()

    with stage.local(3) as client:
        client.gather(client.map(abs, range(30)))
        client.restart()
        client.retire_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])
        paths = [__file__] * 9 + ["/nonexistent/2026-11-21.csv"]
        db.from_sequence(paths, npartitions=5).map(read).map(len).sum().compute()


@failure(
    "task-exception", names=["OverflowError", "price"], allowed=0,
    noise="KilledWorker was handled",
)  # fmt: skip
def a_killed_worker_was_handled_before(stage: Stage) -> None:
    def price(number: int) -> float:
        import math

        return math.exp(number)

    with stage.local(2) as client:
        risky = client.submit(os._exit, 5)
        assert risky.exception() is not None
        client.gather(client.map(price, [1, 10, 100, 1000]))


@failure("driver-exception", names="fallback", noise="an unpicklable graph was handled")
def a_fallback_fails_too(stage: Stage) -> None:
    lock = threading.Lock()

    def guarded(number: int) -> int:
        with lock:
            return number

    with stage.local(2) as client:
        try:
            client.submit(guarded, 1)
        except TypeError:
            done = client.gather(client.map(abs, range(5)))
            raise LookupError(f"the fallback found {len(done)} of 6 parts") from None


@failure(
    "driver-exception", "unknown", names=(), why="the driver's own timeout passed while "
    "tasks succeeded: nothing but the driver failed",
)  # fmt: skip
def a_timeout_while_all_goes_well(stage: Stage) -> None:
    with stage.local(2) as client:
        futures = client.map(time.sleep, [0.5] * 80, pure=False)
        client.submit(len, futures).result(timeout=6)


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


@failure("task-exception", names=["ValueError", "normalise"])
def an_asynchronous_driver(stage: Stage) -> None:
    from dask_blackbox.driver import recording

    def normalise(number: int) -> int:
        if number == 13:
            raise ValueError("weight must not be negative")
        return number

    async def main() -> None:
        async with (
            LocalCluster(
                n_workers=2, asynchronous=True, dashboard_address=None
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
            recording(client, store=stage.store, job=stage.name, run_id="told"),
        ):
            await client.gather(client.map(normalise, range(30)))

    asyncio.run(main())


@failure("task-exception", names=["RuntimeError|PermissionError", "publish"])
def an_exception_with_a_chain_of_causes(stage: Stage) -> None:
    def put(number: int) -> int:
        raise PermissionError(f"403 Forbidden: s3:PutObject on lake/prices/{number}")

    @delayed
    def publish(number: int) -> int:
        try:
            return put(number)
        except PermissionError as error:
            raise RuntimeError(f"could not publish part {number}") from error

    with stage.started(2):
        dask.compute(*[publish(n) for n in range(3)])


@failure("driver-exception", names="email", noise="forgotten tasks fail")
def tasks_that_nobody_waits_for_fail(stage: Stage) -> None:
    with stage.local(2) as client:
        for number in range(10):
            fire_and_forget(client.submit(divmod, number, 0, pure=False))
        client.gather(client.map(abs, range(50)))
        raise OSError("no email could be sent: connection refused by smtp.internal")


@failure(
    "task-exception", names=["IndexError", "summarise"], allowed=3,
    settings={"dataframe.shuffle.method": "p2p"},
    noise="a worker is lost in a shuffle, which begins again",
)  # fmt: skip
def an_exception_after_a_shuffle_that_began_again(stage: Stage) -> None:
    import dask.datasets
    import pandas as pd

    def summarise(frame: pd.DataFrame) -> pd.DataFrame:
        if len(frame) and frame["id"].max() > 0:
            raise IndexError("single positional indexer is out-of-bounds")
        return frame

    with stage.local(3) as client:
        frame = dask.datasets.timeseries(end="2000-01-12", freq="5s")
        later(1.0, lambda: os.kill(_pids(client)[0], signal.SIGKILL))
        out = frame.shuffle("name").map_partitions(summarise, meta=frame._meta)
        out["x"].sum().compute()


@failure(
    "environment-mismatch", names="fx_rates", allowed=3, noise="exceptions, log spam"
)
def a_missing_module_among_errors(stage: Stage) -> None:
    import importlib

    def shout(number: int) -> int:
        logging.getLogger("distributed.core").error(
            "CommClosedError: in <TCP (closed)>"
        )
        return number

    stage.package("fx_rates", "def convert(n):\n    return n\n")

    def rates(number: int) -> Any:
        return importlib.import_module("fx_rates").convert(number)

    assert rates(1) == 1
    with stage.started(3) as (client, _):
        client.gather(client.map(shout, range(200)))
        wait(client.submit(divmod, 1, 0))
        for future in as_completed(client.map(rates, range(6))):
            future.result()


@failure(
    "scheduler-lost",
    noise="retries, handled exceptions, another driver, a flood of closed comms",
)
def the_scheduler_goes_while_much_happens(stage: Stage) -> None:
    def flaky(number: int, folder: str) -> int:
        mark = Path(folder, str(number))
        if number % 3 == 0 and not mark.exists():
            mark.touch()
            raise ConnectionError("try again")
        time.sleep(0.1)
        return number

    with stage.started(4, "--nthreads", "2") as (client, cluster):
        assert cluster.scheduler is not None
        busy = "client.map(time.sleep, [0.05] * 400, pure=False)"
        with stage.neighbour(cluster.address, busy):
            wait(client.map(divmod, range(5), [0] * 5))
            futures = client.map(flaky, range(200), folder=str(stage.folder), retries=2)
            later(3, cluster.scheduler.kill)
            client.gather(futures)


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


@failure(
    "worker-segfault", names="warp", allowed=1, noise="handled deaths of other sorts"
)
def a_crash_after_other_deaths(stage: Stage) -> None:
    def warp(block: Any) -> Any:
        import ctypes

        time.sleep(0.2)
        ctypes.string_at(8)
        return block

    with stage.local(2, memory_limit="400MiB") as client:
        assert client.submit(os._exit, 2).exception() is not None
        assert client.submit(_grow, 700).exception() is not None
        client.submit(warp, 1).result()
