"""A third set held out: memory that runs out, in workers, containers and tasks.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from containers import container
from distributed import as_completed, get_worker, wait, worker_client
from staging import Stage, delayed
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: deaths")

_MEGABYTE = 1_000_000


def unfold(book: pd.DataFrame) -> pd.DataFrame:
    """Make a row of every level of an order book."""
    long: pd.DataFrame = book.loc[book.index.repeat(book["depth"])]
    return long.assign(level=long.groupby("day").cumcount(), side="bid")


@failure("worker-memory-limit", names="MiB", allowed=1)
def an_order_book_is_unfolded(stage: Stage) -> None:
    depth = [2_000] * 36 + [9_000_000] * 4  # the exchange changed its format
    book = pd.DataFrame({"day": range(40), "depth": depth, "price": 1.5})
    shape = unfold(book.head(0))
    with stage.local(2, memory_limit="500MiB"):
        frame = dd.from_pandas(book, npartitions=8).map_partitions(unfold, meta=shape)
        frame.groupby("day").level.max().compute()


@failure(
    "worker-memory-limit",
    names=["merge|join", "MiB"],
    allowed=1,
    settings={"dataframe.shuffle.method": "tasks"},
)
def one_customer_has_all_the_orders(stage: Stage) -> None:
    def orders(day: int) -> pd.DataFrame:
        customer = np.where(np.arange(3_000) % 50 == 0, day, 0)
        return pd.DataFrame({"customer": customer, "amount": 1.0})

    with stage.local(2, memory_limit="600MiB"):
        sold = dd.from_map(orders, range(4))
        returned = dd.from_map(orders, range(4, 8))
        both = sold.merge(returned, on="customer", suffixes=("", "_returned"))
        (both.amount - both.amount_returned).sum().compute()


def score(batch: int) -> float:
    """Score a batch; remember its features, as somebody thought would be faster."""
    worker = get_worker()
    seen: dict[int, Any] = worker.__dict__.setdefault("features", {})
    seen[batch] = np.ones((25, 250_000 // 2))
    time.sleep(0.3)
    return float(seen[batch][0].mean())


@failure(
    "worker-memory-limit",
    names=["score", "MiB"],
    allowed=0,
    settings={"distributed.worker.memory.pause": False},
    noise="dies late, at an innocent batch",
)
def features_are_remembered_for_ever(stage: Stage) -> None:
    with stage.local(2, memory_limit="700MiB") as client:
        for done in as_completed(client.map(score, range(90))):
            done.result()


def load_day(day: int) -> Any:
    """Load what the sensors said on one day."""
    return np.random.default_rng(day).random(5 * _MEGABYTE)


def consolidate(days: int) -> float:
    """Load all days by tasks of their own, and put them together here."""
    with worker_client() as inner:
        parts = inner.gather(inner.map(load_day, range(days)))
    return float(np.concatenate(parts).std())


@failure("worker-memory-limit", names=["consolidate", "MiB"], allowed=1)
def a_task_gathers_what_its_tasks_have_loaded(stage: Stage) -> None:
    with stage.local(2, memory_limit="600MiB") as client:
        client.submit(consolidate, 30).result()


def load_embeddings(rows: int, dask_worker: Any) -> int:
    """Keep a table of embeddings on this worker, for the tasks that come."""
    dask_worker.embeddings = [np.ones((rows // 8, 512)) for _ in range(8)]
    return len(dask_worker.embeddings)


@failure("worker-memory-limit", names="MiB|GiB", noise="no task at all at that time")
def a_table_is_loaded_on_all_workers_by_run(stage: Stage) -> None:
    with stage.local(2, memory_limit="500MiB") as client:
        client.gather(client.map(abs, range(20)))
        client.run(load_embeddings, 400_000)


def render(tile: int) -> float:
    """Draw a tile, layer by layer."""
    layers = []
    for layer in range(60):
        layers.append(np.full(3 * _MEGABYTE, float(layer + tile)))
        time.sleep(0.05)
    return float(sum(each[0] for each in layers))


@failure(
    "kernel-oom",
    names=["render", "OOM|kernel|cgroup|container"],
    allowed=1,
    noise="two workers of one nanny command in one pod",
)
def a_pod_is_smaller_than_its_two_workers_believe(stage: Stage) -> None:
    options = ["--nworkers", "2", "--memory-limit", "2GiB"]
    with (
        container("1100M") as pod,
        stage.started(1, shell=pod.shell) as (client, hosts),
    ):
        client.gather(client.map(abs, range(50)))  # the first worker was a small one
        hosts.start_worker("--nthreads", "1", *options, shell=pod.shell)
        client.wait_for_workers(3, timeout=40)
        client.gather(client.map(render, range(6)))


@failure(
    "kernel-oom",
    names=["correlate", "OOM|kernel|cgroup|container"],
    allowed=0,
    noise="an exception that was caught before",
)
def no_limit_is_set_in_a_small_container(stage: Stage) -> None:
    def parse(line: str) -> float:
        return float(line)

    def correlate(numbers: list[float]) -> float:
        wide = np.random.default_rng(1).random((9_000, 9_000))
        related: Any = np.corrcoef(wide)
        return float(related[0, 0]) + sum(numbers)

    options = ["--memory-limit", "0"]
    with (
        container("1G") as pod,
        stage.started(2, *options, shell=pod.shell) as (client, _),
    ):
        lines = ["1", "2", "n/a"]
        try:
            client.gather(client.map(parse, lines))
        except ValueError:
            lines = lines[:2]
        numbers = [delayed(parse)(line) for line in lines]
        client.compute(delayed(correlate)(numbers)).result()


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


def tokens(archive: int) -> Iterator[bytes]:
    """Yield tokens, each a copy of its own."""
    for number in range(400):
        yield bytes(bytearray(os.urandom(1_000) * 1_000)) + bytes([archive, number % 7])


@failure(
    "worker-memory-limit",
    names=["tokens|join_all|bag|list", "MiB"],
    allowed=2,
    noise="a worker is sent home meanwhile",
)
def a_bag_of_tokens_is_materialised(stage: Stage) -> None:
    def join_all(parts: Any) -> int:
        return len(b"".join(list(parts)))

    with stage.local(3, memory_limit="450MiB") as client:
        archives = db.from_sequence(range(4), npartitions=4)
        length = archives.map(tokens).flatten().reduction(join_all, sum)
        found = client.compute(length)
        client.retire_workers([list(client.scheduler_info()["workers"])[-1]])
        found.result()


@failure("worker-memory-limit", names=["deduplicate", "MiB"], allowed=1)
def a_memory_death_of_a_script_of_many_steps(stage: Stage) -> None:
    def read(part: int) -> Any:
        return np.arange(200_000) + part * 1_000_000

    def clean(numbers: Any) -> Any:
        return numbers[numbers % 2 == 0]

    def deduplicate(parts: list[Any]) -> int:
        seen: set[str] = set()
        for part in parts:
            for copy in range(20):
                seen.update(f"{number:060d}/{copy}" for number in part)
        return len(seen)

    with stage.local(1, threads_per_worker=2, memory_limit="600MiB") as client:
        parts = [delayed(clean)(delayed(read)(part)) for part in range(12)]
        kept = client.persist(parts)
        wait(kept)
        client.compute(delayed(deduplicate)(list(kept))).result()
