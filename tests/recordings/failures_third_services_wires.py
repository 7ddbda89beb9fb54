"""A third set held out: environments that differ, and things that do not travel.

Written by somebody who had read no rule.  What came out the first time is written down in
`heldout.json`, and stays.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, WorkerPlugin, as_completed
from staging import Stage, delayed, until
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: services")


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
)
def a_method_of_a_loader_is_mapped_over_partitions(stage: Stage) -> None:
    with stage.local(1) as client:
        table = pd.DataFrame({"a": range(1000), "b": 1.5})
        frame = client.persist(dd.from_pandas(table, npartitions=4))
        print(frame.b.sum().compute())
        warehouse = Warehouse(stage.folder / "prices.db")
        enriched = frame.map_partitions(warehouse.enriched)
        print(enriched.prices.sum().compute())


@failure("graph-not-serializable", names=["generator"], how="command")
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


NEW = "def parse_v2(line, sep=';'):\n    return line.split(sep)\n"
OLD = "def parse(line):\n    return line.split(',')\n"


@failure(
    "environment-mismatch",
    "task-exception",
    names=["feedparse", "parse_v2"],
    why="the task raised, and it did because the workers have an older package",
)
def the_workers_have_last_months_parser(stage: Stage) -> None:
    old = stage.package("feedparse", OLD, "1.4.2")
    sys.path.remove(str(old))
    stage.package("feedparse", NEW, "2.0.0")
    there = f"{old}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"

    def rows(lines: list[str]) -> int:
        import feedparse  # type: ignore[import-not-found]

        return sum(len(feedparse.parse_v2(line)) for line in lines)

    with stage.started(2, environment={"PYTHONPATH": there}) as (_client, _):
        import feedparse

        print(feedparse.parse_v2("a;b"))
        bag = db.from_sequence(["a;b;c"] * 40, npartitions=8)
        print(bag.map_partitions(lambda part: [rows(list(part))]).sum().compute())


NATIVE = """
import ctypes, os

# As wheels do that were built against a library of the system.
ctypes.CDLL(os.environ.get("RASTERLIB", "librasterio-gdal.so.30"))

class Window:
    def __init__(self, row):
        self.row = row

def read(window):
    return window.row * 2
"""


@failure(
    "environment-mismatch",
    names=["librasterio-gdal.so.30"],
    hang=True,
    noise="the package is installed everywhere; a library of the system is not",
)
def a_library_of_the_system_is_missing_on_workers(stage: Stage) -> None:
    site = stage.package("rasterwin", NATIVE, "1.3.9")
    there = f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    os.environ["RASTERLIB"] = "libc.so.6"
    import rasterwin  # type: ignore[import-not-found]

    with stage.started(
        2, shell="unset RASTERLIB", environment={"PYTHONPATH": there}
    ) as (client, _):
        windows = [rasterwin.Window(row) for row in range(6)]
        futures = client.map(rasterwin.read, windows)
        print(sum(future.result(timeout=20) for future in futures))


@failure(
    "module-not-shipped",
    "environment-mismatch",
    names=["nightly_etl"],
    hang=True,
    why="a package of the project's own folder, that was installed nowhere",
    accepted="it was the scheduler that lacked the package",
)
def the_steps_live_in_the_projects_folder(stage: Stage) -> None:
    project = stage.folder / "project"
    (project / "nightly_etl" / "steps").mkdir(parents=True)
    for part in ("", "steps"):
        (project / "nightly_etl" / part / "__init__.py").write_text("")
    code = "from ..settings import FACTOR\n\ndef clean(n):\n    return n * FACTOR\n"
    (project / "nightly_etl" / "steps" / "clean.py").write_text(code)
    (project / "nightly_etl" / "settings.py").write_text("FACTOR = 3\n")

    with stage.started(2) as (client, _):
        sys.path.insert(0, str(project))
        from nightly_etl.steps.clean import clean  # type: ignore[import-not-found]

        values = db.from_sequence(range(20), npartitions=4).map(clean)
        print(client.compute(values.sum()).result(timeout=20))


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


@failure("dependency-not-serializable", hang=True, names=["generator", "tokens"])
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


@failure(
    "result-too-large", names=["memory_limit|MiB|limit"], noise="a worker is paused"
)
def the_whole_archive_is_fetched_at_the_end(stage: Stage) -> None:
    with stage.local(2, memory_limit="350MiB") as client:
        days = da.random.random((52, 1_000_000), chunks=(2, 1_000_000))  # 400 MiB
        print(client.compute(days.mean()).result())
        print(np.asarray(client.compute(days * 2).result()).shape)


class Tokenizer(WorkerPlugin):
    """Loads what all tasks need."""

    def __init__(self, path: str) -> None:
        self.path = path

    def setup(self, worker: Any) -> None:
        worker.vocabulary = Path(self.path).read_text().split()


@failure(
    "worker-start-failed",
    "driver-exception",
    names=["fasttext.vocab", "Tokenizer|plugin"],
    why="registering a plugin raises in the driver what its setup raised on workers",
)
def a_plugin_reads_a_file_that_is_only_here(stage: Stage) -> None:
    with stage.local(2) as client:
        frame = dd.from_pandas(pd.DataFrame({"text": ["a b"] * 200}), npartitions=4)
        print(len(frame))
        client.register_plugin(Tokenizer("/models/fasttext.vocab"))
        counted = frame.text.map(len, meta=("text", "int64"))
        print(counted.sum().compute())


@failure(
    "driver-exception",
    names=["Überlauf|Summe"],
    noise="a worker was ended early, a task's exception was caught",
)
def the_report_is_refused_after_all_went_well(stage: Stage) -> None:
    class ReportError(Exception):
        pass

    def amount(number: int) -> int:
        time.sleep(0.1)
        if number == 7:
            raise ValueError("Betrag ist negativ")
        return number

    def checked(client: Client, numbers: range) -> list[int]:
        futures = client.map(amount, numbers)
        found = []
        for future in as_completed(futures):
            try:
                found.append(future.result())
            except ValueError as error:
                print("skipped:", error)
        return found

    with stage.local(2) as client:
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGTERM)
        found = checked(client, range(40))
        try:
            assert sum(found) % 1000 == 0, found
        except AssertionError as error:
            lines = "\n".join(f"  Konto {n:04}: {n * 1.19:.2f} €" for n in found)
            message = f"Überlauf: Summe {sum(found)} passt nicht\n{lines}"
            raise ReportError(message) from error
