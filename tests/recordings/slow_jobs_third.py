"""Jobs that were made slow on purpose, short and on few workers; and the same jobs, fixed."""

from __future__ import annotations

import functools
import gc
import json
import threading
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, wait
from distributed.diagnostics.plugin import SchedulerPlugin
from slow_jobs import after, block_of, python_loop

Block = Any
MIB = 2**20


# What threads wait for


def rows_applied_in_threads(client: Client, data: Path) -> None:
    """A frame, and a function of Python for each of its rows."""
    frame = pd.DataFrame({"x": np.arange(240_000), "y": 2.0})
    ddf = dd.from_pandas(frame, npartitions=32)

    def score(row: Any) -> float:
        times = 40 + int(row["x"]) % 9
        return float(sum(n * row["y"] for n in range(times)))

    ddf.map_partitions(
        lambda part: part.apply(score, axis=1), meta=("score", "float64")
    ).sum().compute()


def loops_in_threads(client: Client, data: Path) -> None:
    parts = [dask.delayed(python_loop)(n, 900_000) for n in range(36)]
    dask.compute(*parts)


def products_by_turns(client: Client, data: Path) -> None:
    x = da.random.random((112_000, 700), chunks=(700, 700))
    x.map_blocks(
        lambda b: np.linalg.svd(b, compute_uv=False)[None], chunks=(1, 700), dtype=float
    ).sum().compute()
    da.compute(*[(x @ x[:700].T).std() for _ in range(4)])


def native_threads(client: Client, data: Path) -> None:
    """Each task's library starts as many threads as it likes."""

    def products(number: int) -> float:
        block = np.random.default_rng(number).random((1_500, 1_500))
        return float(sum((block @ block).mean() for _ in range(4)))

    client.gather(client.map(products, range(40)))


def one_native_thread(client: Client, data: Path) -> None:
    native_threads(client, data)


def naps_of_tasks(client: Client, data: Path) -> None:
    """Downloads, as people write them down to try something."""
    parts = [dask.delayed(lambda n: after(None, n, 0.5))(n) for n in range(44)]
    dask.delayed(sum)(parts).compute()


def a_bag_of_downloads(client: Client, data: Path) -> None:
    bag = db.from_sequence(range(120), npartitions=24)
    bag.map(lambda n: after(None, n, 0.12)).sum().compute()


# The scheduler


def more_sleepers_than_it_feeds(client: Client, data: Path) -> None:
    """Many threads, and tasks that are neither tiny nor long."""
    client.gather(client.map(lambda n: time.sleep(0.03), range(9_000), pure=False))


def each_needs_hundreds(client: Client, data: Path) -> None:
    """A graph of few tasks with very many edges between them."""
    wide, deep = 400, 3
    graph: dict[Any, Any] = {f"in-{n}": (python_loop, n, 20_000) for n in range(wide)}
    before = [f"in-{n}" for n in range(wide)]
    for level in range(deep):
        now = [f"mid{level}-{n}" for n in range(wide)]
        graph |= {
            key: (lambda xs, n=n: python_loop(n + len(xs), 20_000), list(before))
            for n, key in enumerate(now)
        }
        before = now
    graph["end"] = (sum, before)
    client.get(graph, "end")


def half_as_many(number: int = 600) -> list[Any]:
    return [dask.delayed(python_loop)(n, 60_000) for n in range(number)]


def a_busy_thread_beside_the_scheduler(client: Client, data: Path) -> None:
    """Somebody's thread in the scheduler's process computes all the while."""

    def burn(dask_scheduler: Any) -> None:
        until = time.monotonic() + 25

        def loop() -> None:
            while time.monotonic() < until and not getattr(
                dask_scheduler, "_enough", False
            ):
                sum(range(40_000))

        dask_scheduler._enough = False
        for _ in range(3):
            threading.Thread(target=loop, daemon=True).start()

    def enough(dask_scheduler: Any) -> None:
        dask_scheduler._enough = True

    client.run_on_scheduler(burn)
    client.gather(client.map(lambda n: time.sleep(0.04), range(1_600), pure=False))
    client.run_on_scheduler(enough)


