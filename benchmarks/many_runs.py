"""How long a question about the tasks of very many runs takes, beside the same files read bare.

    .venvs/core/bin/python benchmarks/many_runs.py [--runs 10000] [--tasks 100] [--workers 2]

One real run is recorded, and its recording copied so often.  `runs(…).tasks()` on a Dask
cluster, `runs(…).scan("tasks")` in this process, and the peers: `dask.dataframe.read_parquet` of the same
Parquet files on the same cluster, and `polars.scan_parquet`.  All answer the same question,
the median duration of the tasks by prefix, and the answers are compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import msgspec
import polars as pl
from dask_blackbox import recording, runs
from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.manifest import sealed
from dask_blackbox.reader import Run
from dask_blackbox.store import open_store
from distributed import Client, LocalCluster

START = 1_795_230_000.0
PREFIXES = ("load", "clean", "join", "write")


def work(number: int) -> int:
    """Take a moment."""
    return sum(range(1_000 * (number % 7 + 1)))


def fill(folder: Path, client: Client, number: int, tasks: int) -> None:
    """Record one run, and copy its recording under other names."""
    with recording(client, store=str(folder), job="nightly", run_id="run-000000"):
        futures = [
            client.submit(work, n, key=f"{PREFIXES[n % len(PREFIXES)]}-{n}", pure=False)
            for n in range(tasks)
        ]
        client.gather(futures)
    store = open_store(folder)
    first = RunAddress("nightly", "run-000000", 1)
    if (known := Run.at(store, first).tasks.height) != tasks:
        raise SystemExit(f"{known} of {tasks} tasks were recorded")
    source, manifest = folder / first.folder, Run.at(store, first).manifest
    for n in range(1, number):
        address = RunAddress("nightly", f"run-{n:06}", 1)
        target = folder / address.folder
        shutil.copytree(source, target, copy_function=os.link)
        (target / "run.json").unlink()
        mine = msgspec.structs.replace(manifest, run_id=address.run)
        (target / "run.json").write_bytes(sealed(mine))
        for name in index_names(address, START + n, "succeeded"):
            (folder / name).write_bytes(b"")


def answers(folder: Path, client: Client) -> dict[str, Callable[[], Any]]:
    """Return how each of them answers the question."""
    files = f"{folder}/runs/*/*/*/tables/tasks.parquet"

    def by_dask(frame: dd.DataFrame) -> Any:
        counted = frame.groupby("prefix")["compute"].agg(["count", "mean"]).compute()
        return {
            str(k): (int(row["count"]), row["mean"]) for k, row in counted.iterrows()
        }

    def by_polars(frame: pl.LazyFrame) -> Any:
        question = frame.group_by("prefix").agg(
            pl.col("compute").count().alias("count"),
            pl.col("compute").mean().alias("mean"),
        )
        return {k: (c, m) for k, c, m in question.collect().iter_rows()}

    return {
        "`runs(…).tasks()` on the cluster": lambda: by_dask(runs(str(folder)).tasks()),
        "`dask.dataframe.read_parquet` on the cluster": lambda: by_dask(
            dd.read_parquet(files, columns=["prefix", "compute"])
        ),
        '`runs(…).scan("tasks")`': lambda: by_polars(runs(str(folder)).scan("tasks")),
        "`polars.scan_parquet`": lambda: by_polars(pl.scan_parquet(files)),
    }


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=10_000)
    options.add_argument("--tasks", type=int, default=100)
    options.add_argument("--workers", type=int, default=2)
    asked = options.parse_args()
    dask.config.set({"dataframe.convert-string": False})
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=asked.workers, threads_per_worker=1) as cluster,
        Client(cluster) as client,
    ):
        fill(Path(folder), client, asked.runs, asked.tasks)
        print(f"| {asked.runs:,} runs of {asked.tasks} tasks | seconds |\n|---|---|")
        found = []
        for name, answer in answers(Path(folder), client).items():
            begun = time.perf_counter()
            found.append(answer())
            print(f"| {name} | {time.perf_counter() - begun:.1f} |", flush=True)
    counts = [{name: count for name, (count, _) in each.items()} for each in found]
    if any(each != counts[0] for each in counts):
        raise SystemExit(f"the answers differ: {counts}")
    if sum(counts[0].values()) != asked.runs * asked.tasks:
        raise SystemExit(f"not all tasks were counted: {counts[0]}")


if __name__ == "__main__":
    main()
