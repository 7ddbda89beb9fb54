"""A second set held out: what does not travel, is cancelled or is forgotten.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from functools import partial
from typing import Any

import dask.bag as db
import numpy as np
from distributed import Client, Variable, as_completed, get_client
from staging import Stage
from staging import failure as any_failure

failure = partial(any_failure, held_out="second")


@failure("graph-not-serializable", names="sqlite3.Connection")
def a_connection_in_a_closure(stage: Stage) -> None:
    with stage.local(1):
        connection = sqlite3.connect(":memory:")

        def lookup(number: int) -> Any:
            return connection.execute("select ?", (number,)).fetchone()

        db.from_sequence(range(6), npartitions=3).map(lookup).compute()


class Reader:
    """Opens its source wherever it arrives."""

    def __init__(self, source: str) -> None:
        self.home = os.environ["ARCHIVE_HOME"]
        self.source = source

    def __reduce__(self) -> Any:
        return (Reader, (self.source,))


@failure("graph-not-deserializable", names="ARCHIVE_HOME")
def a_reader_needs_a_variable_of_the_driver(stage: Stage) -> None:
    with stage.started(1) as (client, _):
        os.environ["ARCHIVE_HOME"] = "/srv/archive"

        def read(reader: Reader) -> str:
            return reader.source

        client.submit(read, Reader("2024.nc")).result(timeout=20)


@failure("result-not-serializable", names=["open_session", "sqlite3.Connection"])
def an_open_session_is_returned(stage: Stage) -> None:
    def open_session(name: str) -> Any:
        return sqlite3.connect(":memory:")

    with stage.local(1) as client:
        for _, session in as_completed(
            client.map(open_session, ["a", "b"]), with_results=True
        ):
            print(session)


@failure("result-not-serializable", names=["count_words", "generator"])
def a_task_of_yields_is_computed(stage: Stage) -> None:
    def count_words(text: str) -> Any:
        yield from ((word, 1) for word in text.split())

    with stage.started(1) as (client, _):
        client.submit(count_words, "to be or not to be").result(timeout=20)


@failure(
    "dependency-not-serializable", names=["connect", "sqlite3.Connection"], hang=True
)
def a_connection_is_shared_by_tasks(stage: Stage) -> None:
    def connect(path: str) -> Any:
        return sqlite3.connect(path, check_same_thread=False)

    def query(connection: Any, number: int) -> Any:
        time.sleep(0.2)
        return connection.execute("select ?", (number,)).fetchone()

    with stage.local(2) as client:
        here, there = client.scheduler_info()["workers"]
        opened = client.submit(connect, ":memory:", workers=[here])
        asked = [client.submit(query, opened, n, workers=[there]) for n in range(3)]
        asked[0].result(timeout=15)


@failure("cancelled", names=["out of budget"])
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


@failure("cancelled", names="restart")
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
    "data-lost",
    "cancelled",
    names="reference",
    why="a restarted worker loses what was scattered to it: both apply",
)
def a_worker_with_the_only_copy_is_restarted(stage: Stage) -> None:
    def match(table: Any, number: int) -> int:
        time.sleep(0.3)
        return int(table[number])

    with stage.local(2) as client:
        here = next(iter(client.scheduler_info()["workers"]))
        table = client.scatter({"reference-table": np.arange(100)}, workers=[here])
        reference = table["reference-table"]
        client.gather(client.map(match, [reference] * 3, range(3)))
        client.restart_workers([here])
        client.gather(client.map(match, [reference] * 9, range(20, 29)))


@failure(
    "data-lost",
    "cancelled",
    names="load_year",
    hang=True,
    why="a result that its client has released is forgotten, and its futures are cancelled",
)
def a_future_outlives_its_client(stage: Stage) -> None:
    def load_year(year: int) -> list[int]:
        return [year] * 10

    with stage.started(2) as (client, cluster):
        with Client(cluster.address, set_as_default=False) as first:
            handed = first.submit(load_year, 2024)
            handed.result(20)
            key = handed.key
        from distributed import Future

        kept: Any = Future(key, client)
        client.submit(sum, kept).result(timeout=20)


@failure("task-exception", names=["UnicodeDecodeError", "decode_line"])
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
