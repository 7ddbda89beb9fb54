"""Tasks that raise, ask for too much memory, or answer with what cannot travel."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
from distributed import as_completed, wait
from staging import Stage, delayed, failure

# task-exception


@failure("task-exception", names=["JSONDecodeError|Expecting", "parse_line"])
def a_bad_line_in_a_bag(stage: Stage) -> None:
    import dask.bag as db

    def parse_line(line: str) -> Any:
        import json

        return json.loads(line)["amount"]

    lines = [f'{{"amount": {n}}}' for n in range(200)]
    lines[143] = '{"amount": 1'
    with stage.local(3):
        db.from_sequence(lines, npartitions=20).map(parse_line).sum().compute()


@failure("task-exception", names=["KeyError", "add_margin"], noise="handled exceptions")
def a_column_is_missing_in_one_file(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    def load(number: int) -> pd.DataFrame:
        names = ["price", "cost"] if number != 6 else ["price", "costs"]
        return pd.DataFrame(1.0, index=range(50), columns=names)

    def add_margin(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(margin=frame["price"] - frame["cost"])

    meta = {"price": "f8", "cost": "f8"}
    with stage.local(2, threads_per_worker=2) as client:
        for n in range(3):
            wait(client.submit(open, f"/nonexistent/{n}.cfg"))
        frame = dd.from_map(load, range(9), meta=meta, enforce_metadata=False)
        out = frame.map_partitions(add_margin, meta={**meta, "margin": "f8"})
        out["margin"].sum().compute()


class QuotaExceeded(Exception):  # noqa: N818 - libraries call theirs so
    """As many libraries' own: it does not survive pickling."""

    def __init__(self, service: str, limit: int) -> None:
        super().__init__(f"{service} allows {limit} requests a minute")


@failure(
    "task-exception", names=["allows 60 requests", "call_api"], noise="retried tasks"
)
def an_exception_that_cannot_be_pickled(stage: Stage) -> None:
    def call_api(page: int) -> int:
        time.sleep(0.05)
        if page == 17:
            raise QuotaExceeded("geocoder", 60)
        return page

    with stage.started(2, "--nthreads", "2") as (client, _):
        futures = client.map(call_api, range(40), retries=2)
        sum(each.result() for each in as_completed(futures))


@failure("task-exception", names=["operands could not be broadcast", "subtract_mean"])
def blocks_of_the_wrong_shape_in_threads(stage: Stage) -> None:
    import dask.array as da
    import numpy as np

    climate = np.zeros((1, 7))

    def subtract_mean(block: Any) -> Any:
        return block - climate

    with stage.local(1, processes=False, threads_per_worker=4):
        x = da.random.random((100, 20), chunks=(10, 10))
        x.map_blocks(subtract_mean, dtype=float, meta=x._meta).sum().compute()


@failure(
    "task-exception",
    names=["ValueError", "score"],
    how="command",
    noise="a worker died before",
    allowed=3,
)
def a_model_fails_after_a_worker_died(stage: Stage) -> None:
    def score(number: int) -> float:
        time.sleep(0.1)
        if number == 55:
            raise ValueError("Input X contains NaN")
        return number / 2

    with stage.local(3) as client:
        futures = client.map(score, range(60))
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        client.gather(futures)


# task-memory-error


@failure("task-memory-error", names=["Unable to allocate", "outer|distances"])
def a_distance_matrix(stage: Stage) -> None:
    import numpy as np

    @delayed
    def distances(points: Any) -> Any:
        return np.subtract.outer(points, points)

    with stage.local(2):
        dask.delayed(np.sum)(distances(np.zeros(3_000_000))).compute()


@failure("task-memory-error", names=["cross_join"], noise="healthy work beside")
def a_cross_join(stage: Stage) -> None:
    import numpy as np
    import pandas as pd

    def cross_join(rows: int) -> int:
        keys = pd.DataFrame({"key": np.zeros(rows, dtype="i1")})
        return len(keys.merge(keys, on="key"))

    with stage.started(2, "--memory-limit", "0") as (client, _):
        client.gather(client.map(abs, range(50)))
        client.submit(cross_join, 4_000_000).result()


