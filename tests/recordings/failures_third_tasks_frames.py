"""A third set held out: data that is not as it was expected, in frames and files.

Written by somebody who had read no rule and no story of the other sets.
"""

from __future__ import annotations

import ssl
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from staging import Stage, delayed
from staging import failure as any_failure

failure = partial(any_failure, held_out="third: tasks")
afterwards = partial(any_failure, held_out="fourth: tasks")  # reported after mending

Frame = Any


def sales(rows: int = 400, seed: int = 7) -> pd.DataFrame:
    """A small table of sales."""
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "shop": chance.integers(0, 12, rows),
            "day": np.arange(rows) // 20,
            "amount": chance.integers(1, 90, rows),
        }
    )


@failure("task-exception", names=["ValueError", "amount|dtype"])
def a_word_among_the_numbers_of_one_csv(stage: Stage) -> None:
    for month in range(12):
        frame = sales(300, month).astype(object)
        if month == 8:
            frame.loc[222, "amount"] = "n.a. (sensor)"
        frame.to_csv(stage.folder / f"sales-{month:02}.csv", index=False)
    with stage.local(2) as client:
        ddf = dd.read_csv(str(stage.folder / "sales-*.csv"))
        totals = client.persist(ddf.groupby("shop").amount.sum())
        totals.compute()


@failure("task-exception", names=["ArrowInvalid", "Parquet"])
def one_file_of_parquet_is_truncated(stage: Stage) -> None:
    folder = stage.folder / "sales"
    dd.from_pandas(sales(4000), npartitions=12).to_parquet(folder)
    path = folder / "part.9.parquet"
    path.write_bytes(path.read_bytes()[:-37])
    with stage.started(2):
        ddf = dd.read_parquet(folder)
        ddf[ddf.amount > 3].amount.mean().compute()


def fitted(group: Frame) -> float:
    matrix = np.outer(group.amount, group.amount)[:2, :2].astype(float)
    if not group.amount.any():
        return float(np.linalg.inv(matrix * 0)[0, 0])
    return float(group.amount.mean())


@failure("task-exception", names=["LinAlgError|Singular", "fitted"])
def a_model_of_one_group_cannot_be_fitted(stage: Stage) -> None:
    with stage.local(2) as client:
        frame = sales(3000)
        frame.loc[frame.shop == 5, "amount"] = 0
        ddf = dd.from_pandas(frame, npartitions=8)
        models = ddf.groupby("shop").apply(fitted, meta=("model", "float64"))
        client.compute(models.nlargest(3)).result()


@afterwards("driver-exception", names=["merge|object|int64|str"])
def keys_of_a_merge_have_different_types(stage: Stage) -> None:
    with stage.local(2):
        left = dd.from_pandas(sales(), npartitions=4)
        shops = pd.DataFrame({"shop": [f"{n}" for n in range(12)], "city": "Ulm"})
        left.persist().shop.nunique().compute()
        right = dd.from_pandas(shops, npartitions=2)
        left.merge(right, on="shop", how="left").city.value_counts().compute()


@failure("task-exception", names=["ValueError|metadata|columns", "read_day|meta"])
def a_file_of_one_day_has_another_column(stage: Stage) -> None:
    def read_day(day: int) -> Frame:
        time.sleep(0.2)
        frame = sales(100, day)
        return frame.rename(columns={"amount": "total"}) if day == 17 else frame

    with stage.local(3):
        days = [delayed(read_day)(day) for day in range(21)]
        ddf = dd.from_delayed(days, meta=sales(1).iloc[:0], verify_meta=True)
        ddf.amount.sum().compute()


def tagged(part: Frame) -> Frame:
    notes = part.amount.astype(object)
    if 19 in set(part.day):
        notes.iloc[-3] = {"corrected": True}
    return part.assign(note=notes)


@afterwards("task-exception", names=["Arrow", "note"])
def the_last_partition_cannot_be_written(stage: Stage) -> None:
    def slowly(part: Frame) -> Frame:
        time.sleep(1.2)
        return part

    with stage.local(2):
        ddf = dd.from_pandas(sales(), npartitions=16).map_partitions(slowly)
        meta = sales(1).iloc[:0].assign(note=pd.Series(dtype=object))
        with dask.config.set({"dataframe.convert-string": False}):
            notes = ddf.map_partitions(tagged, meta=meta)
            notes.to_parquet(stage.folder / "out", schema=None)


