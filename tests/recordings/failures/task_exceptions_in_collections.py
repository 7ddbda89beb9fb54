"""Tasks of data frames, arrays and bags that raise an exception."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import wait
from failures.shared_parts import Frame, sales, worker_pids_of
from staging import Stage, delayed, failure, later


@failure("task-exception", names="FileNotFoundError", noise="restart, scale-down")
def an_exception_after_restart_and_scale_down(stage: Stage) -> None:
    import dask.bag as db

    def read(path: str) -> str:
        return Path(path).read_text()

    with stage.local(3) as client:
        client.gather(client.map(abs, range(30)))
        client.restart()
        client.retire_workers(list(client.scheduler_info(n_workers=-1)["workers"])[:1])
        paths = [__file__] * 9 + ["/nonexistent/2026-11-21.csv"]
        db.from_sequence(paths, npartitions=5).map(read).map(len).sum().compute()


@failure(
    "task-exception",
    names=["IndexError", "summarise"],
    allowed=3,
    settings={"dataframe.shuffle.method": "p2p"},
    noise="a worker is lost in a shuffle, which begins again",
)
def an_exception_after_a_shuffle_that_began_again(stage: Stage) -> None:
    import dask.datasets

    def summarise(frame: pd.DataFrame) -> pd.DataFrame:
        if len(frame) and frame["id"].max() > 0:
            raise IndexError("single positional indexer is out-of-bounds")
        return frame

    with stage.local(3) as client:
        frame = dask.datasets.timeseries(end="2000-01-12", freq="5s")
        later(1.0, lambda: os.kill(worker_pids_of(client)[0], signal.SIGKILL))
        out = frame.shuffle("name").map_partitions(summarise, meta=frame._meta)
        out["x"].sum().compute()


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


class RowsError(ValueError):
    """Carries what cannot travel."""

    def __init__(self, source: str, lock: Any) -> None:
        super().__init__(f"source {source} has 3 bad rows")
        self.lock = lock


@failure(
    "task-exception", names=["RowsError|3 bad rows", "parse_source"], held_out="second"
)
def an_exception_that_holds_a_lock(stage: Stage) -> None:
    def parse_source(name: str) -> int:
        if name == "s4":
            raise RowsError(name, threading.Lock())
        return len(name)

    with stage.local(2):
        db.from_sequence([f"s{n}" for n in range(8)], npartitions=4).map(
            parse_source
        ).sum().compute()


@failure(
    "task-exception",
    names=["ValueError", "check_schema", "column 'amount'"],
    held_out="second",
)
def a_very_long_message(stage: Stage) -> None:
    def check_schema(frame: pd.DataFrame) -> pd.DataFrame:
        rows = "\n".join(f"row {n}: {n * 3.7!r} is not a date" for n in range(30_000))
        raise ValueError(f"column 'amount' has the wrong type\n{rows}")

    with stage.local(2):
        frame = dd.from_pandas(pd.DataFrame({"amount": range(100)}), npartitions=4)
        frame.map_partitions(check_schema, meta=frame._meta).compute()


@failure("task-exception", names=["shapes|broadcast", "regrid"], held_out="second")
def a_block_has_another_shape(stage: Stage) -> None:
    def regrid(block: Any, block_info: Any = None) -> Any:
        place = block_info[0]["chunk-location"]
        weights = np.ones((50, 50 if place != (1, 1) else 49))
        return block * weights

    with stage.local(2):
        array = da.ones((150, 150), chunks=(50, 50))
        array.map_blocks(regrid, dtype=float, meta=np.empty((0, 0))).mean().compute()


Block = Any


def smoothed(block: Block) -> Block:
    assert block.min() >= 0
    return block + np.roll(block, 1, axis=0)


@failure(
    "task-exception", names=["AssertionError", "smoothed"], held_out="third: tasks"
)
def an_assertion_without_a_word_in_map_overlap(stage: Stage) -> None:
    with stage.local(3) as client:
        image = da.random.random((1200, 1200), chunks=(200, 200))
        image[833, 421] = -1
        persisted = client.persist(image.map_overlap(smoothed, depth=2, dtype=float))
        persisted.sum().compute()


def all_cores(number: int) -> int:
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        return sum(pool.map(abs, range(-number, number)))


@failure("task-exception", names=["daemonic", "all_cores"], held_out="third: tasks")
def a_pool_of_processes_in_a_task(stage: Stage) -> None:
    with stage.local(2):
        db.from_sequence(range(1, 9), npartitions=4).map(all_cores).sum().compute()


@failure(
    "task-exception", names=["ValueError", "amount|dtype"], held_out="third: tasks"
)
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


@failure("task-exception", names=["ArrowInvalid", "Parquet"], held_out="third: tasks")
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


@failure(
    "task-exception", names=["LinAlgError|Singular", "fitted"], held_out="third: tasks"
)
def a_model_of_one_group_cannot_be_fitted(stage: Stage) -> None:
    with stage.local(2) as client:
        frame = sales(3000)
        frame.loc[frame.shop == 5, "amount"] = 0
        ddf = dd.from_pandas(frame, npartitions=8)
        models = ddf.groupby("shop").apply(fitted, meta=("model", "float64"))
        client.compute(models.nlargest(3)).result()


@failure(
    "task-exception",
    names=["ValueError|metadata|columns", "read_day|meta"],
    held_out="third: tasks",
)
def a_file_of_one_day_has_another_column(stage: Stage) -> None:
    def read_day(day: int) -> Frame:
        time.sleep(0.2)
        frame = sales(100, day)
        return frame.rename(columns={"amount": "total"}) if day == 17 else frame

    with stage.local(3):
        days = [delayed(read_day)(day) for day in range(21)]
        ddf = dd.from_delayed(days, meta=sales(1).iloc[:0], verify_meta=True)
        ddf.amount.sum().compute()


@failure("task-exception", names=["TypeError", "unhashable"], held_out="third: tasks")
def lists_are_shuffled(stage: Stage) -> None:
    def split(part: Frame) -> Frame:
        return part.assign(tags=[[int(n), 1] for n in part.shop])

    with stage.local(2):
        ddf = dd.from_pandas(sales(), npartitions=6)
        meta = sales(1).iloc[:0].assign(tags=pd.Series(dtype=object))
        with dask.config.set({"dataframe.convert-string": False}):
            by_tag = ddf.map_partitions(split, meta=meta).shuffle("tags")
            by_tag.map_partitions(len).compute()


def growth(block: Block) -> Block:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.exp(block)


@failure(
    "task-exception",
    names=["RuntimeWarning", "overflow", "growth"],
    held_out="fourth: tasks",
)
def a_warning_is_an_error(stage: Stage) -> None:
    with stage.local(2, processes=False) as client:
        values = da.arange(0, 900, chunks=100).astype(float)
        client.compute(values.map_blocks(growth, dtype=float).mean()).result()


def record_of(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


@failure(
    "task-exception",
    names=["JSONDecodeError", "Expecting|delimiter|char"],
    held_out="fourth: tasks",
)
def one_broken_line_in_a_bag_of_json(stage: Stage) -> None:
    for part in range(6):
        lines = [json.dumps({"id": n, "amount": n * part}) for n in range(200)]
        if part == 4:
            lines[77] = lines[77][:-6]
        (stage.folder / f"events-{part}.json").write_text("\n".join(lines))
    with stage.local(2) as client:
        records = db.read_text(str(stage.folder / "events-*.json")).map(record_of)
        large = records.filter(lambda each: each["amount"] > 50).pluck("id")
        client.compute(large.frequencies()).result()


def tagged(part: Frame) -> Frame:
    notes = part.amount.astype(object)
    if 19 in set(part.day):
        notes.iloc[-3] = {"corrected": True}
    return part.assign(note=notes)


@failure("task-exception", names=["Arrow", "note"], held_out="fourth: tasks")
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


def slopes(x: Any, y: Any) -> Any:
    return np.linalg.lstsq(x, y, rcond=None)[0]


@failure(
    "task-exception",
    names=["LinAlgError|dimension|Incompatible", "slopes"],
    held_out="fourth: tasks",
)
def a_gufunc_gets_a_shape_that_it_cannot_work_with(stage: Stage) -> None:
    with stage.local(2, threads_per_worker=2):
        x = da.random.random((6, 40, 3), chunks=(1, 40, 3))
        y = da.random.random((6, 40), chunks=(1, 40))
        done = da.apply_gufunc(
            slopes, "(n,k),(n)->(k)", x, y, output_dtypes=float, vectorize=False
        )
        done.sum().compute()