@failure("task-memory-error", names=["MemoryError", "read_all"])
def an_address_space_that_is_limited(stage: Stage) -> None:
    def read_all(megabytes: int) -> int:
        return len([bytearray(1 << 20) for _ in range(megabytes)])

    # As on login nodes and batch systems: ulimit -v.
    with stage.started(1, "--memory-limit", "0", shell="ulimit -v 3000000") as (c, _):
        c.submit(read_all, 8_000).result()


# result-too-large


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


# result-not-serializable


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


# dependency-not-serializable: nothing is raised; somebody's patience ends


@failure("dependency-not-serializable", names="connect", hang=True)
def a_connection_is_handed_on(stage: Stage) -> None:
    @delayed
    def connect() -> Any:
        import sqlite3

        return sqlite3.connect(":memory:")

    @delayed
    def query(connection: Any, number: int) -> int:
        time.sleep(0.3)
        return number

    with stage.local(3) as client:
        one = connect()
        found = client.compute([query(one, n) for n in range(12)])
        client.submit(sum, found).result(timeout=15)


@failure("dependency-not-serializable", names="tokens", hang=True)
def a_generator_is_handed_on(stage: Stage) -> None:
    def tokens(text: str) -> Iterator[str]:
        return (word for word in text.split())

    def count(words: Iterator[str]) -> int:
        return sum(1 for _ in words)

    with stage.started(2) as (client, _):
        here, there = client.scheduler_info()["workers"]
        made = client.submit(tokens, "to be or not", workers=[here], pure=False)
        client.submit(count, made, workers=[there]).result(timeout=12)


@failure(
    "dependency-not-serializable",
    names="open_log",
    settings={
        "blackbox.stall.after": "3s",
        "blackbox.stall.end-run": "9s",
    },
)
def an_open_file_is_handed_on(stage: Stage) -> None:
    def open_log(path: str) -> Any:
        return Path(path).open("a")

    def write(file: Any, number: int) -> int:
        return int(file.write(f"{number}\n"))

    path = str(stage.folder / "job.log")
    with stage.local(2, threads_per_worker=2) as client:
        here, there = client.scheduler_info()["workers"]
        file = client.submit(open_log, path, workers=[here])
        client.gather(client.map(write, [file] * 8, range(8), workers=[there]))


# actor-lost


class Counter:
    """A user's actor."""

    def __init__(self) -> None:
        self.count = 0

    def increment(self) -> int:
        self.count += 1
        return self.count


def _pid_of(client: Any, address: str) -> int:
    return int(client.run(os.getpid, workers=[address])[address])


@failure("actor-lost", names="Counter")
def the_worker_of_an_actor_is_killed(stage: Stage) -> None:
    with stage.local(2) as client:
        future = client.submit(Counter, actor=True)
        counter: Any = future.result()
        for _ in range(5):
            counter.increment().result()
        os.kill(_pid_of(client, counter._address), signal.SIGKILL)
        while True:
            counter.increment().result()
            time.sleep(0.1)


@failure("actor-lost", names="Counter", noise="healthy work before")
def the_worker_of_an_actor_is_restarted(stage: Stage) -> None:
    with stage.started(3) as (client, _):
        counter: Any = client.submit(Counter, actor=True).result()
        client.gather(client.map(abs, range(30)))
        counter.increment().result()
        client.restart_workers([counter._address])
        counter.increment().result(timeout=15)


@failure("actor-lost", names="Counter")
def tasks_ask_an_actor_that_is_gone(stage: Stage) -> None:
    def work(counter: Any, number: int) -> int:
        time.sleep(0.2)
        return int(counter.increment().result()) + number

    with stage.local(3, threads_per_worker=2) as client:
        future = client.submit(Counter, actor=True)
        counter: Any = future.result()
        client.gather(client.map(work, [counter] * 6, range(6)))
        os.kill(_pid_of(client, counter._address), signal.SIGTERM)
        client.gather(client.map(work, [counter] * 20, range(20, 40)))
