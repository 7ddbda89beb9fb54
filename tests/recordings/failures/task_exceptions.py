"""Tasks that raise an exception."""

from __future__ import annotations

import asyncio
import operator
import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import (
    Client,
    LocalCluster,
    Queue,
    Variable,
    as_completed,
    get_client,
    get_worker,
    wait,
    worker_client,
)
from failures.shared_parts import drawn, kill
from staging import Stage, delayed, failure, until


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
            recording(client, store=stage.store, job=stage.name, run_id="recorded"),
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


@failure("task-exception", names=["TypeError|NoneType", "score"], held_out="first")
def an_executor_of_futures(stage: Stage) -> None:
    def score(number: int) -> Any:
        return None if number != 7 else None + number  # type: ignore[operator]

    with stage.local(2) as client, client.get_executor() as pool:
        list(pool.map(score, range(20)))


@failure("task-exception", names=["CalledProcessError", "transcode"], held_out="first")
def a_child_of_a_task_is_killed(stage: Stage) -> None:
    def transcode(number: int) -> int:
        text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        subprocess.run([sys.executable, "-c", text], check=True)
        return number

    with stage.started(2) as (client, _):
        client.gather(client.map(transcode, range(4)))


class MuteError(RuntimeError):
    """Cannot say what it is about."""

    def __str__(self) -> str:
        return str(self.args[0]["detail"])


@failure("task-exception", names=["MuteError", "enrich"], held_out="second")
def an_exception_whose_text_raises(stage: Stage) -> None:
    def enrich(number: int) -> int:
        if number == 5:
            raise MuteError("no detail here")
        return number

    with stage.local(2) as client:
        client.gather(client.map(enrich, range(10)))


