"""Shuffles (P2P) that fail."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import wait
from failures.shared_parts import P2P, events_of, frame_of_groups
from staging import Stage, failure, later


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
        out = frame_of_groups(30, 100_000).shuffle("key")
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


@failure(
    "p2p-failed",
    names=["transfer|shuffle", "Arrow|convert|schema"],
    settings={"dataframe.shuffle.method": "p2p"},
    held_out="second",
)
def partitions_disagree_on_their_types(stage: Stage) -> None:
    def load(number: int) -> pd.DataFrame:
        values: list[Any] = list(range(50)) if number else ["n/a", *range(49)]
        return pd.DataFrame({"key": range(50), "value": values})

    with stage.local(2):
        meta = pd.DataFrame({"key": [1], "value": [1]})
        frame = dd.from_map(load, range(6), meta=meta)
        frame.shuffle("key").map_partitions(len).compute()


@failure(
    "p2p-failed",
    names=["No such file|FileNotFound"],
    settings={"dataframe.shuffle.method": "p2p"},
    held_out="second",
)
def a_cleaner_empties_the_scratch_space(stage: Stage) -> None:
    def slow(frame: pd.DataFrame) -> pd.DataFrame:
        time.sleep(0.4)
        return frame

    def clean(folder: str, ends: float) -> None:
        import shutil

        while time.time() < ends:
            for each in Path(folder).rglob("shuffle-*"):
                shutil.rmtree(each, ignore_errors=True)
            time.sleep(0.05)

    with stage.local(2, local_directory=str(stage.folder)):
        ends = time.time() + 40
        threading.Thread(target=clean, args=[stage.folder, ends], daemon=True).start()
        rows = pd.DataFrame({"key": np.arange(400_000) % 977, "v": 1.5})
        frame = dd.from_pandas(rows, npartitions=12).map_partitions(slow)
        frame.shuffle("key").map_partitions(slow).map_partitions(len).compute()


@failure(
    "p2p-failed",
    names=["[Aa]rrow|incompatible|large_string|int64"],
    noise="the exception of the shuffle tells nothing: its cause does",
    held_out="third: deaths",
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
    held_out="third: deaths",
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
