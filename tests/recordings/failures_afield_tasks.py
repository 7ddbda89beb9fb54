"""A second set held out: what tasks raise, return and are made of, as met in the field.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, as_completed, worker_client
from staging import Stage, delayed
from staging import failure as any_failure

failure = partial(any_failure, held_out="second")


class RowsError(ValueError):
    """Carries what cannot travel."""

    def __init__(self, source: str, lock: Any) -> None:
        super().__init__(f"source {source} has 3 bad rows")
        self.lock = lock


class MuteError(RuntimeError):
    """Cannot say what it is about."""

    def __str__(self) -> str:
        return str(self.args[0]["detail"])


class CodedError(Exception):
    """Needs two arguments, and gives one to its base: it cannot be unpickled."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"E{code}: {text}")


@failure("task-exception", names=["RowsError|3 bad rows", "parse_source"])
def an_exception_that_holds_a_lock(stage: Stage) -> None:
    def parse_source(name: str) -> int:
        if name == "s4":
            raise RowsError(name, threading.Lock())
        return len(name)

    with stage.local(2):
        db.from_sequence([f"s{n}" for n in range(8)], npartitions=4).map(
            parse_source
        ).sum().compute()


@failure("task-exception", names=["MuteError", "enrich"])
def an_exception_whose_text_raises(stage: Stage) -> None:
    def enrich(number: int) -> int:
        if number == 5:
            raise MuteError("no detail here")
        return number

    with stage.local(2) as client:
        client.gather(client.map(enrich, range(10)))


@failure("task-exception", names=["CodedError|E42", "charge", "E42"])
def an_exception_that_cannot_be_unpickled(stage: Stage) -> None:
    @delayed
    def charge(number: int) -> int:
        if number == 3:
            raise CodedError(42, "card refused")
        return number

    with stage.started(2):
        dask.compute(*[charge(n) for n in range(6)])


@failure("task-exception", names=["Group", "fetch_page", "status 503"])
def a_group_of_exceptions(stage: Stage) -> None:
    async def fetch_page(number: int) -> int:
        await asyncio.sleep(0.05)
        problems = [ConnectionError(f"page {number}: status 503"), TimeoutError("late")]
        if number == 2:
            raise ExceptionGroup("2 of 7 pages failed", problems)
        return number

    with stage.local(2) as client:
        client.gather(client.map(fetch_page, range(4)))


@failure("task-exception", names=["ValueError", "check_schema", "column 'amount'"])
def a_very_long_message(stage: Stage) -> None:
    def check_schema(frame: pd.DataFrame) -> pd.DataFrame:
        rows = "\n".join(f"row {n}: {n * 3.7!r} is not a date" for n in range(30_000))
        raise ValueError(f"column 'amount' has the wrong type\n{rows}")

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"amount": range(100)}), npartitions=4)
        frame.map_partitions(check_schema, meta=frame._meta).compute()


@failure("task-exception", names=["KeyError", "load_page", "next_token"], allowed=2)
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


@failure("task-exception", names=["OverflowError", "to_cents"], noise="others fail too")
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


@failure("task-exception", names=["ZeroDivisionError", "ratio"])
def a_client_inside_of_a_task(stage: Stage) -> None:
    def ratio(number: int) -> float:
        return 1 / (number - 3)

    def season(year: int) -> float:
        with worker_client() as client:
            return float(sum(client.gather(client.map(ratio, range(year)))))

    with stage.local(2) as client:
        client.submit(season, 6).result()


@failure("task-exception", names=["shapes|broadcast", "regrid"])
def a_block_has_another_shape(stage: Stage) -> None:
    def regrid(block: Any, block_info: Any = None) -> Any:
        place = block_info[0]["chunk-location"]
        weights = np.ones((50, 50 if place != (1, 1) else 49))
        return block * weights

    with stage.local(2):
        array = da.ones((150, 150), chunks=(50, 50))
        array.map_blocks(regrid, dtype=float, meta=np.empty((0, 0))).mean().compute()