def nobody_beside_the_scheduler(client: Client, data: Path) -> None:
    client.gather(client.map(lambda n: time.sleep(0.04), range(1_600), pure=False))


class _Audit(SchedulerPlugin):
    """Writes each transition down, which takes it a few milliseconds."""

    def transition(self, key: Any, *_: Any, **__: Any) -> None:
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass


def an_audit_of_transitions(client: Client, data: Path) -> None:
    client.register_plugin(_Audit(), name="audit")
    dask.compute(*half_as_many())
    client.unregister_scheduler_plugin("audit")


def no_audit_of_transitions(client: Client, data: Path) -> None:
    dask.compute(*half_as_many())


# Stealing


class Weights:
    """Something large that says it is small, as objects do whose size nothing reported it Dask."""

    def __init__(self, number: int, mebibytes: int) -> None:
        self.blocks = [block_of(number, mebibytes)]


def _used(weights: Any, seconds: float = 0.02) -> float:
    time.sleep(seconds)
    return float(weights.blocks[0][0])


def weights_of_no_size(client: Client, data: Path) -> None:
    """All lies on one worker, and to fetch it seems to cost nothing."""
    here = min(client.scheduler_info(n_workers=-1)["workers"])
    held = client.map(Weights, range(60), mebibytes=24, workers=[here])
    wait(held)
    client.gather([client.submit(_used, w, pure=False) for w in held * 10])


def weights_that_stay(client: Client, data: Path) -> None:
    here = min(client.scheduler_info(n_workers=-1)["workers"])
    held = client.map(Weights, range(60), mebibytes=24, workers=[here])
    wait(held)
    client.gather(
        [client.submit(_used, w, pure=False, workers=[here]) for w in held * 10]
    )


def names_of_their_own(
    client: Client, data: Path, *, workers: list[str] | None = None
) -> None:
    """All lies on one worker; tasks with names of their own seem to take half a second."""
    here = [min(client.scheduler_info(n_workers=-1)["workers"])]
    held = client.map(block_of, range(40), mebibytes=16, workers=workers or here)
    wait(held)
    client.gather(
        [
            client.submit(
                lambda b, n: python_loop(n, 15_000), held[n % 40], n, key=f"name{n}x"
            )
            for n in range(1_200)
        ]
    )


def names_without_stealing(client: Client, data: Path) -> None:
    names_of_their_own(client, data)


def names_with_inputs_everywhere(client: Client, data: Path) -> None:
    every = list(client.scheduler_info(n_workers=-1)["workers"])
    names_of_their_own(client, data, workers=every)


# What is uneven


def one_sleeps_on(client: Client, data: Path) -> None:
    parts = [
        dask.delayed(lambda n, s: after(None, n, s))(n, 9 if n == 5 else 0.15)
        for n in range(24)
    ]
    dask.compute(*parts)


def none_sleeps_on(client: Client, data: Path) -> None:
    parts = [
        dask.delayed(lambda n, s: after(None, n, s))(n, 0.5 if n < 20 else 0.15)
        for n in range(36)
    ]
    dask.compute(*parts)


def a_block_unlike_the_others(client: Client, data: Path) -> None:
    def work(block: Block, block_info: Any = None) -> Block:
        corner = block_info[0]["chunk-location"] == (0, 0)
        python_loop(1, 22_000_000 if corner else 500_000)
        return block

    x = da.ones((400, 400), chunks=(100, 100))
    x.map_blocks(work, dtype=float, meta=np.ones((0, 0))).sum().compute()


def naps_of_the_driver(client: Client, data: Path) -> None:
    for n in range(10):
        client.submit(python_loop, n, 900_000).result()
        time.sleep(1.2)