class CodedError(Exception):
    """Needs two arguments, and gives one to its base: it cannot be unpickled."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"E{code}: {text}")


@failure("task-exception", names=["CodedError|E42", "charge", "E42"], held_out="second")
def an_exception_that_cannot_be_unpickled(stage: Stage) -> None:
    @delayed
    def charge(number: int) -> int:
        if number == 3:
            raise CodedError(42, "card refused")
        return number

    with stage.started(2):
        dask.compute(*[charge(n) for n in range(6)])


@failure(
    "task-exception", names=["Group", "fetch_page", "status 503"], held_out="second"
)
def a_group_of_exceptions(stage: Stage) -> None:
    async def fetch_page(number: int) -> int:
        await asyncio.sleep(0.05)
        problems = [ConnectionError(f"page {number}: status 503"), TimeoutError("late")]
        if number == 2:
            raise ExceptionGroup("2 of 7 pages failed", problems)
        return number

    with stage.local(2) as client:
        client.gather(client.map(fetch_page, range(4)))


@failure(
    "task-exception",
    names=["KeyError", "load_page", "next_token"],
    allowed=2,
    held_out="second",
)
def retries_end_with_another_error(stage: Stage) -> None:
    def load_page(folder: str, number: int) -> dict[str, int]:
        tries = Path(folder) / f"tries-{number}"
        count = len(tries.read_text()) if tries.exists() else 0
        tries.write_text("x" * (count + 1))
        if number == 6 and count < 2:
            raise ConnectionResetError("peer reset the connection")
        answer = {"page": number}
        return {"next": answer["next_token"]} if number == 6 else answer

    with stage.local(2) as client:
        made = [
            client.submit(load_page, str(stage.folder), n, retries=4) for n in range(8)
        ]
        client.gather(made)


@failure("task-exception", names=["ZeroDivisionError", "ratio"], held_out="second")
def a_client_inside_of_a_task(stage: Stage) -> None:
    def ratio(number: int) -> float:
        return 1 / (number - 3)

    def season(year: int) -> float:
        with worker_client() as client:
            return float(sum(client.gather(client.map(ratio, range(year)))))

    with stage.local(2) as client:
        client.submit(season, 6).result()


@failure(
    "task-exception",
    names=["LookupError", "tariff_of"],
    how="command",
    held_out="second",
)
def an_asynchronous_driver_meets_a_failing_task(stage: Stage) -> None:
    def tariff_of(zone: str) -> float:
        raise LookupError(f"no tariff for zone {zone}")

    async def main() -> None:
        async with Client(
            asynchronous=True, n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as client:
            future = client.submit(tariff_of, "B7")
            await future

    asyncio.run(main())


@failure("task-exception", names=["IndexError", "pick"], held_out="second")
def a_cluster_of_threads(stage: Stage) -> None:
    @delayed
    def pick(rows: list[int], at: int) -> int:
        return rows[at]

    with stage.local(1, processes=False, threads_per_worker=2):
        dask.compute(*[pick([1, 2, 3], n) for n in range(5)])


@failure(
    "task-exception", names=["UnicodeDecodeError", "decode_line"], held_out="second"
)
def a_variable_hands_on_what_failed(stage: Stage) -> None:
    def decode_line(raw: bytes) -> str:
        return raw.decode("ascii")

    def consume(name: str) -> str:
        client = get_client()
        text: str = Variable(name, client=client).get(timeout=10).result()
        return text

    with stage.local(2) as client:
        Variable("latest").set(client.submit(decode_line, b"caf\xc3\xa9"))
        client.submit(consume, "latest").result(timeout=20)


class QuotaExceededError(Exception):
    """A service that the case asks says no."""


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
    held_out="third: tasks",
)
def pages_are_fetched_in_a_task_group(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        done = client.map(pages_of, range(8))
        client.submit(reduce, operator.add, done).result()


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


@failure(
    "task-exception",
    names=["SchemaErrors", "price", "validated"],
    held_out="third: tasks",
)
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


@failure(
    "task-exception",
    names=["OperationalError", "load_day", "unable to open"],
    held_out="third: tasks",
)
def a_password_stands_in_the_message(stage: Stage) -> None:
    dsn = "postgresql://etl:tr0ub4dor-and-3@warehouse.internal:5432/sales"
    with stage.started(2) as (client, _):
        client.gather([client.submit(load_day, day, dsn) for day in range(8)])


def first_header(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("#"))


@failure(
    "task-exception", names=["StopIteration", "first_header"], held_out="third: tasks"
)
def a_stop_iteration_in_a_task(stage: Stage) -> None:
    with stage.local(2) as client:
        files = [["# a", "1"], ["# b", "2"], ["3", "4"], ["# d"]]
        headers = [delayed(first_header)(each) for each in files]
        client.compute(delayed(", ".join)(headers)).result()


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
    "task-exception",
    names=["KeyError", "customer_id", "flaky", "3|third|attempts"],
    held_out="third: tasks",
)
def each_attempt_fails_in_another_way(stage: Stage) -> None:
    with stage.local(2) as client:
        client.gather(client.map(flaky, range(12), tries=str(stage.folder), retries=2))


@failure(
    "task-exception",
    "driver-exception",
    names=["TileError|sea-", "9|drawn"],
    why="the driver counts failed tasks and raises an error of its own",
    held_out="third: tasks",
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


async def _awaited(future: Any) -> Any:
    return await future


@failure(
    "task-exception", names=["TileError", "sea-3", "drawn"], held_out="third: tasks"
)
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


class ModelNotLoadedError(Exception):
    """A worker was to have a model, and has none."""


def load_model(path: str, dask_worker: Any) -> None:
    dask_worker.model = path


def predict(number: int) -> int:
    time.sleep(0.25)
    model = getattr(get_worker(), "model", None)
    if model is None:
        raise ModelNotLoadedError(f"no model to predict number {number} with")
    return len(model) + number


@failure(
    "task-exception",
    "worker-signalled",
    names=["ModelNotLoadedError", "predict"],
    why="a worker is killed from outside; its replacement lacks what the first was given",
    held_out="third: tasks",
)
def a_model_is_gone_with_its_worker(stage: Stage) -> None:
    with stage.local(2) as client:
        loaded = client.run(load_model, "churn-v3.pkl")
        futures = client.map(predict, range(60))
        until(lambda: sum(each.done() for each in futures) > 5)
        kill(client.run(os.getpid, workers=[next(iter(loaded))]).popitem()[1])
        client.gather(futures)


@failure(
    "task-exception",
    names=["CancelledError|cancelled", "polled"],
    held_out="third: tasks",
)
def a_task_cancels_a_coroutine_of_its_own(stage: Stage) -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def both() -> None:
        polling = asyncio.create_task(forever())
        await asyncio.sleep(0.3)
        polling.cancel()
        await polling

    def polled(number: int) -> int:
        if number == 4:
            asyncio.run(both())
        return number

    with stage.local(2) as client:
        client.submit(sum, client.map(polled, range(8))).result(timeout=25)


class Ledger:
    """An actor."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}

    def book(self, account: str, amount: int) -> int:
        self.sums[account] = self.sums.get(account, 0) + amount
        if self.sums[account] < 0:
            raise ArithmeticError(f"account {account} is overdrawn")
        return self.sums[account]


