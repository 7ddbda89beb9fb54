"""Jobs that need more memory than their workers have: spilling, leaks, large chunks, limits."""

from __future__ import annotations

import functools
import os
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, get_worker, wait
from work import MIB, Block, added, after, block_of, packed, python_loop


def chunks_of_a_third_of_a_worker(client: Client, data: Path) -> None:
    """Pieces of 330 MiB on a worker of 1 GiB, which spills them."""
    kept = client.map(block_of, range(5), [330] * 5)
    wait(kept)
    client.gather(client.map(added_up, kept))


def added_up(block: Block) -> float:
    return float(block.sum())


def held_array(client: Client, data: Path) -> None:
    x = da.random.random((12_000, 12_000), chunks=(1_500, 1_500)).persist()
    wait(x)
    for _ in range(2):
        (x + 1).mean().compute()


def held_frame(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x")
    wide = dd.concat([x.assign(w=n) for n in range(8)]).persist()
    wait(wide)
    wide.groupby("id4")["v3"].mean().compute()


def ran_ahead(client: Client, data: Path) -> None:
    """Everything is read before anything is reduced."""
    blocks = [client.submit(block_of, n, pure=False) for n in range(80)]
    sums = [client.submit(lambda b: after(b, 1, 0.3), b, pure=False) for b in blocks]
    del blocks
    client.gather(sums)


def ran_ahead_in_array(client: Client, data: Path) -> None:
    def slow_sum(block: Block) -> Block:
        time.sleep(0.3)
        return block.sum(keepdims=True)

    x = da.from_delayed(dask.delayed(block_of)(0), (20 * MIB // 8,), float)
    x = da.concatenate(
        [
            da.from_delayed(dask.delayed(block_of)(n), (20 * MIB // 8,), float)
            for n in range(80)
        ]
    )
    x.map_blocks(slow_sum, chunks=(1,)).sum().compute()


def large_chunks(client: Client, data: Path) -> None:
    x = da.random.random((10_000, 15_000), chunks=(2_500, 10_000))
    (x * 2 + 1).std().compute()


def large_partitions(client: Client, data: Path) -> None:
    def read(number: int) -> pd.DataFrame:
        return pd.DataFrame(np.random.default_rng(number).random((4_000_000, 6)))

    meta = pd.DataFrame(np.zeros((1, 6)))
    ddf = dd.from_map(read, range(8), meta=meta, enforce_metadata=False)
    ddf.map_partitions(lambda part: part * 2).sum().compute()


def _left(client: Client, share: float) -> int:
    """Return how many MiB a worker can take until it has a share of its limit."""
    used = max(client.run(lambda: psutil.Process().memory_info().rss).values())
    limit = client.scheduler_info(n_workers=-1)["workers"]
    least = min(worker["memory_limit"] for worker in limit.values())
    return int(share * least - used) // MIB


def near_the_limit(client: Client, data: Path) -> None:
    def hold(mebibytes: int) -> int:
        held = [bytearray(os.urandom(1024)) * 1024 for _ in range(mebibytes)]
        time.sleep(3)
        return len(held)

    client.submit(hold, _left(client, 0.92)).result()


def near_the_limit_by_results(client: Client, data: Path) -> None:
    number = _left(client, 0.92) // 20
    blocks = client.map(block_of, range(number))
    wait(blocks)
    client.gather(client.map(after, blocks, range(number), seconds=0.2))


_kept: list[Any] = []


def leaky(number: int) -> int:
    """Keep a little of each task for ever."""
    _kept.append(bytearray(os.urandom(1024)) * (6 * 1024))
    time.sleep(0.15)
    return number


def leaking(client: Client, data: Path) -> None:
    client.gather(client.map(leaky, range(160), pure=False))


def leaking_cache(client: Client, data: Path) -> None:
    def looked_up(number: int) -> float:
        cache = vars(time).setdefault("_cache", {})
        cache[number] = np.random.default_rng(number).random(700_000)
        time.sleep(0.1)
        return float(cache[number].sum())

    for n in range(4):
        parts = [dask.delayed(looked_up)(n * 60 + i) for i in range(60)]
        dask.delayed(added)(*parts).compute()


def limit_above_the_host(client: Client, data: Path) -> None:
    client.gather(client.map(packed, range(20)))


def grown_with_too_high_a_limit(client: Client, data: Path) -> None:
    cluster: Any = client.cluster
    client.gather(client.map(packed, range(10)))
    cluster.scale(3)
    client.wait_for_workers(3, timeout=60)
    client.gather(client.map(packed, range(10, 30)))


def texts_held(client: Client, data: Path) -> None:
    """Clicks with their addresses as Python strings, held though they don't fit."""
    frame = dd.read_parquet(data / "clicks")
    held = frame.assign(page=frame.page.astype(object)).persist()
    wait(held)
    for _ in range(2):
        held.groupby("page")["seconds"].mean().compute()


def shuffled_by_tasks(client: Client, data: Path) -> None:
    frame = dd.read_parquet(data / "x")
    wide = dd.concat([frame.assign(**{f"w{n}": 1.5 for n in range(10)})] * 2)
    wait(wide.shuffle("id3", shuffle_method="tasks").persist())


def first_things_first(client: Client, data: Path) -> None:
    """Loading has priority over what makes it small."""
    blocks = [
        client.submit(block_of, n, 24, priority=10, pure=False) for n in range(60)
    ]
    sums = [
        client.submit(lambda b: after(None, len(b), 0.25), b, pure=False)
        for b in blocks
    ]
    del blocks
    client.gather(sums)


def whole_files(client: Client, data: Path) -> None:
    """Each file is one text of hundreds of megabytes, split in memory."""

    def lines(number: int) -> int:
        text = f"a line of file {number} with some words\n" * 1_500_000
        return len([line.upper() for line in text.split("\n")])

    client.gather(client.map(lines, range(8)))


def one_chunk_along_time(client: Client, data: Path) -> None:
    x = da.random.random((400, 500, 600), chunks=(20, 500, 600))
    (x.rechunk({0: -1, 1: 250, 2: 300}) ** 2).std(axis=0).sum().compute()


def grown_frame(client: Client, data: Path) -> None:
    """A frame that grows by pieces until the worker is nearly full, and ends well."""

    def grow(share: float) -> int:
        import psutil

        process, frames = psutil.Process(), []
        limit = get_worker().memory_manager.memory_limit or 0
        while process.memory_info().rss < share * limit:
            frames.append(pd.DataFrame(np.random.default_rng(1).random((100_000, 8))))
        time.sleep(3)
        return len(frames)

    client.submit(grow, 0.915).result()


@functools.cache
def _table_for(day: int) -> Block:
    return np.random.default_rng(day).random(900_000)


def _looked_up(day: int) -> float:
    time.sleep(0.15)
    return float(_table_for(day).sum())


def tables_cached_for_ever(client: Client, data: Path) -> None:
    client.gather(client.map(_looked_up, range(240)))


def kept_by_the_worker(client: Client, data: Path) -> None:
    """Each task leaves its session on the worker object."""

    def work(number: int) -> int:
        sessions = vars(get_worker()).setdefault("sessions", [])
        sessions.append({n: str(n) * 9 for n in range(40_000)})
        time.sleep(0.1)
        return len(sessions)

    parts = [dask.delayed(work)(n) for n in range(170)]
    dask.delayed(max)(parts).compute()


def limits_of_the_whole_host(client: Client, data: Path) -> None:
    client.gather(client.map(python_loop, range(20)))


def night_of_blocks(client: Client, data: Path, *, copies: int = 2) -> None:
    """The same blocks each night; one night the code keeps copies of them."""

    def work(number: int) -> float:
        block = block_of(number, 60)
        held = [block * n for n in range(copies)]
        time.sleep(0.7)
        return float(sum(b[0] for b in held))

    client.gather(client.map(work, range(8), pure=False))


def night_that_grows(client: Client, data: Path, *, mebibytes: int = 200) -> None:
    def work(number: int) -> int:
        held = bytearray(os.urandom(1024)) * 1024 * mebibytes
        time.sleep(0.8)
        return len(held)

    client.gather(client.map(work, range(4), pure=False))


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
