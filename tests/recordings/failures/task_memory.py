"""Tasks that raise `MemoryError`, and workers that pause for memory."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
from distributed import Client, as_completed, get_worker, wait
from failures.shared_parts import END, TileError
from staging import Stage, delayed, failure, later


@failure("task-memory-error", names=["Unable to allocate", "outer|distances"])
def a_distance_matrix(stage: Stage) -> None:
    import numpy as np

    @delayed
    def distances(points: Any) -> Any:
        return np.subtract.outer(points, points)

    with stage.local(2):
        dask.delayed(np.sum)(distances(np.zeros(3_000_000))).compute()


@failure("task-memory-error", names=["cross_join"], noise="healthy work beside")
def a_cross_join(stage: Stage) -> None:
    import numpy as np
    import pandas as pd

    def cross_join(rows: int) -> int:
        keys = pd.DataFrame({"key": np.zeros(rows, dtype="i1")})
        return len(keys.merge(keys, on="key"))

    with stage.started(2, "--memory-limit", "0") as (client, _):
        client.gather(client.map(abs, range(50)))
        client.submit(cross_join, 4_000_000).result()


@failure("task-memory-error", names=["MemoryError", "read_all"])
def an_address_space_that_is_limited(stage: Stage) -> None:
    def read_all(megabytes: int) -> int:
        return len([bytearray(1 << 20) for _ in range(megabytes)])

    # As on login nodes and batch systems: ulimit -v.
    with stage.started(1, "--memory-limit", "0", shell="ulimit -v 3000000") as (c, _):
        c.submit(read_all, 8_000).result()


@failure(
    "task-memory-error",
    names=["Unable to allocate|MemoryError", "pivot"],
    accepted="workers died seven times before a task raised",
    held_out="first",
)
def a_pivot_of_too_many_values(stage: Stage) -> None:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def pivot(frame: pd.DataFrame) -> pd.DataFrame:
        rows = np.arange(3_000_000)
        return pd.DataFrame(index=rows, columns=rows, dtype="f8").fillna(0).head(0)

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"a": range(100)}), npartitions=4)
        frame.map_partitions(pivot, meta={"a": "f8"}).compute()


@failure("task-memory-error", names=["TiB|GiB", "cross_join"], held_out="second")
def a_cross_join_of_two_frames(stage: Stage) -> None:
    def cross_join(left: pd.DataFrame, right: pd.DataFrame) -> int:
        return len(left.merge(right, how="cross"))

    def some(rows: int) -> pd.DataFrame:
        return pd.DataFrame({"a": np.arange(rows, dtype="int8")})

    with stage.local(2) as client:
        left = client.submit(some, 4_000_000)
        client.submit(cross_join, left, client.submit(some, 3_000_000)).result()


@dataclass
class Mesh:
    """A mesh of finite elements."""

    cells: int

    def stiffness(self, part: int) -> Any:
        """Return the matrix of a part; all of it, as it is not sparse."""
        matrix = np.zeros((self.cells, self.cells))
        matrix[part % self.cells, part % self.cells] = 1
        return matrix


@failure(
    "task-memory-error",
    names=["stiffness|assemble", "allocate|TiB|memory"],
    noise="a worker that was killed before, and hurt nobody",
    held_out="third: deaths",
)
def a_matrix_is_not_sparse(stage: Stage) -> None:
    def assemble(part: int, cells: int) -> float:
        return float(Mesh(cells).stiffness(part).trace())

    with stage.local(2) as client:
        client.gather(client.map(assemble, range(8), cells=100))
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        time.sleep(6)
        client.wait_for_workers(2, timeout=30)
        finer = client.map(assemble, range(8, 16), cells=700_000, retries=1)
        wait(finer)
        client.gather(finer)


class RegriddingError(Exception):
    """A field could not be brought onto another grid."""


@failure(
    "task-memory-error",
    "task-exception",
    names=["regrid", "RegriddingError", "allocate|MemoryError"],
    why="the exception is the user's own, its cause a MemoryError: both are right",
    held_out="third: deaths",
)
def a_memory_error_is_wrapped_by_the_library(stage: Stage) -> None:
    def regrid(block: Any, scale: int = 1) -> Any:
        try:
            return np.repeat(block, scale, axis=0)[: block.shape[0]]
        except MemoryError as error:
            message = (
                f"Das Feld {block.shape} passt nicht auf das Zielgitter, {scale}fach"
            )
            raise RegriddingError(message) from error

    with stage.local(2, threads_per_worker=2):
        field = da.ones((2_000, 2_000), chunks=(500, 2_000))
        field.map_blocks(regrid, scale=10**7, dtype=float).mean().compute()


@failure(
    "task-memory-error", names=["malloc|allocat", "buffered"], held_out="third: tasks"
)
def arrow_cannot_allocate(stage: Stage) -> None:
    def buffered(rows: int) -> int:
        buffer = pa.lib.allocate_buffer(rows * 8)
        return int(buffer.size)

    with stage.local(2) as client:
        client.gather(client.map(buffered, [10, 1000, 100_000, 2**47]))


@failure(
    "task-memory-error",
    "task-exception",
    names=["allocate", "TileError|tile"],
    why="a memory error that the user's code wraps into an exception of its own",
    held_out="fourth: tasks",
)
def a_memory_error_is_wrapped_by_the_job(stage: Stage) -> None:
    def mosaic(tile: str, width: int) -> float:
        try:
            return float(np.ones((width, width)).sum())
        except MemoryError as error:
            raise TileError(tile, f"too wide ({width})") from error

    with stage.local(2):
        widths = [10, 100, 1000, 10_000_000, 200]
        parts = [delayed(mosaic)(f"t{n}", width) for n, width in enumerate(widths)]
        dask.compute(*parts)


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


@failure(
    "workers-paused",
    names="paused",
    hang=True,
    settings={
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.terminate": False,
    },
    held_out="first",
)
def results_are_kept_and_spilling_is_off(stage: Stage) -> None:
    import numpy as np

    def tile(seed: int) -> Any:
        time.sleep(0.2)
        return np.random.default_rng(seed).random(4_000_000)

    with stage.local(2, memory_limit="450MiB") as client:
        tiles = client.map(tile, range(40))
        wait(tiles, timeout=20)


@failure(
    "workers-paused",
    names=["paused"],
    hang=True,
    settings={
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.spill": False,
    },
    held_out="second",
)
def a_library_leaks_native_memory(stage: Stage) -> None:
    def unpack(number: int) -> int:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.malloc.argtypes = [ctypes.c_size_t]
        block = libc.malloc(60 * 2**20)
        ctypes.memset(block, 1, 60 * 2**20)
        time.sleep(0.5)
        return number

    with stage.local(2, memory_limit="450MiB") as client:
        frame = client.map(unpack, range(40))
        for done in as_completed(frame, timeout=25):
            done.result()


@failure(
    "workers-paused",
    names="paus",
    hang=True,
    settings={
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.terminate": False,
    },
    bound=70,
    held_out="third: deaths",
)
def an_array_is_persisted_without_spilling(stage: Stage) -> None:
    def slowly(block: Any) -> Any:
        time.sleep(0.2)
        return block + 1

    with stage.local(2, memory_limit="450MiB") as client:
        field = da.ones((600, 500, 500), chunks=(8, 500, 500)).map_blocks(slowly)
        kept = client.persist(field)
        wait(kept, timeout=35)


def _run(client: Client, function: Callable[..., Any], address: str) -> None:
    client.run(function, workers=[address])


@failure(
    "workers-paused",
    names="paus",
    hang=True,
    settings={"distributed.worker.memory.terminate": False},
    noise="a task raised and was retried; the other worker was retired",
    bound=45,
    held_out="third: deaths",
)
def the_last_worker_is_filled_by_a_plugin_of_the_user(stage: Stage) -> None:
    def warm_up(dask_worker: Any) -> None:
        dask_worker.tables = [np.ones(12_000_000) for _ in range(5)]

    def ask(number: int) -> int:
        worker: Any = get_worker()
        if number == 0 and not hasattr(worker, "tried"):
            worker.tried = True
            raise TimeoutError("вычисление не удалось: попробуйте ещё раз")
        time.sleep(0.2)
        return number

    with stage.local(2, memory_limit="560MiB", threads_per_worker=2) as client:
        gone, left = client.scheduler_info()["workers"]
        futures = client.map(ask, range(200), retries=1)
        client.retire_workers([gone])
        later(1.5, partial(_run, client, warm_up, left))
        client.gather(futures)