@failure(
    "task-exception",
    "driver-exception",
    names=["ArithmeticError", "book|overdrawn"],
    why="methods of actors are no tasks of the graph, but run on a worker",
    held_out="third: tasks",
)
def a_ledger_of_an_actor_is_overdrawn(stage: Stage) -> None:
    with stage.local(2) as client:
        ledger: Any = client.submit(Ledger, actor=True).result()
        for amount in (10, 20, -25, -30, 40):
            ledger.book("rent", amount).result()


@failure(
    "task-exception",
    names=["OSError|IOError", "checksum", "stored"],
    held_out="third: tasks",
)
def a_delayed_chain_fails_at_its_very_end(stage: Stage) -> None:
    def sliced(number: int) -> Any:
        time.sleep(0.9)
        return np.full(10_000, number)

    def stored(parts: list[Any]) -> int:
        total = int(sum(part.sum() for part in parts))
        if total % 7:
            raise OSError(f"checksum {total % 7} of the upload is not 0")
        return total

    with stage.started(3, "--no-nanny") as (client, _):
        parts = [delayed(sliced)(n) for n in range(51)]
        client.compute(delayed(stored)(parts), sync=True)


def converted(path: str) -> int:
    script = f"import os; os.kill(os.getpid(), 9 if {path[-1]!r} == '7' else 0)"
    subprocess.run([sys.executable, "-c", script], check=True)
    return len(path)


@failure(
    "task-exception",
    names=["CalledProcessError", "SIGKILL", "converted"],
    held_out="fourth: tasks",
)
def a_tool_that_a_task_starts_is_killed(stage: Stage) -> None:
    with stage.local(2) as client:
        paths = [f"/data/raw/scene-{n}" for n in range(10)]
        list(client.get_executor(pure=False).map(converted, paths))


@dataclass(frozen=True)
class Order:
    """One line of a shop's book."""

    number: int
    price: float


def leaf(order: Order) -> float:
    return 100 / order.price


def totals(orders: list[Order]) -> float:
    with worker_client() as client:
        found: list[float] = client.gather(client.map(leaf, orders, pure=False))
        return sum(found)


@failure(
    "task-exception", names=["ZeroDivisionError", "leaf"], held_out="fourth: tasks"
)
def a_task_of_a_task_raises(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        books = [[Order(n, n - 7.0) for n in range(k, k + 4)] for k in (0, 4, 8)]
        client.gather(client.map(totals, books))


def consumed(name: str) -> int:
    queue: Any = Queue(name)
    return int(queue.get(timeout=10)) + 1


@failure(
    "task-exception",
    names=["ValueError", "invalid literal", "consumed"],
    held_out="fourth: tasks",
)
def a_queue_hands_a_wrong_thing_to_a_task(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2) as client:
        queue: Any = Queue("orders")
        futures = [client.submit(consumed, "orders", pure=False) for _ in range(3)]
        for each in ("1", "2", "n/a"):
            time.sleep(0.5)
            queue.put(each)
        client.gather(futures)


@failure(
    "task-exception",
    "worker-signalled",
    names=["FileExistsError", "exported"],
    why="a worker is killed while it writes, and the second attempt finds its file",
    held_out="fourth: tasks",
)
def a_second_attempt_finds_what_the_first_left(stage: Stage) -> None:
    def exported(shop: int, folder: str) -> str:
        path = Path(folder) / f"shop-{shop}.csv"
        with path.open("x") as file:
            for row in range(20):
                file.write(f"{shop},{row}\n")
                file.flush()
                time.sleep(0.1)
        return str(path)

    with stage.started(2) as (client, _):
        futures = client.map(exported, range(4), folder=str(stage.folder))
        until(lambda: len(list(stage.folder.glob("shop-*.csv"))) > 1)
        kill(client.run(os.getpid).popitem()[1])
        client.gather(futures)


@failure(
    "task-exception", names=["InvalidOperation", "to_money", "not a decimal number"]
)
def an_amount_has_a_decimal_comma(stage: Stage) -> None:
    def to_money(amount: str) -> Decimal:
        return Decimal(amount)

    with stage.local() as client:
        client.gather(client.map(to_money, ["3.20", "7.00", "12,50"]))
