"""A third set held out: disks, shuffles, descriptors and pauses.

Written by somebody who had read no rule and no other story.  What came out the first time
is written down in `heldout.json`, and stays.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from containers import small_disk
from distributed import Client, get_worker, wait
from staging import Stage, delayed, later
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: deaths")


class ExportError(RuntimeError):
    """An export did not come to its end."""


def events_of(day: int, rows: int = 60_000) -> pd.DataFrame:
    """Return the events of one day."""
    random = np.random.default_rng(day)
    session = random.integers(0, 5_000, rows)
    return pd.DataFrame({"session": session, "value": random.random(rows), "day": day})


@failure(
    "disk-full",
    "task-exception",
    names=["export", "disk is full|ExportError|space"],
    why="the task's own database found no space, which sqlite reports in its own message",
)
def a_database_on_a_full_scratch_disk(stage: Stage) -> None:
    def export(day: int, folder: str) -> int:
        try:
            with sqlite3.connect(Path(folder) / f"{day}.db") as base:
                return events_of(day).to_sql("events", base) or 0
        except (sqlite3.Error, pd.errors.DatabaseError) as error:
            raise ExportError(f"Tag {day}: Ausgabe unvollständig\n\n{error}") from error

    with small_disk("9m") as scratch, stage.local(2) as client:
        client.gather(client.map(export, range(8), folder=str(scratch)))


@failure(
    "disk-full",
    "task-exception",
    names=["to_parquet|to-parquet|parquet|write", "space"],
    why="the task's own output found no space: its exception says the same",
    noise="retries, which fill what was left",
)
def partitions_are_written_to_a_full_volume(stage: Stage) -> None:
    with small_disk("4m") as volume, stage.local(2, threads_per_worker=2) as client:
        frame = dd.from_map(events_of, range(12), rows=50_000)
        target = str(volume / "events")
        writing = frame.to_parquet(target, compute=False)
        client.compute(writing, retries=2).result()


@failure(
    "disk-full",
    "workers-paused",
    names=["space|disk|paus"],
    hang=True,
    why="spilling finds no space, and so all workers pause in the end",
    settings={"distributed.worker.memory.terminate": False},
    bound=70,
)
def results_are_kept_on_a_small_scratch_disk(stage: Stage) -> None:
    def forecast(region: int) -> Any:
        time.sleep(0.1)
        return np.random.default_rng(region).random(4_000_000)

    with small_disk("60m") as scratch:
        options = {"memory_limit": "500MiB", "local_directory": str(scratch)}
        with stage.local(2, **options) as client:
            forecasts = client.map(forecast, range(80))
            wait(forecasts, timeout=40)


@failure(
    "p2p-out-of-disk",
    names=["space|disk"],
    noise="an earlier shuffle on the same disk went well",
)
def sessions_are_shuffled_on_a_small_disk(stage: Stage) -> None:
    with (
        small_disk("24m") as scratch,
        stage.local(2, local_directory=str(scratch)) as client,
    ):
        few = dd.from_map(events_of, range(4), rows=2_000)
        few.shuffle("session", npartitions=4).map_partitions(len).compute()
        many = dd.from_map(events_of, range(16), rows=150_000)
        kept = many.shuffle("session", npartitions=8).persist()
        wait(kept)
        client.compute(kept.groupby("session").value.mean()).result()


@failure(
    "p2p-failed",
    names=["[Aa]rrow|incompatible|large_string|int64"],
    noise="the exception of the shuffle tells nothing: its cause does",
)
def a_column_has_other_types_in_some_files(stage: Stage) -> None:
    def payload(day: int) -> pd.DataFrame:
        code = [{"iso": "DE"} if day % 2 else 49 for _ in range(50)]
        return pd.DataFrame({"session": np.arange(50) % 7, "code": code})

    empty = {"session": pd.Series(dtype="int64"), "code": pd.Series(dtype="object")}
    with stage.local(3):
        frame = dd.from_map(payload, range(6), meta=pd.DataFrame(empty))
        frame.shuffle("session", npartitions=5).map_partitions(len).compute()


@failure(
    "p2p-failed",
    names=["extra|columns|meta"],
    noise="a worker has died before, and its work was done again",
)
def one_file_has_one_more_column(stage: Stage) -> None:
    def read(day: int) -> pd.DataFrame:
        frame = events_of(day, 500)
        if day == 9:
            time.sleep(2)
            return frame.assign(extra=1)
        return frame

    def fail_once(marker: str) -> None:
        if not Path(marker).exists():
            Path(marker).touch()
            os._exit(1)

    with stage.local(2) as client:
        client.submit(fail_once, str(stage.folder / "once")).result()
        frame = dd.from_map(read, range(10), meta=events_of(0, 0))
        indexed = frame.set_index("session", divisions=[0, 2_500, 5_000])
        indexed.map_partitions(len).compute()


class Sessions:
    """Connections to a warehouse, of which nobody closes one."""

    def __init__(self) -> None:
        self.held: list[socket.socket] = []

    def fetch(self, ask: Callable[[], socket.socket]) -> int:
        """Ask over a connection of its own."""
        try:
            self.held.append(ask())
        except OSError as error:
            raise URLError(error) from error
        return len(self.held)


@failure(
    "too-many-open-files",
    names=["enrich", "files|descriptors"],
    noise="URLErrors of other tasks, that were retried and went well",
)
def connections_to_a_warehouse_are_never_closed(stage: Stage) -> None:
    def ask() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=5)

    def enrich(row: int) -> int:
        worker: Any = get_worker()
        if not hasattr(worker, "sessions"):
            worker.sessions = Sessions()
            raise URLError(ConnectionRefusedError(errno.ECONNREFUSED, "refused"))
        time.sleep(0.02)
        return int(sum(worker.sessions.fetch(ask) for _ in range(3))) + row

    with (
        socket.create_server(("127.0.0.1", 0), backlog=4_096) as server,
        stage.started(2, shell="ulimit -n 300") as (client, _),
    ):
        port = server.getsockname()[1]
        client.gather(client.map(enrich, range(300), retries=1))


@failure("too-many-open-files", names=["tiles_of|mosaic", "files|descriptors"])
def images_are_opened_all_at_once(stage: Stage) -> None:
    def tiles_of(folder: str, count: int) -> list[Any]:
        return [(Path(folder) / f"{n}.raw").open("rb") for n in range(count)]

    def mosaic(folder: str, count: int) -> int:
        return sum(each.read(1)[0] for each in tiles_of(folder, count))

    for number in range(600):
        (stage.folder / f"{number}.raw").write_bytes(b"\x01\x02")
    with stage.started(2, shell="ulimit -n 400") as (client, _):
        counts = [10, 20, 590, 30]
        sums = [delayed(mosaic)(str(stage.folder), count) for count in counts]
        total: Any = delayed(sum)(sums)
        client.compute(total, retries=1).result()


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
)
def an_array_is_persisted_without_spilling(stage: Stage) -> None:
    def slowly(block: Any) -> Any:
        time.sleep(0.2)
        return block + 1

    with stage.local(2, memory_limit="450MiB") as client:
        field = da.ones((600, 500, 500), chunks=(8, 500, 500)).map_blocks(slowly)
        kept = client.persist(field)
        wait(kept, timeout=35)


@failure(
    "workers-paused",
    names="paus",
    hang=True,
    settings={"distributed.worker.memory.terminate": False},
    noise="a task raised and was retried; the other worker was retired",
    bound=45,
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


def _run(client: Client, function: Callable[..., Any], address: str) -> None:
    client.run(function, workers=[address])


@failure(
    "disk-full",
    "task-exception",
    names=["checkpoint", "space"],
    why="the task's own output found no space: its exception says the same",
    allowed=0,
)
def checkpoints_fill_the_volume_late(stage: Stage) -> None:
    def checkpoint(state: bytes, step: int, folder: str) -> bytes:
        time.sleep(0.25)
        done = Path(folder) / f"step-{step:03d}.npy"
        partial_file = done.with_suffix(".tmp")
        partial_file.write_bytes(state * 1_000)
        shutil.move(partial_file, done)
        return state

    with small_disk("30m") as volume, stage.started(1) as (client, _):
        state: Any = client.submit(os.urandom, 1_000)
        for step in range(60):
            state = client.submit(checkpoint, state, step, str(volume))
        state.result()
