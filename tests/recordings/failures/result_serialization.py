"""Results that cannot be serialized, or are too large."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from distributed import as_completed, wait
from failures.shared_parts import Frame, sales
from staging import Stage, delayed, failure, until


@failure("result-not-serializable", names="read_lines")
def a_generator_is_returned(stage: Stage) -> None:
    @delayed
    def read_lines(number: int) -> Iterator[int]:
        return (n * number for n in range(10))

    with stage.local(2):
        dask.compute(*[read_lines(n) for n in range(4)])


@failure("result-not-serializable", names="connect")
def a_database_connection_is_returned(stage: Stage) -> None:
    def connect(path: str) -> Any:
        import sqlite3

        return sqlite3.connect(path)

    with stage.started(1, "--nthreads", "2") as (client, _):
        client.submit(connect, ":memory:").result(timeout=20)


@failure("result-not-serializable", names=["find_version", "re.Match"])
def a_match_of_a_pattern_is_returned(stage: Stage) -> None:
    def find_version(line: str) -> Any:
        return re.search(r"\d+(\.\d+)+", line)

    with stage.started(2) as (client, _):
        client.gather(client.map(find_version, ["a 1.2", "b 2.0.1", "c 3.11"]))


@failure("result-not-serializable", names="train", noise="retried tasks")
def a_model_that_holds_a_lock(stage: Stage) -> None:
    import threading

    class Model:
        def __init__(self, weight: float) -> None:
            self.weight, self.lock = weight, threading.RLock()

    def train(weight: float) -> Any:
        if not Path(mark, str(weight)).exists():
            Path(mark, str(weight)).touch()
            raise ConnectionError("the feature store is busy")
        return Model(weight)

    mark = str(stage.folder)
    with stage.local(2, threads_per_worker=2) as client:
        client.gather(client.map(train, [0.1, 0.2, 0.3], retries=3))


@failure(
    "result-not-serializable",
    names=["open_session", "sqlite3.Connection"],
    held_out="second",
)
def an_open_session_is_returned(stage: Stage) -> None:
    def open_session(name: str) -> Any:
        return sqlite3.connect(":memory:")

    with stage.local(1) as client:
        for _, session in as_completed(
            client.map(open_session, ["a", "b"]), with_results=True
        ):
            print(session)


@failure(
    "result-not-serializable", names=["count_words", "generator"], held_out="second"
)
def a_task_of_yields_is_computed(stage: Stage) -> None:
    def count_words(text: str) -> Any:
        yield from ((word, 1) for word in text.split())

    with stage.started(1) as (client, _):
        client.submit(count_words, "to be or not to be").result(timeout=20)


class Fitted:
    """A model that has become hard to move."""

    def __init__(self, folds: int) -> None:
        self.folds = folds
        self.pattern = re.compile(r"(\d+)").match("17 folds")
        self.guard = threading.RLock()


@failure(
    "result-not-serializable",
    names=["Fitted|RLock|re.Match", "train"],
    noise="a worker was killed before, from outside; nothing was lost of it",
    held_out="third: services",
)
def a_fitted_model_cannot_come_home(stage: Stage) -> None:
    def fold(number: int) -> float:
        time.sleep(0.3)
        return number / 10

    def train(scores: list[float]) -> Fitted:
        time.sleep(0.5)
        return Fitted(len(scores))

    with stage.local(2) as client:
        scores = client.map(fold, range(30))
        until(lambda: sum(each.done() for each in scores) > 5)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        model = client.submit(train, scores)
        print(model.result(timeout=40).folds)


class BadRowError(Exception):
    """A row that was refused."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"Zeile {row}: {reason}\n(siehe Prüfbericht «Köln»)")
        self.row = row


@failure(
    "result-not-serializable",
    names=["BadRowError|checked", "reason|argument"],
    noise="errors are values here: they are returned, not raised",
    held_out="third: services",
)
def refused_rows_are_returned_as_exceptions(stage: Stage) -> None:
    @dask.delayed  # type: ignore[untyped-decorator]
    def checked(number: int) -> Any:
        time.sleep(0.05)
        if number == 13:
            return BadRowError(number, "Betrag fehlt")
        return number

    with stage.local(2):
        results = dask.compute(*[checked(number) for number in range(20)])
        refused = [each for each in results if isinstance(each, BadRowError)]
        print(len(refused), "rows were refused")


@failure(
    "result-not-serializable",
    names=["__reduce__|Parquet", "opened"],
    held_out="third: tasks",
)
def files_that_were_opened_in_tasks_are_gathered(stage: Stage) -> None:
    def opened(path: Path) -> Any:
        file: Any = pq.ParquetFile
        return {"path": path, "file": file(path)}

    paths = [stage.folder / f"{n}.parquet" for n in range(4)]
    for path in paths:
        sales(50).to_parquet(path)
    with stage.local(2) as client:
        files = client.gather(client.map(opened, paths))
        print(sum(each["file"].metadata.num_rows for each in files))


