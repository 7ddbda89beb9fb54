"""A third set held out: tasks that raise, each in a way that people meet.

Written by somebody who had read no rule and no story of the other sets.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import json
import operator
import sqlite3
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pyarrow as pa
from distributed import Client, Queue, as_completed, worker_client
from staging import Stage, delayed
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: tasks")
afterwards = partial(any_failure, held_out="fourth: tasks")  # reported after mending

Block = Any


class QuotaExceededError(Exception):
    """A service that the story asks says no."""


class TileError(Exception):
    """A tile of a map that cannot be drawn."""

    def __init__(self, tile: str, reason: str) -> None:
        super().__init__(f"tile {tile}: {reason}")
        self.tile = tile


@dataclass(frozen=True)
class Order:
    """One line of a shop's book."""

    number: int
    price: float


async def _fetch(page: int) -> int:
    await asyncio.sleep(0.05)
    if page in {31, 33}:
        raise QuotaExceededError(f"page {page}: 429, the quota of today is used up")
    return page


async def _fetch_all(pages: list[int]) -> list[int]:
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_fetch(page)) for page in pages]
    return [each.result() for each in asked]


def pages_of(batch: int) -> list[int]:
    return asyncio.run(_fetch_all(list(range(batch * 10, batch * 10 + 10))))