@failure(
    "task-exception",
    names=["InvalidGeometry|polygon 11", "simplify"],
    noise="20,000 warnings",
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


@failure("task-exception", names=["LookupError", "tariff_of"], how="command")
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


@failure("task-exception", names=["IndexError", "pick"])
def a_cluster_of_threads(stage: Stage) -> None:
    @delayed
    def pick(rows: list[int], at: int) -> int:
        return rows[at]

    with stage.local(1, processes=False, threads_per_worker=2):
        dask.compute(*[pick([1, 2, 3], n) for n in range(5)])


@failure(
    "driver-exception",
    "task-exception",
    names=["PermissionError", "warm_cache"],
    why="a function run on all workers: the user's code there, but no task",
)
def a_function_run_on_all_workers_raises(stage: Stage) -> None:
    def warm_cache() -> None:
        raise PermissionError(13, "Permission denied", "/srv/cache")

    with stage.local(2) as client:
        client.run(warm_cache)


@failure("task-memory-error", names=["TiB|GiB", "cross_join"])
def a_cross_join_of_two_frames(stage: Stage) -> None:
    def cross_join(left: pd.DataFrame, right: pd.DataFrame) -> int:
        return len(left.merge(right, how="cross"))

    def some(rows: int) -> pd.DataFrame:
        return pd.DataFrame({"a": np.arange(rows, dtype="int8")})

    with stage.local(2) as client:
        left = client.submit(some, 4_000_000)
        client.submit(cross_join, left, client.submit(some, 3_000_000)).result()


@failure("result-too-large", names=["merge_all", "MiB"])
def all_pieces_go_into_one_task(stage: Stage) -> None:
    def piece(number: int) -> Any:
        return np.full(40 * 2**17, number, dtype="float64")  # 40 MiB

    def merge_all(pieces: list[Any]) -> float:
        return float(sum(each.sum() for each in pieces))

    with stage.local(3, memory_limit="420MiB") as client:
        pieces = client.map(piece, range(14))
        client.submit(merge_all, pieces).result()


@failure("driver-exception", names=["KeyError", "pricee"])
def a_column_is_misspelt(stage: Stage) -> None:
    with stage.local(1):
        frame = dd.from_pandas(pd.DataFrame({"price": [1.0, 2.0]}), npartitions=2)
        frame["pricee"].sum().compute()


@failure("driver-exception", names=["AssertionError", "expected 11"], how="command")
def a_check_after_the_work(stage: Stage) -> None:
    with stage.local(2) as client:
        rows = sum(client.gather(client.map(lambda n: n, range(5))))
        assert rows == 11, f"expected 11 rows, got {rows}"


@failure("driver-exception", names=["KeyError", "region"], how="command")
def an_asynchronous_driver_fails_by_itself(stage: Stage) -> None:
    async def main() -> None:
        async with Client(
            asynchronous=True, n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as client:
            totals = await client.gather(client.map(lambda n: n + 1, range(4)))
            print({"sum": sum(totals)}["region"])

    asyncio.run(main())


@failure("worker-exit", names=["convert", "2"], allowed=0)
def an_argument_parser_inside_of_a_task(stage: Stage) -> None:
    def convert(words: list[str]) -> str:
        parser = argparse.ArgumentParser("convert")
        parser.add_argument("--scale", type=int, required=True)
        return str(parser.parse_args(words).scale)

    with stage.local(2) as client:
        client.gather(client.map(convert, [["--scale", "1"], ["--scale", "x"]]))


@failure(
    "worker-exit",
    "task-exception",
    names="prompt",
    allowed=0,
    why="KeyboardInterrupt inside of a task ends its worker as SystemExit does",
)
def a_keyboard_interrupt_inside_of_a_task(stage: Stage) -> None:
    def prompt(number: int) -> int:
        if number == 2:
            raise KeyboardInterrupt
        return number

    with stage.local(2) as client:
        client.gather(client.map(prompt, range(4)))
