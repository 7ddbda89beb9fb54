"""Graphs and dependencies that cannot be serialized, or not be deserialized."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from distributed import Client, as_completed, wait
from failures.shared_parts import LOCAL_MODULE, OLDER_MODULE, imported_module
from staging import NotHere, Stage, delayed, failure
from starting import processes


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


@failure(
    "dependency-not-serializable",
    names=["connect", "sqlite3.Connection"],
    hang=True,
    held_out="second",
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


@failure(
    "dependency-not-serializable",
    hang=True,
    names=["generator", "tokens"],
    held_out="third: services",
)
def a_generator_is_needed_on_the_other_worker(stage: Stage) -> None:
    def tokens(text: str) -> Iterator[str]:
        time.sleep(0.3)
        return (word.lower() for word in text.split())

    def counted(number: int) -> int:
        time.sleep(0.1)
        return number

    def shared(left: Iterator[str], right: Iterator[str]) -> set[str]:
        return set(left) & set(right)

    with stage.local(2) as client:
        first, second = client.scheduler_info()["workers"]
        noise = client.map(counted, range(30), pure=False)
        left = client.submit(tokens, "The quick brown fox", workers=[first])
        right = client.submit(tokens, "a lazy brown dog", workers=[second])
        both = client.submit(shared, left, right)
        print(sum(client.gather(noise)))
        print(both.result(timeout=15))


class Index:
    """Words and where they stand; several threads may add to it."""

    def __init__(self, numbers: Iterable[int]) -> None:
        """Put numbers into it."""
        self.lock = threading.Lock()
        self.places = {str(number): number for number in numbers}


@failure(
    "dependency-not-serializable",
    names=["lock", "build_index|Index"],
    hang=True,
    bound=25,
    noise="other work, that ends",
    held_out="fourth: services",
)
def indexes_with_a_lock_are_merged(stage: Stage) -> None:
    def build_index(numbers: Iterable[int]) -> Index:
        time.sleep(0.5)
        return Index(numbers)

    def merge(indexes: Iterable[Index]) -> int:
        return sum(len(each.places) for each in indexes)

    with stage.local() as client:
        client.gather(client.map(abs, range(20)))
        numbers = db.range(400, npartitions=4)
        numbers.reduction(build_index, merge).compute()


BOTH = "a module that neither scheduler nor workers have: either word leads to it"


@failure(
    "graph-not-deserializable", "module-not-shipped", names="sales_pipeline", why=BOTH
)
def a_local_package_is_not_on_the_scheduler(stage: Stage) -> None:
    stage.module("sales_pipeline", LOCAL_MODULE)
    with stage.started(2):
        job = imported_module("sales_pipeline")
        dask.compute(*[dask.delayed(job.clean)(n) for n in range(5)])


@failure(
    "graph-not-deserializable", names="Config|risk_model", noise="handled exceptions"
)
def the_scheduler_has_an_older_version(stage: Stage) -> None:
    old = stage.folder / "old"
    old.mkdir()
    (old / "risk_model.py").write_text(OLDER_MODULE)
    with processes(2, environment={"PYTHONPATH": str(old)}) as cluster:
        stage.module("risk_model", LOCAL_MODULE)
        model = imported_module("risk_model")
        with Client(cluster.address) as client, stage.recording(client):
            wait(client.submit(divmod, 1, 0))
            client.submit(str, model.Config(3)).result()


@failure("graph-not-deserializable", names="settings.toml|FileNotFound")
def an_object_that_reads_a_file_when_it_is_unpickled(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    class Settings:
        """Leaves its path behind, and reads the file again where it arrives."""

        def __init__(self, path: str) -> None:
            self.path = path
            self.text = Path(path).read_text()

        def __reduce__(self) -> Any:
            return Settings, (self.path,)

    path = stage.folder / "settings.toml"
    path.write_text("rate = 3")
    settings = Settings(str(path))

    def apply(frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        return frame.assign(rate=settings.text)

    with stage.started(1, "--nthreads", "2"):
        frame = dd.from_pandas(pd.DataFrame({"a": range(10)}), npartitions=2)
        meta = {"a": "int64", "rate": "object"}
        out = frame.map_partitions(apply, settings, meta=meta)
        path.unlink()
        out.compute()


class Reader:
    """Opens its source wherever it arrives."""

    def __init__(self, source: str) -> None:
        self.home = os.environ["ARCHIVE_HOME"]
        self.source = source

    def __reduce__(self) -> Any:
        return (Reader, (self.source,))


@failure("graph-not-deserializable", names="ARCHIVE_HOME", held_out="second")
def a_reader_needs_a_variable_of_the_driver(stage: Stage) -> None:
    with stage.started(1) as (client, _):
        os.environ["ARCHIVE_HOME"] = "/srv/archive"

        def read(reader: Reader) -> str:
            return reader.source

        client.submit(read, Reader("2024.nc")).result(timeout=20)


MODEL = '''
import os

class ModelRegistry:
    """Knows where models live; opens itself wherever it arrives."""

    def __init__(self, name):
        self.name = name
        self.url = os.environ["SCORING_REGISTRY_URL"]

    def __getstate__(self):
        return {"name": self.name}

    def __setstate__(self, state):
        self.__init__(**state)
'''


@failure(
    "graph-not-deserializable",
    names=["SCORING_REGISTRY_URL"],
    noise="it works on the driver, where the variable is set",
    held_out="third: services",
)
def a_registry_needs_a_variable_where_it_arrives(stage: Stage) -> None:
    path = stage.module("scoring_registry", MODEL)
    there = f"{path.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"

    def scored(block: Any, registry: Any) -> Any:
        return block * len(registry.name)

    with stage.started(2, environment={"PYTHONPATH": there}) as (client, _):
        warm = da.ones((400, 400), chunks=(100, 100))
        print(client.compute(warm.sum()).result())
        os.environ["SCORING_REGISTRY_URL"] = "https://models.internal"
        import scoring_registry  # type: ignore[import-not-found]

        registry = scoring_registry.ModelRegistry("churn-v7")
        scores = warm.map_blocks(scored, registry=registry, dtype=float)
        print(scores.mean().compute())


@failure(
    "graph-not-deserializable",
    names=["ZoneInfo|time zone|Europe/Vienna"],
    noise="drivers and workers know all time zones; the scheduler's image is slim",
    accepted="it names tzdata, which is better",
    held_out="fourth: services",
)
def the_image_of_the_scheduler_knows_no_time_zones(stage: Stage) -> None:
    def hours(zone: ZoneInfo, day: int) -> int:
        begin = dt.datetime(2026, 3, day, tzinfo=zone)
        end = dt.datetime(2026, 3, day + 1, tzinfo=zone)
        return int((end.astimezone(dt.UTC) - begin.astimezone(dt.UTC)).seconds / 3600)

    try:
        zone = ZoneInfo("Europe/Vienna")
    except KeyError as missing:
        raise NotHere("nobody knows time zones here") from missing
    with stage.started(
        2, shell="unset PYTHONTZPATH", environment={"PYTHONTZPATH": ""}
    ) as (client, _):
        client.gather(client.map(partial(hours, zone), range(25, 31)))


@failure("graph-not-serializable", names="fetch|socket")
def a_session_in_a_closure(stage: Stage) -> None:
    import socket

    session = socket.socket()

    def fetch(number: int) -> int:
        return session.fileno() + number

    with stage.local(2) as client:
        client.gather(client.map(fetch, range(10)))


@failure(
    "graph-not-serializable", names="pickle|SimpleQueue", noise="handled exceptions"
)
def a_method_of_a_class_with_a_pool(stage: Stage) -> None:
    from concurrent.futures import ThreadPoolExecutor

    class Pipeline:
        def __init__(self) -> None:
            self.pool = ThreadPoolExecutor(2)

        def clean(self, number: int) -> int:
            return number

    with stage.started(1, "--nthreads", "2") as (client, _):
        wait(client.submit(divmod, 1, 0))
        pipeline = Pipeline()
        dask.compute(*[dask.delayed(pipeline.clean)(n) for n in range(5)])


@failure("graph-not-serializable", names="generator")
def a_generator_as_an_argument_of_map_blocks(stage: Stage) -> None:
    import dask.array as da

    weights = (1 / n for n in range(1, 10))

    def weigh(block: Any, weights: Any) -> Any:
        return block * next(weights)

    with stage.local(1, processes=False):
        x = da.ones(100, chunks=10)
        x.map_blocks(weigh, weights, dtype=float, meta=x._meta).sum().compute()


@failure("graph-not-serializable", names="enrich|sqlite3", how="command")
def a_database_cursor_in_a_dataframe(stage: Stage) -> None:
    import sqlite3

    import dask.dataframe as dd
    import pandas as pd

    connection = sqlite3.connect(":memory:")

    def enrich(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(n=connection.total_changes)

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"a": range(10)}), npartitions=2)
        meta = {"a": "int64", "n": "int64"}
        frame.map_partitions(enrich, meta=meta).compute()


@failure("graph-not-serializable", names="sqlite3.Connection", held_out="second")
def a_connection_in_a_closure(stage: Stage) -> None:
    with stage.local(1):
        connection = sqlite3.connect(":memory:")

        def lookup(number: int) -> Any:
            return connection.execute("select ?", (number,)).fetchone()

        db.from_sequence(range(6), npartitions=3).map(lookup).compute()


class PipelineError(Exception):
    """What a job of several stages makes of what goes wrong."""


class Warehouse:
    """A loader that keeps its connection, as many do."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("create table if not exists prices (day text, p real)")

    def enriched(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Add what the database knows."""
        rows = self.connection.execute("select count(*) from prices").fetchone()
        return frame.assign(prices=rows[0])


@failure(
    "graph-not-serializable",
    names=["sqlite3.Connection", "Warehouse|enriched"],
    noise="a task failed before, and was caught; the job wraps the exception",
    accepted="the right cause, without the name of its class",
    held_out="third: services",
)
def a_loader_holds_its_connection(stage: Stage) -> None:
    def probe(path: str) -> int:
        return Path(path).stat().st_size

    def run_stage(name: str, parts: list[Any]) -> Any:
        try:
            return dask.compute(*parts)
        except Exception as error:
            raise PipelineError(f"stage '{name}' failed") from error

    with stage.local(2) as client:
        try:
            client.submit(probe, "/data/prices/_SUCCESS").result()
        except FileNotFoundError:
            print("no marker yet, going on with what is there")
        frame = dd.from_pandas(pd.DataFrame({"a": range(1000)}), npartitions=4)
        print(run_stage("count", [frame.a.sum()]))
        warehouse = Warehouse(stage.folder / "prices.db")
        run_stage("enrich", [delayed(warehouse.enriched)(p) for p in frame.partitions])


@failure(
    "graph-not-serializable",
    "driver-exception",
    names=["Warehouse", "hash|token|seriali"],
    why="a bound method that cannot be pickled fails while the graph is built",
    held_out="third: services",
)
def a_method_of_a_loader_is_mapped_over_partitions(stage: Stage) -> None:
    with stage.local(1) as client:
        table = pd.DataFrame({"a": range(1000), "b": 1.5})
        frame = client.persist(dd.from_pandas(table, npartitions=4))
        print(frame.b.sum().compute())
        warehouse = Warehouse(stage.folder / "prices.db")
        enriched = frame.map_partitions(warehouse.enriched)
        print(enriched.prices.sum().compute())


@failure(
    "graph-not-serializable",
    names=["generator"],
    how="command",
    held_out="third: services",
)
def lines_of_a_generator_become_a_task(stage: Stage) -> None:
    def lines(count: int) -> Iterator[str]:
        for number in range(count):
            yield f"{number};{number * 2}"

    def parsed(rows: Any) -> int:
        return sum(int(row.split(";")[1]) for row in rows)

    with stage.local(2) as client:
        counted = db.from_sequence(list(lines(40)), npartitions=4).count().compute()
        print("rows:", counted)
        futures = [client.submit(parsed, list(lines(n))) for n in (3, 5)]
        futures.append(client.submit(parsed, lines(8)))
        print(sum(future.result() for future in as_completed(futures)))


class Dataset:
    """A file that is open, as those of HDF5: it refuses to travel."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        raise TypeError("datasets of hdf5 can't be pickled")


@failure("graph-not-serializable", names=["hdf5|pickled"], held_out="third: tasks")
def a_dataset_that_refuses_to_travel(stage: Stage) -> None:
    with stage.local(2) as client:
        opened = Dataset(stage.folder / "images.h5")
        blocks = da.ones((40, 10), chunks=(10, 10))
        client.compute(blocks.map_blocks(lambda b, _: b, opened, dtype=float)).result()


class Node:
    """A tree that is deep."""

    def __init__(self, below: Node | None) -> None:
        self.below = below


@failure(
    "graph-not-serializable", names=["recursion|Recursion"], held_out="third: tasks"
)
def a_tree_that_is_too_deep_to_travel(stage: Stage) -> None:
    def depth(node: Node | None) -> int:
        found = 0
        while node is not None:
            node, found = node.below, found + 1
        return found

    tree: Node | None = None
    for _ in range(100_000):
        tree = Node(tree)
    with stage.local(1) as client:
        client.submit(depth, Node(None)).result()
        client.submit(depth, tree).result()


@failure(
    "graph-not-serializable",
    names=["pool objects|ThreadPool"],
    accepted="Dask swallows what the pool said of itself",
    held_out="fourth: services",
)
def a_pool_of_threads_is_handed_to_tasks(stage: Stage) -> None:
    def download(number: int, pool: ThreadPool) -> int:
        return sum(pool.map(abs, range(number)))

    with stage.local(), ThreadPool(2) as pool:
        parts = [delayed(download)(each, pool) for each in range(6)]
        delayed(sum)(parts).compute()


class Settings:
    """What a job is reported; some of it cannot travel."""

    def __init__(self) -> None:
        self.day = "2026-11-20"
        self.retries = {"count": 3, "tls": ssl.create_default_context()}


@failure("graph-not-serializable", names=["SSLContext"], held_out="fourth: tasks")
def settings_with_a_context_of_tls(stage: Stage) -> None:
    def loaded(settings: Settings, shop: int) -> int:
        return len(settings.day) + shop

    with stage.local(2):
        settings = Settings()
        dask.compute(*[delayed(loaded)(settings, shop) for shop in range(5)])