@failure(
    "task-exception",
    names=["QuotaExceededError|page 31|quota", "pages_of", "TaskGroup"],
)
def pages_are_fetched_in_a_task_group(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        done = client.map(pages_of, range(8))
        client.submit(reduce, operator.add, done).result()


def smoothed(block: Block) -> Block:
    assert block.min() >= 0
    return block + np.roll(block, 1, axis=0)


@failure("task-exception", names=["AssertionError", "smoothed"])
def an_assertion_without_a_word_in_map_overlap(stage: Stage) -> None:
    with stage.local(3) as client:
        image = da.random.random((1200, 1200), chunks=(200, 200))
        image[833, 421] = -1
        persisted = client.persist(image.map_overlap(smoothed, depth=2, dtype=float))
        persisted.sum().compute()


class SchemaErrors(Exception):  # noqa: N818 - as it is called elsewhere
    """As libraries that check frames raise: a table of all that is wrong."""

    def __init__(self, rows: list[tuple[int, str]]) -> None:
        self.rows = rows
        super().__init__(rows)

    def __str__(self) -> str:
        table = "\n".join(f"{n:>9}  price   größer_als_null  {v}" for n, v in self.rows)
        return f"{len(self.rows)} Fehler: Spalte „price“:\n\n   Zeile  Spalte\n{table}"


def validated(batch: int) -> int:
    time.sleep(0.2)
    if batch == 11:
        raise SchemaErrors([(n, f"{-n / 7:.12f} €") for n in range(25_000)])
    return batch


@failure("task-exception", names=["SchemaErrors", "price", "validated"])
def a_validation_lists_all_its_failures(stage: Stage) -> None:
    with stage.local(2) as client:
        for future in as_completed(client.map(validated, range(16))):
            future.result()


class OperationalError(Exception):
    """As drivers of databases raise."""


def load_day(day: int, dsn: str) -> int:
    if day < 6:
        time.sleep(0.4)
        return day
    try:
        sqlite3.connect("/nowhere/at/all.db")
    except sqlite3.OperationalError as error:
        raise OperationalError(f"could not connect to {dsn}: {error}") from error
    return 0


@failure("task-exception", names=["OperationalError", "load_day", "unable to open"])
def a_password_stands_in_the_message(stage: Stage) -> None:
    dsn = "postgresql://etl:tr0ub4dor-and-3@warehouse.internal:5432/sales"
    with stage.started(2) as (client, _):
        client.gather([client.submit(load_day, day, dsn) for day in range(8)])


def first_header(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("#"))


@failure("task-exception", names=["StopIteration", "first_header"])
def a_stop_iteration_in_a_task(stage: Stage) -> None:
    with stage.local(2) as client:
        files = [["# a", "1"], ["# b", "2"], ["3", "4"], ["# d"]]
        headers = [delayed(first_header)(each) for each in files]
        client.compute(delayed(", ".join)(headers)).result()


async def _ask(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


def scored(seconds: float) -> float:
    return asyncio.run(asyncio.wait_for(_ask(seconds), timeout=0.5))


@failure("task-exception", names=["TimeoutError", "scored"], noise="a worker leaves")
def a_timeout_inside_of_a_task(stage: Stage) -> None:
    with stage.local(3) as client:
        client.submit(time.sleep, 0.1, pure=False).result()
        gone = next(iter(client.scheduler_info()["workers"]))
        client.retire_workers([gone])
        seconds = [0.05, 0.1, 0.15, 0.2, 30.0, 0.25]
        client.gather(client.map(scored, seconds))


def converted(path: str) -> int:
    script = f"import os; os.kill(os.getpid(), 9 if {path[-1]!r} == '7' else 0)"
    subprocess.run([sys.executable, "-c", script], check=True)
    return len(path)


@afterwards("task-exception", names=["CalledProcessError", "SIGKILL", "converted"])
def a_tool_that_a_task_starts_is_killed(stage: Stage) -> None:
    with stage.local(2) as client:
        paths = [f"/data/raw/scene-{n}" for n in range(10)]
        list(client.get_executor(pure=False).map(converted, paths))


def all_cores(number: int) -> int:
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        return sum(pool.map(abs, range(-number, number)))


@failure("task-exception", names=["daemonic", "all_cores"])
def a_pool_of_processes_in_a_task(stage: Stage) -> None:
    with stage.local(2):
        db.from_sequence(range(1, 9), npartitions=4).map(all_cores).sum().compute()


def flaky(number: int, tries: str) -> int:
    seen = Path(tries) / f"try-{number}"
    count = len(seen.read_text()) if seen.exists() else 0
    seen.write_text("x" * (count + 1))
    time.sleep(0.3)
    if number == 5 and count == 0:
        raise ConnectionResetError(104, "Connection reset by peer")
    if number == 5 and count == 1:
        raise TimeoutError("the warehouse did not answer in 30 s")
    if number == 5:
        raise KeyError("customer_id")
    return number


@failure(
    "task-exception", names=["KeyError", "customer_id", "flaky", "3|third|attempts"]
)
def each_attempt_fails_in_another_way(stage: Stage) -> None:
    with stage.local(2) as client:
        client.gather(client.map(flaky, range(12), tries=str(stage.folder), retries=2))


def drawn(tile: str) -> str:
    time.sleep(0.1)
    if tile.startswith("sea"):
        raise TileError(tile, "nothing to draw")
    if tile == "land-14":
        raise ZeroDivisionError("float division by zero")
    return tile


@failure(
    "task-exception",
    names=["ZeroDivisionError", "drawn"],
    noise="tasks that raise what is caught",
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
    "driver-exception",
    names=["TileError|sea-", "9|drawn"],
    why="the driver counts failed tasks and raises an error of its own",
)
def the_driver_counts_failures_and_gives_up(stage: Stage) -> None:
    tiles = [f"land-{n}" for n in range(10)] + [f"sea-{n}" for n in range(9)]
    with stage.local(2) as client:
        futures = client.map(drawn, tiles)
        failed = {}
        for future, tile in zip(futures, tiles, strict=True):
            if (error := future.exception()) is not None:
                failed[tile] = error
        if len(failed) > len(tiles) // 4:
            raise RuntimeError(f"{len(failed)} of {len(tiles)} tiles are missing")


def growth(block: Block) -> Block:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.exp(block)


@afterwards("task-exception", names=["RuntimeWarning", "overflow", "growth"])
def a_warning_is_an_error(stage: Stage) -> None:
    with stage.local(2, processes=False) as client:
        values = da.arange(0, 900, chunks=100).astype(float)
        client.compute(values.map_blocks(growth, dtype=float).mean()).result()


def record_of(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


@afterwards("task-exception", names=["JSONDecodeError", "Expecting|delimiter|char"])
def one_broken_line_in_a_bag_of_json(stage: Stage) -> None:
    for part in range(6):
        lines = [json.dumps({"id": n, "amount": n * part}) for n in range(200)]
        if part == 4:
            lines[77] = lines[77][:-6]
        (stage.folder / f"events-{part}.json").write_text("\n".join(lines))
    with stage.local(2) as client:
        records = db.read_text(str(stage.folder / "events-*.json")).map(record_of)
        large = records.filter(lambda each: each["amount"] > 50).pluck("id")
        client.compute(large.frequencies()).result()


def leaf(order: Order) -> float:
    return 100 / order.price


def totals(orders: list[Order]) -> float:
    with worker_client() as client:
        found: list[float] = client.gather(client.map(leaf, orders, pure=False))
        return sum(found)


@afterwards("task-exception", names=["ZeroDivisionError", "leaf"])
def a_task_of_a_task_raises(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        books = [[Order(n, n - 7.0) for n in range(k, k + 4)] for k in (0, 4, 8)]
        client.gather(client.map(totals, books))


@failure("task-exception", names=["TileError", "sea-3", "drawn"])
def an_asynchronous_driver_awaits_in_a_task_group(stage: Stage) -> None:
    async def main(address: str) -> None:
        async with (
            Client(address, asynchronous=True) as client,
            asyncio.TaskGroup() as group,
        ):
            for tile in ["land-1", "land-2", "sea-3", "land-4"]:
                group.create_task(_awaited(client.submit(drawn, tile)))

    with stage.local(2) as client:
        address = str(client.scheduler_info()["address"])
        asyncio.run(main(address))


async def _awaited(future: Any) -> Any:
    return await future


@failure("task-memory-error", names=["malloc|allocat", "buffered"])
def arrow_cannot_allocate(stage: Stage) -> None:
    def buffered(rows: int) -> int:
        buffer = pa.lib.allocate_buffer(rows * 8)
        return int(buffer.size)

    with stage.local(2) as client:
        client.gather(client.map(buffered, [10, 1000, 100_000, 2**47]))


@afterwards(
    "task-memory-error",
    "task-exception",
    names=["allocate", "TileError|tile"],
    why="a memory error that the user's code wraps into an exception of its own",
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


@failure("worker-exit", names=["code 2|status 2", "parsed"])
def a_command_line_is_parsed_in_a_task(stage: Stage) -> None:
    def parsed(words: list[str]) -> str:
        parser = argparse.ArgumentParser(prog="etl")
        parser.add_argument("--day", type=int, required=True)
        return str(parser.parse_args(words))

    with stage.local(2) as client:
        lines = [["--day", "1"], ["--day", "2"], ["--day", "tuesday"]]
        client.gather([client.submit(parsed, each, pure=False) for each in lines])


@afterwards(
    "worker-exit",
    "stalled",
    names=["SystemExit|exit"],
    bound=40,
    hang=True,
    why="it ends the event loop of a cluster of threads, and nothing runs any more",
    accepted="not known: the loop dies with the thread",
)
def a_task_exits_in_a_thread_of_the_driver(stage: Stage) -> None:
    def checked(row: int) -> int:
        if row == 13:
            sys.exit("row 13 is not valid")
        return row

    with stage.local(1, threads_per_worker=2, processes=False) as client:
        client.gather(client.map(checked, range(20)))


def consumed(name: str) -> int:
    queue: Any = Queue(name)
    return int(queue.get(timeout=10)) + 1


@afterwards("task-exception", names=["ValueError", "invalid literal", "consumed"])
def a_queue_hands_a_wrong_thing_to_a_task(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        queue: Any = Queue("orders")
        futures = [client.submit(consumed, "orders", pure=False) for _ in range(3)]
        for each in ("1", "2", "n/a"):
            time.sleep(0.5)
            queue.put(each)
        client.gather(futures)
