"""Disks that are full, also while data is shuffled."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from containers import small_disk
from distributed import as_completed, wait
from failures.shared_parts import P2P, events_of, frame_of_groups
from staging import NotHere, Stage, delayed, failure


@contextmanager
def _small_disk(stage: Stage, mebibytes: int) -> Iterator[Path]:
    """A file system of our own that is soon full."""
    place = stage.folder / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        raise NotHere("file systems can be mounted only by root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@failure("disk-full", hang=True)
def spilling_fills_the_disk(stage: Stage) -> None:
    import numpy as np

    def make(seed: int) -> Any:
        time.sleep(0.1)
        return np.random.default_rng(seed).random(2_500_000)

    with (
        _small_disk(stage, 40) as disk,
        stage.local(1, memory_limit="400MiB", local_directory=str(disk)) as client,
    ):
        futures = client.map(make, range(40))
        wait(futures, timeout=30)
        client.submit(len, futures).result(timeout=10)


@failure("disk-full", hang=True, noise="retried tasks, handled exceptions")
def persisted_data_outgrows_memory_and_disk(stage: Stage) -> None:
    import dask.array as da

    with _small_disk(stage, 60) as disk:
        options = ["--memory-limit", "350MiB", "--local-directory", str(disk)]
        with stage.started(2, *options) as (client, _):
            wait(client.submit(divmod, 1, 0, retries=2))
            x = da.random.random((60_000, 2_000), chunks=(1_000, 2_000)).persist()
            wait(x, timeout=30)
            client.submit(abs, -1).result(timeout=5)


@failure(
    "disk-full",
    "task-exception",
    names="No space left",
    why="the task's own output found no space: its exception says the same",
)
def outputs_fill_the_disk(stage: Stage) -> None:
    @delayed
    def export(folder: str, number: int) -> int:
        return Path(folder, f"{number}.bin").write_bytes(bytes(4 << 20))

    with _small_disk(stage, 30) as disk, stage.local(2):
        dask.compute(*[export(str(disk), n) for n in range(12)])


@failure(
    "disk-full",
    hang=True,
    how="command",
    settings={
        "blackbox.stall.after": "3s",
        "blackbox.stall.end-run": "15s",
    },
)
def a_dataframe_is_persisted_on_a_small_disk(stage: Stage) -> None:
    with (
        _small_disk(stage, 50) as disk,
        stage.local(2, memory_limit="350MiB", local_directory=str(disk)),
    ):
        frame = frame_of_groups(100, 150_000).persist()
        wait(frame)
        len(frame)


@failure(
    "disk-full",
    "workers-paused",
    names="spill|disk|paused",
    hang=True,
    settings={
        "distributed.worker.memory.max-spill": "60MiB",
        "distributed.worker.memory.terminate": False,
    },
    why="no space to spill is allowed any more, so all workers pause",
    held_out="second",
)
def all_that_may_be_spilled_is_spilled(stage: Stage) -> None:
    def block(number: int) -> Any:
        time.sleep(0.3)
        return np.random.default_rng(number).random(30 * 2**17)

    with stage.local(2, memory_limit="450MiB") as client:
        held = client.map(block, range(40))
        for done in as_completed(held, timeout=30):
            assert done.status == "finished"


class ExportError(RuntimeError):
    """An export did not come to its end."""


@failure(
    "disk-full",
    "task-exception",
    names=["export", "disk is full|ExportError|space"],
    why="the task's own database found no space, which sqlite reports in its own message",
    held_out="third: deaths",
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
    held_out="third: deaths",
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
    held_out="third: deaths",
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
    "disk-full",
    "task-exception",
    names=["checkpoint", "space"],
    why="the task's own output found no space: its exception says the same",
    allowed=0,
    held_out="third: deaths",
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


@failure("p2p-out-of-disk", settings=P2P)
def a_shuffle_on_a_small_disk(stage: Stage) -> None:
    with _small_disk(stage, 20) as disk, stage.local(2, local_directory=str(disk)):
        frame_of_groups().shuffle("key").map_partitions(len).compute()


@failure("p2p-out-of-disk", settings=P2P, noise="handled exceptions")
def a_merge_on_a_small_disk(stage: Stage) -> None:
    with (
        _small_disk(stage, 24) as disk,
        stage.local(2, threads_per_worker=2, local_directory=str(disk)) as client,
    ):
        wait(client.submit(divmod, 1, 0))
        left, right = (
            frame_of_groups(10),
            frame_of_groups(8, 5_000).rename(columns={"a": "z"}),
        )
        left.merge(right, on="key", suffixes=("", "_r")).sum().compute()


@failure("p2p-out-of-disk")
def a_rechunk_on_a_small_disk(stage: Stage) -> None:
    import dask.array as da

    with (
        _small_disk(stage, 20) as disk,
        stage.started(3, "--local-directory", str(disk)),
    ):
        x = da.random.random((4000, 4000), chunks=(200, 4000))
        y = x.rechunk((4000, 200), method="p2p")
        y.sum().compute()


@failure(
    "p2p-out-of-disk",
    names=["disk|space"],
    settings={"array.rechunk.method": "p2p"},
    held_out="second",
)
def a_rechunk_fills_the_disk(stage: Stage) -> None:
    disk = stage.folder / "scratch"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if made.returncode:
        raise NotHere("mount a small file system")
    try:
        with stage.local(2, local_directory=str(disk)):
            array = da.random.random((4000, 4000), chunks=(4000, 250))
            array.rechunk((250, 4000)).sum(axis=1).compute()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


@failure(
    "p2p-out-of-disk",
    names=["space|disk"],
    noise="an earlier shuffle on the same disk went well",
    held_out="third: deaths",
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