def sums_fetched_one_by_one(client: Client, data: Path) -> None:
    """The driver works with each result, before it asks for the next."""
    for _ in range(8):
        x = da.random.random((2_000, 2_000), chunks=(1_000, 1_000))
        found = x.map_blocks(lambda b: b + python_loop(1, 500_000)).sum().compute()
        python_loop(int(found) % 7, 4_000_000)


def a_chain_on_two(client: Client, data: Path) -> None:
    step = client.submit(python_loop, 0, 2_500_000)
    for n in range(18):
        step = client.submit(lambda _, n: python_loop(n, 2_500_000), step, n)
    step.result()


def three_partitions(client: Client, data: Path) -> None:
    ddf = dd.from_pandas(pd.DataFrame({"x": range(3_000)}), npartitions=3)
    ddf.map_partitions(
        lambda part: part.assign(y=python_loop(1, 28_000_000)),
        meta={"x": "int64", "y": "float64"},
    ).y.sum().compute()


# Loops, the collector


def a_power_of_many_digits(client: Client, data: Path) -> None:
    client.gather(client.map(lambda n: (3 + n) ** 13_000_000 % 7, range(3), pure=False))


def records_in_plain_objects(client: Client, data: Path) -> None:
    """Very many small objects, that refer to each other, in each task."""

    def parse(number: int) -> int:
        text = json.dumps([{"id": n, "of": [n, {"m": n}]} for n in range(40_000)])
        found: list[Any] = []
        for _ in range(12):
            found.extend(json.loads(text))
        return len(found)

    db.from_sequence(range(16), npartitions=16).map(parse).sum().compute()


def records_left_alone(client: Client, data: Path) -> None:
    client.run(gc.disable)
    records_in_plain_objects(client, data)
    client.run(gc.enable)


# Memory

_found: list[Any] = []


def _appended(number: int) -> int:
    _found.append(np.random.default_rng(number).random(900_000))
    python_loop(number, 250_000)
    return len(_found)


def a_list_that_grows(client: Client, data: Path) -> None:
    client.gather(client.map(_appended, range(240)))


def one_large_array(client: Client, data: Path) -> None:
    """One task fills its worker nearly, for a moment."""

    def fill(share: float) -> float:
        import psutil
        from distributed import get_worker

        limit = get_worker().memory_manager.memory_limit or 0
        left = share * limit - psutil.Process().memory_info().rss
        return float(np.ones(int(left) // 8).sum())

    client.gather(client.map(python_loop, range(20)))
    dask.delayed(fill)(0.92).compute()


def sums_of_what_is_not_held(client: Client, data: Path) -> None:
    """The same array is computed for each of three answers."""

    def read(number: int) -> Block:
        python_loop(number, 1_200_000)
        return np.full(1_000, float(number))

    parts = [da.from_delayed(dask.delayed(read)(n), (1_000,), float) for n in range(12)]
    x = da.concatenate(parts)
    for fold in (x.sum, x.mean, x.max):
        fold().compute()


def sums_of_what_is_held(client: Client, data: Path) -> None:
    def read(number: int) -> Block:
        python_loop(number, 1_200_000)
        return np.full(1_000, float(number))

    parts = [da.from_delayed(dask.delayed(read)(n), (1_000,), float) for n in range(12)]
    x = da.concatenate(parts).persist()
    for fold in (x.sum, x.mean, x.max):
        fold().compute()


def turned_and_added(client: Client, data: Path) -> None:
    """Each block needs the one across the diagonal."""
    x = da.random.random((12_000, 12_000), chunks=(1_500, 1_500)).persist()
    wait(x)
    for _ in range(4):
        (x + x.T).sum().compute()


def crumbs_in_a_loop(client: Client, data: Path) -> None:
    """A loop that submits one at a time."""
    futures = [client.submit(functools.partial(pow, n), 2) for n in range(2_500)]
    client.gather(futures)


def night_of_queries(client: Client, data: Path, *, seconds: float = 0.2) -> None:
    """The same queries each night; one night the base answers late."""
    client.gather(client.map(lambda n: after(None, n, seconds), range(24), pure=False))
