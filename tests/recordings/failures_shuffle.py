"""Shuffles that fail, and disks that are full."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import wait
from staging import NotHere, Stage, delayed, failure, later

P2P = {"dataframe.shuffle.method": "p2p"}


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


def _frame(partitions: int = 12, rows: int = 60_000) -> Any:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def load(number: int) -> pd.DataFrame:
        chance = np.random.default_rng(number)
        numbers = chance.random((rows, 8))
        frame = pd.DataFrame(numbers, columns=list("abcdefgh"))
        return frame.assign(key=chance.integers(0, 1000, rows))

    meta = {**dict.fromkeys("abcdefgh", "f8"), "key": "i8"}
    return dd.from_map(load, range(partitions), meta=meta)


# p2p-out-of-disk


@failure("p2p-out-of-disk", settings=P2P)
def a_shuffle_on_a_small_disk(stage: Stage) -> None:
    with _small_disk(stage, 20) as disk, stage.local(2, local_directory=str(disk)):
        _frame().shuffle("key").map_partitions(len).compute()


@failure("p2p-out-of-disk", settings=P2P, noise="handled exceptions")
def a_merge_on_a_small_disk(stage: Stage) -> None:
    with (
        _small_disk(stage, 24) as disk,
        stage.local(2, threads_per_worker=2, local_directory=str(disk)) as client,
    ):
        wait(client.submit(divmod, 1, 0))
        left, right = _frame(10), _frame(8, 5_000).rename(columns={"a": "z"})
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


# p2p-failed


@failure(
    "p2p-failed", settings=P2P, names="ArrowTypeError|ArrowInvalid|convert|schema|type"
)
def a_partition_has_other_types_than_its_meta(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def load(number: int) -> pd.DataFrame:
        code: Any = number if number != 3 else "three"
        return pd.DataFrame({"key": range(100), "code": [code] * 100})

    with stage.local(2):
        meta = {"key": "i8", "code": "i8"}
        frame = dd.from_map(load, range(6), meta=meta, enforce_metadata=False)
        frame.shuffle("key").map_partitions(len).compute()


@failure("p2p-failed", settings=P2P, names="No such file|FileNotFound|failed")
def the_temporary_folder_is_cleaned_up(stage: Stage) -> None:
    place = stage.folder / "scratch"
    place.mkdir()

    def clean() -> None:
        for _ in range(600):
            for found in place.rglob("shuffle-*"):
                shutil.rmtree(found, ignore_errors=True)
            time.sleep(0.1)

    with stage.started(2, "--local-directory", str(place)):
        later(0.5, clean)
        out = _frame(30, 100_000).shuffle("key")
        out.map_partitions(len).compute()


@failure(
    "p2p-failed",
    settings={**P2P, "dataframe.convert-string": False},
    noise="handled exceptions",
    names="pickle|re.Match|Arrow|convert",
)
def an_object_column_cannot_be_shuffled(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def load(number: int) -> pd.DataFrame:
        things = [re.match(r"\d+", str(n)) for n in range(100)]  # these don't pickle
        return pd.DataFrame({"key": range(100), "thing": things})

    with stage.started(2, "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        frame = dd.from_map(load, range(6))
        other = dd.from_map(load, range(4))
        frame.merge(other, on="key").compute()  # `len` would leave the column out


# disk-full


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
        frame = _frame(100, 150_000).persist()
        wait(frame)
        len(frame)
