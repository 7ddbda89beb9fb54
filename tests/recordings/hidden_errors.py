"""Jobs that succeed with a wrong or empty result, and jobs that only look as if they did."""

from __future__ import annotations

import json
import time
from pathlib import Path

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, as_completed, wait
from work import fresh_folder, loaded, orders


def talkative(client: Client, data: Path) -> None:
    def talk(number: int) -> int:
        for n in range(200):
            print(f"line {n} of {number}")
        return number

    client.gather(client.map(talk, range(300)))


def one_name_for_all_days(client: Client, data: Path) -> None:
    """Delayed tasks with a name of one's own, and other inputs than before."""

    def load(day: str) -> str:
        time.sleep(0.2)
        return day

    def total(day: str) -> int:
        return len(day)

    monday = dask.delayed(load)("monday", dask_key_name="load-monday")
    first = dask.delayed(total)(monday, dask_key_name="total").persist()
    wait(first)
    tuesday = dask.delayed(load)("tuesday", dask_key_name="load-tuesday")
    second = dask.delayed(total)(tuesday, dask_key_name="total").compute()
    assert second == first.compute()


def a_pattern_of_no_file(client: Client, data: Path) -> None:
    frame = dd.read_parquet(data / "x" / "2027-*.parquet")
    assert len(frame.compute()) == 0


def night_of_orders(client: Client, data: Path, *, rows: int = 1) -> None:
    """Orders are read from the day's file; one night it holds its header only."""
    folder = data / "out-orders"
    folder.mkdir()
    numbers = np.arange(rows * 60_000)
    frame = pd.DataFrame({"order": numbers, "paid": numbers * 0.5, "note": "as agreed"})
    frame.to_csv(folder / "day.csv", index=False)
    dd.read_csv(str(folder / "*.csv")).paid.sum().compute()


def files_with_headers_only(client: Client, data: Path) -> None:
    folder = fresh_folder(data, "headers")
    for day in range(5):
        orders(0).to_csv(folder / f"{day}.csv", index=False)
    assert not len(dd.read_csv(str(folder / "*.csv")).groupby("shop").paid.sum())


def lines_of_empty_files(client: Client, data: Path) -> None:
    folder = fresh_folder(data, "lines")
    for day in range(6):
        (folder / f"{day}.jsonl").touch()
    lines = db.read_text(str(folder / "*.jsonl")).map(json.loads)
    assert lines.pluck("paid").count().compute() == 0


def a_day_that_is_not_there(client: Client, data: Path) -> None:
    folder = fresh_folder(data, "days")
    frame = orders().assign(day=np.arange(20_000) // 5_000)
    dd.from_pandas(frame, npartitions=4).to_parquet(folder)
    ddf = dd.read_parquet(folder, filters=[("day", "==", 2026)])
    assert ddf.paid.sum().compute() == 0


def one_sunday_without_orders(client: Client, data: Path) -> None:
    """One of ten files is empty: that is how it is on Sundays."""
    folder = fresh_folder(data, "sunday")
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


def one_key_for_all_days(client: Client, data: Path) -> None:
    futures = [client.submit(loaded, day, key="load-orders") for day in range(4)]
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
    first = client.map(loaded, range(8))
    second = client.map(loaded, range(8))
    held = client.submit(loaded, 7, key="mine")
    again = client.submit(loaded, 7, key="mine")
    client.gather([*first, *second, held, again])


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
