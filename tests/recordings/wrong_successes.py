"""Runs that succeed, and shouldn't have; and runs that only look as if: a third set.

python tests/recordings/wrong_successes.py [NAME …] [--store FOLDER] [--diagnose-only]

Written by somebody who had read no rule.  Those without findings are healthy: what they do
resembles an error, and is none.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, as_completed, wait
from workload import Workload, main

__all__ = ["SLOW"]

_THREE = {"n_workers": 3, "threads_per_worker": 1, "memory_limit": "1GiB"}
# (What sleeps waits for something outside.)
_SLEEPS = ("io-bound",)
_DIED = ("recomputed-work", *_SLEEPS)


def orders(rows: int = 20_000) -> pd.DataFrame:
    return pd.DataFrame({"shop": np.arange(rows) % 9, "paid": np.arange(rows) * 0.5})


def _folder(data: Path, name: str) -> Path:
    folder = data / f"out-{name}"
    folder.mkdir(parents=True)
    return folder


# Nothing came in


def files_with_headers_only(client: Client, data: Path) -> None:
    folder = _folder(data, "headers")
    for day in range(5):
        orders(0).to_csv(folder / f"{day}.csv", index=False)
    assert not len(dd.read_csv(str(folder / "*.csv")).groupby("shop").paid.sum())


def lines_of_empty_files(client: Client, data: Path) -> None:
    folder = _folder(data, "lines")
    for day in range(6):
        (folder / f"{day}.jsonl").touch()
    lines = db.read_text(str(folder / "*.jsonl")).map(json.loads)
    assert lines.pluck("paid").count().compute() == 0


def a_day_that_is_not_there(client: Client, data: Path) -> None:
    folder = _folder(data, "days")
    frame = orders().assign(day=np.arange(20_000) // 5_000)
    dd.from_pandas(frame, npartitions=4).to_parquet(folder)
    ddf = dd.read_parquet(folder, filters=[("day", "==", 2026)])
    assert ddf.paid.sum().compute() == 0


def one_sunday_without_orders(client: Client, data: Path) -> None:
    """One of ten files is empty: that is how it is on Sundays."""
    folder = _folder(data, "sunday")
    for day in range(10):
        orders(20_000 if day != 6 else 0).to_csv(folder / f"{day}.csv", index=False)
    frame = dd.read_csv(str(folder / "*.csv"), dtype={"shop": int, "paid": float})
    assert frame.paid.sum().compute() > 0


def nobody_is_excluded(client: Client, data: Path) -> None:
    """A table of exceptions that has none."""
    excluded = pd.DataFrame({"shop": pd.Series([], dtype=int), "why": []})
    ddf = dd.from_pandas(orders(50_000), npartitions=6)
    left = ddf.merge(dd.from_pandas(excluded, npartitions=1), on="shop", how="left")
    assert len(left) == 50_000


# One name for two things


def _loaded(day: int) -> int:
    time.sleep(0.2)
    return day * 10


def one_key_for_all_days(client: Client, data: Path) -> None:
    futures = [client.submit(_loaded, day, key="load-orders") for day in range(4)]
    assert len(set(client.gather(futures))) == 1


def two_images_of_one_name(client: Client, data: Path) -> None:
    dark, light = np.zeros((400, 400)), np.full((400, 400), 255.0)
    first = client.persist(da.from_array(dark, chunks=200, name="image") + 0)
    held = client.persist(da.from_array(dark, chunks=200, name="image"))
    wait([first, held])
    second = client.persist(da.from_array(light, chunks=200, name="image"))
    assert float(second.mean().compute()) in {0.0, 255.0}


def asked_twice_for_the_same(client: Client, data: Path) -> None:
    """Pure tasks that are submitted twice are one task: that is no collision."""
    first = client.map(_loaded, range(8))
    second = client.map(_loaded, range(8))
    held = client.submit(_loaded, 7, key="mine")
    again = client.submit(_loaded, 7, key="mine")
    client.gather([*first, *second, held, again])


# Errors that nobody saw


def retried_by_hand(client: Client, data: Path) -> None:
    folder = _folder(data, "by-hand")

    def fetched(number: int) -> int:
        mark = folder / f"{number}"
        time.sleep(0.1)
        if number % 4 == 1 and not mark.exists():
            mark.touch()
            raise OSError(f"503: no connection to the service for {number}")
        return number

    futures = client.map(fetched, range(16))
    wait(futures)
    client.retry([each for each in futures if each.status == "error"])
    client.gather(futures)


def retried_partitions(client: Client, data: Path) -> None:
    folder = _folder(data, "parts")

    def priced(part: Any) -> Any:
        mark = folder / f"{part.index[0]}"
        if not mark.exists():
            mark.touch()
            raise KeyError("the price list is being replaced")
        return part.assign(price=1)

    meta = orders(1).assign(price=1)
    with dask.annotate(retries=4):
        ddf = dd.from_pandas(orders(), npartitions=5).map_partitions(priced, meta=meta)
        with dask.config.set({"optimization.fuse.active": False}):
            ddf.price.sum().compute(optimize_graph=False)


def errors_that_are_expected(client: Client, data: Path) -> None:
    """The driver knows that some shops have no till, and says what it does without."""

    def counted(shop: int) -> int:
        if shop % 5 == 0:
            raise LookupError(f"shop {shop} has no till")
        return shop

    missing = 0
    for future in as_completed(client.map(counted, range(25))):
        missing += future.exception() is not None
    assert missing == 5


# Workers that went


def two_workers_are_killed(client: Client, data: Path) -> None:
    futures = client.map(time.sleep, [0.3] * 40, pure=False)
    for count in (5, 15):
        while sum(each.done() for each in futures) < count:
            time.sleep(0.05)
        os.kill(client.run(os.getpid).popitem()[1], signal.SIGKILL)
    client.gather(futures)


def a_cluster_that_breathes(client: Client, data: Path) -> None:
    """Workers come and go as an adaptive cluster wants them to."""
    cluster: Any = client.cluster
    cluster.adapt(minimum=1, maximum=3, interval="200ms", wait_count=2)
    for count in (30, 2, 30):
        client.gather(client.map(time.sleep, [0.2] * count, pure=False))
        time.sleep(2)
    cluster.adapt(minimum=3, maximum=3)


def restarted_between_two_parts(client: Client, data: Path) -> None:
    """The driver restarts its workers on purpose, to begin with clean ones."""
    client.gather(client.map(_loaded, range(10), pure=False))
    client.restart()
    client.gather(client.map(_loaded, range(10), pure=False))


SLOW: dict[str, Workload] = {
    each.run.__name__: each
    for each in (
        Workload(files_with_headers_only, ("silent-empty-input",)),
        Workload(lines_of_empty_files, ("silent-empty-input",)),
        Workload(a_day_that_is_not_there, ("silent-empty-input",)),
        Workload(one_sunday_without_orders),
        Workload(nobody_is_excluded),
        Workload(one_key_for_all_days, ("key-collision",)),
        Workload(two_images_of_one_name, ("key-collision",)),
        Workload(asked_twice_for_the_same),
        Workload(retried_by_hand, ("retries-hid-errors",)),
        Workload(retried_partitions, ("retries-hid-errors",)),
        # That they failed is true, and worth a line, though the driver expects it.
        Workload(errors_that_are_expected, may=("task-exception",)),
        Workload(two_workers_are_killed, ("workers-died",), _DIED, _THREE, alone=True),
        Workload(a_cluster_that_breathes, (), _SLEEPS, _THREE, alone=True),
        Workload(restarted_between_two_parts, alone=True),
    )
}
"""By the name of the job."""

if __name__ == "__main__":
    sys.exit(main(__file__, SLOW))