@failure(
    "result-not-serializable",
    names=["Match", "find_version"],
    held_out="fourth: services",
)
def matches_of_a_pattern_are_returned(stage: Stage) -> None:
    def find_version(line: str) -> re.Match[str] | None:
        return re.search(r"(\d+)\.(\d+)", line)

    lines = ["dask 2026.8", "no version here", "numpy 2.4", "pandas 3.1"]
    with stage.local() as client:
        found = client.gather(client.map(find_version, lines))
        print([each.group(1) for each in found if each])


@failure("result-not-serializable", names=["lock", "counted"], held_out="fourth: tasks")
def attributes_of_a_frame_hold_a_lock(stage: Stage) -> None:
    def counted(part: Frame) -> Frame:
        part = part.copy()
        part.attrs["guard"] = threading.Lock()
        return part

    with stage.started(2) as (client, _):
        ddf = dd.from_pandas(sales(), npartitions=3)
        done = ddf.map_partitions(counted, meta=sales(1).iloc[:0])
        client.gather(client.compute(done.to_delayed()))


@failure("result-too-large")
def a_whole_dataframe_is_computed(stage: Stage) -> None:
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def load(number: int) -> pd.DataFrame:
        return pd.DataFrame(np.random.default_rng(number).random((250_000, 10)))

    with stage.local(2, memory_limit="400MiB"):
        dd.from_map(load, range(24), meta=load(0).iloc[:0]).compute()


@failure("result-too-large", names="combine|concat")
def all_parts_are_concatenated_in_one_task(stage: Stage) -> None:
    import numpy as np

    def simulate(seed: int) -> Any:
        return np.random.default_rng(seed).random(2_500_000)

    def combine(*parts: Any) -> Any:
        return np.concatenate(parts)

    with stage.started(3, "--memory-limit", "300MiB") as (client, _):
        parts = client.map(simulate, range(20))
        client.submit(combine, *parts).result()


@failure("result-too-large", noise="handled exceptions")
def a_stack_of_images_is_computed(stage: Stage) -> None:
    import dask.array as da

    with stage.local(1, threads_per_worker=2, memory_limit="400MiB") as client:
        wait(client.submit(divmod, 1, 0))
        da.random.random((60, 1000, 1000), chunks=(2, 1000, 1000)).compute()


@failure("result-too-large", names=["merge_all", "MiB"], held_out="second")
def all_pieces_go_into_one_task(stage: Stage) -> None:
    def piece(number: int) -> Any:
        return np.full(40 * 2**17, number, dtype="float64")  # 40 MiB

    def merge_all(pieces: list[Any]) -> float:
        return float(sum(each.sum() for each in pieces))

    with stage.local(3, memory_limit="420MiB") as client:
        pieces = client.map(piece, range(14))
        client.submit(merge_all, pieces).result()


@failure(
    "result-too-large",
    names=["memory_limit|MiB|limit"],
    noise="a worker is paused",
    held_out="third: services",
)
def the_whole_archive_is_fetched_at_the_end(stage: Stage) -> None:
    with stage.local(2, memory_limit="350MiB") as client:
        days = da.random.random((52, 1_000_000), chunks=(2, 1_000_000))  # 400 MiB
        print(client.compute(days.mean()).result())
        print(np.asarray(client.compute(days * 2).result()).shape)


@failure("result-too-large", names=["GiB|MiB"], held_out="third: tasks")
def all_partitions_go_to_one_task(stage: Stage) -> None:
    def wide(number: int) -> Frame:
        return pd.DataFrame(np.full((800_000, 10), float(number)))

    with stage.local(4, memory_limit="600MiB") as client:
        meta = pd.DataFrame(np.zeros((0, 10)))
        ddf = client.persist(dd.from_map(wide, range(11), meta=meta))
        one = ddf.repartition(npartitions=1)
        one.map_partitions(len, meta=(None, "int64")).compute()


@failure(
    "result-too-large", names=["concat", "MiB|GiB|MB"], held_out="fourth: services"
)
def all_tables_are_put_into_one_task(stage: Stage) -> None:
    def load(number: int) -> pd.DataFrame:
        drawn = np.random.default_rng(number).random((750_000, 2))
        return pd.DataFrame(drawn, columns=["x", "y"])

    with stage.local(memory_limit="400MiB") as client:
        tables = [delayed(load)(number) for number in range(48)]
        client.compute(delayed(pd.concat)(tables)).result()