@failure("task-exception", names=["TypeError", "unhashable"])
def lists_are_shuffled(stage: Stage) -> None:
    def split(part: Frame) -> Frame:
        return part.assign(tags=[[int(n), 1] for n in part.shop])

    with stage.local(2):
        ddf = dd.from_pandas(sales(), npartitions=6)
        meta = sales(1).iloc[:0].assign(tags=pd.Series(dtype=object))
        with dask.config.set({"dataframe.convert-string": False}):
            by_tag = ddf.map_partitions(split, meta=meta).shuffle("tags")
            by_tag.map_partitions(len).compute()


def slopes(x: Any, y: Any) -> Any:
    return np.linalg.lstsq(x, y, rcond=None)[0]


@afterwards("task-exception", names=["LinAlgError|dimension|Incompatible", "slopes"])
def a_gufunc_gets_a_shape_that_it_cannot_work_with(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2):
        x = da.random.random((6, 40, 3), chunks=(1, 40, 3))
        y = da.random.random((6, 40), chunks=(1, 40))
        done = da.apply_gufunc(
            slopes, "(n,k),(n)->(k)", x, y, output_dtypes=float, vectorize=False
        )
        done.sum().compute()


@afterwards("driver-exception", names=["Metadata inference|meta", "initial"])
def metadata_of_an_apply_cannot_be_inferred(stage: Stage) -> None:
    def initial(name: str) -> str:
        return {"a": "x", "b": "y"}[name[0]]

    with stage.started(2):
        frame = pd.DataFrame({"name": ["anna", "bert"] * 50})
        ddf = dd.from_pandas(frame, npartitions=4)
        ddf.name.apply(initial).value_counts().compute()


@failure("result-too-large", names=["GiB|MiB"])
def all_partitions_go_to_one_task(stage: Stage) -> None:
    def wide(number: int) -> Frame:
        return pd.DataFrame(np.full((800_000, 10), float(number)))

    with stage.local(4, memory_limit="600MiB") as client:
        meta = pd.DataFrame(np.zeros((0, 10)))
        ddf = client.persist(dd.from_map(wide, range(11), meta=meta))
        one = ddf.repartition(npartitions=1)
        one.map_partitions(len, meta=(None, "int64")).compute()


class Settings:
    """What a job is reported; some of it cannot travel."""

    def __init__(self) -> None:
        self.day = "2026-11-20"
        self.retries = {"count": 3, "tls": ssl.create_default_context()}


class Dataset:
    """A file that is open, as those of HDF5: it refuses to travel."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        raise TypeError("datasets of hdf5 can't be pickled")


class Node:
    """A tree that is deep."""

    def __init__(self, below: Node | None) -> None:
        self.below = below


@afterwards("graph-not-serializable", names=["SSLContext"])
def settings_with_a_context_of_tls(stage: Stage) -> None:
    def loaded(settings: Settings, shop: int) -> int:
        return len(settings.day) + shop

    with stage.local(2):
        settings = Settings()
        dask.compute(*[delayed(loaded)(settings, shop) for shop in range(5)])


@failure("graph-not-serializable", names=["hdf5|pickled"])
def a_dataset_that_refuses_to_travel(stage: Stage) -> None:
    with stage.local(2) as client:
        opened = Dataset(stage.folder / "images.h5")
        blocks = da.ones((40, 10), chunks=(10, 10))
        client.compute(blocks.map_blocks(lambda b, _: b, opened, dtype=float)).result()


@failure("graph-not-serializable", names=["recursion|Recursion"])
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


@failure("result-not-serializable", names=["__reduce__|Parquet", "opened"])
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


@afterwards("result-not-serializable", names=["lock", "counted"])
def attributes_of_a_frame_hold_a_lock(stage: Stage) -> None:
    def counted(part: Frame) -> Frame:
        part = part.copy()
        part.attrs["guard"] = threading.Lock()
        return part

    with stage.started(2) as (client, _):
        ddf = dd.from_pandas(sales(), npartitions=3)
        done = ddf.map_partitions(counted, meta=sales(1).iloc[:0])
        client.gather(client.compute(done.to_delayed()))
