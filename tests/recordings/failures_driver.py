"""What goes wrong in the driver: its own code, its end, and what it cannot send."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, wait
from staging import NotHere, Stage, failure, later, until

# driver-exception


@failure("driver-exception", names=["amuont|KeyError"])
def a_column_is_misspelt_while_the_graph_is_built(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"amount": range(10)}), npartitions=2)
        frame["amuont"].sum().compute()


@failure("driver-exception", names="3 rows", noise="a task failed and was handled")
def a_check_after_good_work(stage: Stage) -> None:
    with stage.started(2) as (client, _):
        bad = client.submit(divmod, 1, 0)
        wait(bad)
        rows = client.gather(client.map(abs, range(3)))
        if len(rows) < 1000:
            raise ValueError(f"only {len(rows)} rows for today: upstream is late")


@failure(
    "driver-exception",
    names="TimeoutError|did not answer",
    how="command",
    noise="workers died before",
    allowed=3,
)
def the_warehouse_does_not_answer(stage: Stage) -> None:
    with stage.local(2) as client:
        futures = client.map(time.sleep, [0.2] * 20, pure=False)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        client.gather(futures)
        raise TimeoutError("warehouse.internal:5432 did not answer within 30 s")


@failure("driver-exception", names="Metadata inference|meta|strptime|parse_day")
def metadata_inference_fails(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def parse_day(frame: pd.DataFrame) -> pd.DataFrame:
        from datetime import datetime

        day = datetime.strptime(frame["day"].iloc[0], "%Y-%m-%d")  # noqa: DTZ007
        return frame.assign(year=day.year)

    with stage.local(1, threads_per_worker=2):
        frame = pd.DataFrame({"day": ["2026-11-20", "2026-11-21"]})
        dd.from_pandas(frame, npartitions=2).map_partitions(parse_day).compute()


# task-exception: what a driver makes of it


@failure("task-exception", names=["StopIteration", "first_of"])
def an_empty_iterator(stage: Stage) -> None:
    def first_of(rows: list[int]) -> int:
        return next(iter(rows))

    with stage.local(2) as client:
        client.gather(client.map(first_of, [[1], [2], []]))


@failure("task-exception", names=["AssertionError", "verify"])
def a_bare_assertion_is_wrapped(stage: Stage) -> None:
    def verify(number: int) -> int:
        assert number < 3
        return number

    with stage.local(2) as client:
        try:
            client.gather(client.map(verify, range(6)))
        except Exception as error:
            raise RuntimeError("nightly job failed") from error


@failure("task-exception", names=["OSError|disk quota", "store_tile"])
def the_driver_counts_what_failed(stage: Stage) -> None:
    def store_tile(number: int) -> int:
        if number % 4 == 3:
            raise OSError(122, "Disk quota exceeded")
        return number

    with stage.local(2) as client:
        futures = client.map(store_tile, range(12))
        wait(futures)
        bad = [future for future in futures if future.status == "error"]
        if bad:
            raise RuntimeError(f"{len(bad)} tiles failed")


@failure("task-exception", names="Overloaded")
def a_method_of_an_actor_raises(stage: Stage) -> None:
    class Model:
        def predict(self, number: int) -> int:
            if number > 2:
                raise ValueError("Overloaded model")
            return number

    with stage.local(2) as client:
        model: Any = client.submit(Model, actor=True).result()
        print([model.predict(number).result() for number in range(5)])


# driver-killed


@failure("driver-killed", how="command", names="SIGKILL|signal 9|-9|137")
def the_driver_meets_the_oom_killer(stage: Stage) -> None:
    with stage.local(2) as client:
        futures = client.map(time.sleep, [0.3] * 60, pure=False)
        later(3, os.kill, os.getpid(), signal.SIGKILL)
        client.gather(futures)


@failure("driver-killed")
def the_driver_vanishes_from_a_shared_cluster(stage: Stage) -> None:
    with stage.started(2) as (client, _):
        wait(client.submit(divmod, 1, 0))
        futures = client.map(time.sleep, [0.3] * 60, pure=False)
        later(3, os.kill, os.getpid(), signal.SIGKILL)
        client.gather(futures)


@failure("driver-killed", names=["out-of-memory", "kernel"])
def the_container_of_the_driver_is_too_small(stage: Stage) -> None:
    group = Path("/sys/fs/cgroup/memory") / f"driver-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(1200 * 2**20))
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        raise NotHere(f"no memory cgroup can be made: {error}") from error
    with stage.local(1) as client:
        gathered = client.gather(client.map(str, range(10)))
        while True:  # as one that gathers all results does
            gathered.append(bytearray(os.urandom(1024)) * 8192)


@failure("driver-killed", noise="retried tasks")
def the_driver_is_killed_with_its_cluster(stage: Stage) -> None:
    """As a host kills a group of processes: the workers go at the same time."""
    import psutil

    def flaky(number: int, folder: str) -> int:
        mark = f"{folder}/{number}"
        if not os.path.exists(mark):  # noqa: PTH110 - shorter where it travels
            open(mark, "w").close()  # noqa: PTH123
            raise ConnectionError("try again")
        time.sleep(0.3)
        return number

    with stage.local(2) as client:
        pids = [*client.run(os.getpid).values(), os.getpid()]
        futures = client.map(flaky, range(60), folder=str(stage.folder), retries=2)
        time.sleep(3)
        for pid in pids:
            psutil.Process(pid).kill()
        client.gather(futures)


@failure("driver-killed", how="command", names="SIGSEGV|signal 11|-11|139")
def the_driver_crashes(stage: Stage) -> None:
    import ctypes

    with stage.local(2) as client:
        client.gather(client.map(time.sleep, [0.1] * 30, pure=False))
        ctypes.string_at(0)


# graph-not-serializable


@failure("graph-not-serializable", names="fetch|socket")
def a_session_in_a_closure(stage: Stage) -> None:
    import socket

    session = socket.socket()

    def fetch(number: int) -> int:
        return session.fileno() + number

    with stage.local(2) as client:
        client.gather(client.map(fetch, range(10)))


@failure(
    "graph-not-serializable", names="pickle|SimpleQueue", noise="handled exceptions"
)
def a_method_of_a_class_with_a_pool(stage: Stage) -> None:
    from concurrent.futures import ThreadPoolExecutor

    class Pipeline:
        def __init__(self) -> None:
            self.pool = ThreadPoolExecutor(2)

        def clean(self, number: int) -> int:
            return number

    with stage.started(1, "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        pipeline = Pipeline()
        dask.compute(*[dask.delayed(pipeline.clean)(n) for n in range(5)])


@failure("graph-not-serializable", names="generator")
def a_generator_as_an_argument_of_map_blocks(stage: Stage) -> None:
    import dask.array as da

    weights = (1 / n for n in range(1, 10))

    def weigh(block: Any, weights: Any) -> Any:
        return block * next(weights)

    with stage.local(1, processes=False):
        x = da.ones(100, chunks=10)
        x.map_blocks(weigh, weights, dtype=float, meta=x._meta).sum().compute()


@failure("graph-not-serializable", names="enrich|sqlite3", how="command")
def a_database_cursor_in_a_dataframe(stage: Stage) -> None:
    import sqlite3

    import dask.dataframe as dd
    import pandas as pd

    connection = sqlite3.connect(":memory:")

    def enrich(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(n=connection.total_changes)

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"a": range(10)}), npartitions=2)
        meta = {"a": "int64", "n": "int64"}
        frame.map_partitions(enrich, meta=meta).compute()


# cancelled


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


# data-lost


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


@failure("driver-exception", names="no input", how="command")
def a_script_gives_up_with_a_message(stage: Stage) -> None:
    with stage.local(1) as client:
        found: list[str] = client.submit(list).result()
        if not found:
            sys.exit("no input files for 2026-11-21")
