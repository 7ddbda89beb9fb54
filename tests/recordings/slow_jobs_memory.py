"""Jobs that need much memory or repeat work, and nights unlike others."""

from __future__ import annotations

import functools
import os
import random
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, get_worker, wait
from slow_jobs import _dies_while, after, block_of, python_loop

Block = Any
MIB = 2**20


# Memory and disk


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


# Done again


def a_frame_asked_thrice(client: Client, data: Path) -> None:
    def parse(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(y=python_loop(len(part), 900_000))

    frame = dd.read_parquet(data / "x", columns=["id4", "v3"])
    frame = frame.map_partitions(parse, meta=frame._meta.assign(y=1.0))
    parts = frame.to_delayed(optimize_graph=False)
    for fold in (len, lambda p: p.v3.sum(), lambda p: p.y.max()):
        dask.compute(*[dask.delayed(fold)(part) for part in parts])


def a_frame_held(client: Client, data: Path) -> None:
    def parse(part: pd.DataFrame) -> pd.DataFrame:
        return part.assign(y=python_loop(len(part), 900_000))

    frame = dd.read_parquet(data / "x", columns=["id4", "v3"])
    frame = frame.map_partitions(parse, meta=frame._meta.assign(y=1.0)).persist()
    dask.compute(frame.v3.sum(), frame.y.max(), frame.shape[0])


def held_until_a_restart(client: Client, data: Path) -> None:
    """What was held is lost with a worker that is restarted on purpose."""
    held = client.map(functools.partial(python_loop, steps=900_000), range(30))
    wait(held)
    client.restart_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])
    client.gather(held)


def an_exit_that_nobody_sees(client: Client, data: Path) -> None:
    mark = data / "out-mark"

    def once(number: int) -> float:
        if number == 7 and not mark.exists():
            mark.mkdir()
            os._exit(3)
        return python_loop(number)

    client.gather(client.map(once, range(30)))


def too_much_the_first_time(client: Client, data: Path) -> None:
    """A task takes all of the memory once; its second try has less to do."""
    mark = data / "out-mark"

    def once(number: int) -> int:
        held: list[Any] = []
        if number == 3 and not mark.exists():
            mark.mkdir()
            while True:
                held.append(bytearray(os.urandom(1024)) * (8 * 1024))
                time.sleep(0.02)
        return int(python_loop(number))

    client.gather(client.map(once, range(20)))


def retired_while_it_shuffles(client: Client, data: Path) -> None:
    """The cluster is scaled down in the middle of a join."""

    def retire(client: Client) -> None:
        client.retire_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])

    items, orders = dd.read_parquet(data / "items"), dd.read_parquet(data / "orders")
    joined = items.merge(orders, on="order", shuffle_method="p2p", broadcast=False)
    _dies_while(client, "hash-join", lambda: joined.price.sum().compute(), retire)


def rechunked_with_a_loss(client: Client, data: Path) -> None:
    with dask.config.set({"array.rechunk.method": "p2p"}):
        x = da.random.random((9_000, 9_000), chunks=(-1, 300)).rechunk((300, -1))
    _dies_while(client, "rechunk", lambda: x.std().compute())


def limits_of_the_whole_host(client: Client, data: Path) -> None:
    client.gather(client.map(python_loop, range(20)))


def a_service_that_fails_at_times(client: Client, data: Path) -> None:
    chance = random.Random(3)
    seeds = [chance.random() for _ in range(60)]

    def fetch(number: int, seed: float) -> int:
        tried = vars(get_worker()).setdefault("tried", set())
        if seed < 0.3 and number not in tried:
            tried.add(number)
            raise ConnectionResetError(f"the service hung up on {number}")
        return int(python_loop(number, 20_000))

    with dask.annotate(retries=6):
        parts = [dask.delayed(fetch)(n, seed) for n, seed in enumerate(seeds)]
    dask.compute(*parts, optimize_graph=False)


def one_name_for_all_days(client: Client, data: Path) -> None:
    """Delayed tasks with a name of one's own, and other inputs than before."""

    def load(day: str) -> str:
        time.sleep(0.2)
        return day

    def total(day: str) -> int:
        return len(day)

    monday = dask.delayed(load)("monday", dask_key_name="load-monday")
    first = dask.delayed(total)(monday, dask_key_name="total").persist()
    wait(first)
    tuesday = dask.delayed(load)("tuesday", dask_key_name="load-tuesday")
    second = dask.delayed(total)(tuesday, dask_key_name="total").compute()
    assert second == first.compute()


def a_pattern_of_no_file(client: Client, data: Path) -> None:
    frame = dd.read_parquet(data / "x" / "2027-*.parquet")
    assert len(frame.compute()) == 0


def night_of_orders(client: Client, data: Path, *, rows: int = 1) -> None:
    """Orders are read from the day's file; one night it holds its header only."""
    folder = data / "out-orders"
    folder.mkdir()
    numbers = np.arange(rows * 60_000)
    frame = pd.DataFrame({"order": numbers, "paid": numbers * 0.5, "note": "as agreed"})
    frame.to_csv(folder / "day.csv", index=False)
    dd.read_csv(str(folder / "*.csv")).paid.sum().compute()


def night_of_paths(client: Client, data: Path, *, slow: int = 1) -> None:
    """The same paths each night; one night a slower library is below."""
    loop = functools.partial(python_loop, steps=150_000 * slow)
    client.gather(client.map(loop, range(40), pure=False))


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
