"""Healthy jobs on data frames: queries, joins, shuffles, features, from files to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from workload_list import COMMANDS, healthy, local

__all__ = ["make_tables"]

_FILES = 12
_ROWS = 150_000


def make_tables(folder: Path) -> None:
    """Write what the jobs read, once: `x` (as in h2o), orders and their items, a log."""
    if (folder / "done").exists():
        return
    for name in ("x", "small", "items", "orders", "customers", "clicks", "csv"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    for n in range(_FILES):
        _h2o(random).to_parquet(folder / "x" / f"{n:02}.parquet")
        _items(random).to_parquet(folder / "items" / f"{n:02}.parquet")
        _clicks(random, n).to_parquet(folder / "clicks" / f"{n:02}.parquet")
        _h2o(random, _ROWS // 4).to_csv(folder / "csv" / f"{n:02}.csv", index=False)
    small = pd.DataFrame({"id4": np.arange(100), "v4": random.random(100)})
    small.to_parquet(folder / "small" / "0.parquet")
    for n in range(4):
        orders = np.arange(n * 100_000, (n + 1) * 100_000)
        frame = pd.DataFrame(
            {
                "order": orders,
                "customer": random.integers(0, 20_000, len(orders)),
                "day": random.integers(0, 2_000, len(orders)),
            }
        )
        frame.to_parquet(folder / "orders" / f"{n}.parquet")
    customers = pd.DataFrame(
        {
            "customer": np.arange(20_000),
            "segment": random.choice(["auto", "house", "machines"], 20_000),
            "nation": random.integers(0, 25, 20_000),
        }
    )
    customers.to_parquet(folder / "customers" / "0.parquet")
    (folder / "done").touch()


def _h2o(random: np.random.Generator, rows: int = _ROWS) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id1": random.choice([f"id{n:03}" for n in range(100)], rows),
            "id3": random.integers(0, rows // 2, rows),
            "id4": random.integers(0, 100, rows),
            "v1": random.integers(1, 6, rows),
            "v2": random.integers(1, 16, rows),
            "v3": random.random(rows) * 100,
        }
    )


def _items(random: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "order": random.integers(0, 400_000, _ROWS),
            "quantity": random.integers(1, 50, _ROWS),
            "price": random.random(_ROWS) * 1e5,
            "discount": random.integers(0, 11, _ROWS) / 100,
            "shipped": random.integers(0, 2_500, _ROWS),
            "flag": random.choice(["A", "N", "R"], _ROWS),
        }
    )


def _clicks(random: np.random.Generator, day: int) -> pd.DataFrame:
    begun = pd.Timestamp("2026-01-01") + pd.Timedelta(days=day)
    seconds = np.sort(random.integers(0, 86_400_000, _ROWS))
    return pd.DataFrame(
        {
            "at": begun + pd.to_timedelta(seconds, unit="ms"),
            "user": random.integers(0, 30_000, _ROWS),
            "page": random.choice(
                [f"/shop/item/{n}?ref=mail" for n in range(500)], _ROWS
            ),
            "seconds": random.exponential(30, _ROWS),
        }
    )


def _read(data: Path, name: str, **more: Any) -> Any:
    return dd.read_parquet(data / name, **more)


@healthy(set=1, needs=make_tables)
def h2o_sum_by_few(client: Client, data: Path) -> None:
    _read(data, "x").groupby("id1")["v1"].sum().compute()


@healthy(set=1, cluster=local(1, 2, "4GiB"), needs=make_tables)
def h2o_mean_by_many(client: Client, data: Path) -> None:
    x = _read(data, "x")
    by = x.groupby("id3").agg({"v1": "sum", "v3": "mean"}, split_out=4)
    by.to_parquet(data / "out-many")


@healthy(set=1, cluster=local(2, 2, "3GiB"), needs=make_tables)
def h2o_deviations(client: Client, data: Path) -> None:
    _read(data, "x").groupby("id4").agg({"v3": ["mean", "std"], "v2": "max"}).compute()


@healthy(set=1, cluster=COMMANDS, needs=make_tables)
def h2o_join_small(client: Client, data: Path) -> None:
    joined = _read(data, "x").merge(_read(data, "small"), on="id4")
    joined.groupby("id1")["v4"].sum().compute()


@healthy(set=1, cluster=local(3), needs=make_tables)
def h2o_join_big(client: Client, data: Path) -> None:
    x = _read(data, "x")
    other = _read(data, "x", columns=["id3", "v2"])
    other = other.rename(columns={"v2": "w"}).drop_duplicates("id3", split_out=6)
    x.merge(other, on="id3")[["v1", "w"]].sum().compute()


@healthy(set=1, needs=make_tables)
def pricing_summary(client: Client, data: Path) -> None:
    items = _read(data, "items")
    items = items[items.shipped <= 2_400]
    items = items.assign(paid=items.price * (1 - items.discount))
    wanted = {"quantity": "sum", "price": "sum", "paid": "sum", "discount": "mean"}
    items.groupby("flag").agg(wanted).compute()


@healthy(set=1, cluster=local(1, 2, "4GiB"), needs=make_tables)
def shipping_priority(client: Client, data: Path) -> None:
    customers, orders = _read(data, "customers"), _read(data, "orders")
    items = _read(data, "items")
    chosen = orders.merge(customers[customers.segment == "house"], on="customer")
    late = items[items.shipped > 1_500].merge(chosen[chosen.day < 1_500], on="order")
    late = late.assign(paid=late.price * (1 - late.discount))
    late.groupby(["order", "day"])["paid"].sum().nlargest(10).compute()


@healthy(set=1, cluster=local(2, 2, "3GiB"), needs=make_tables)
def local_suppliers(client: Client, data: Path) -> None:
    orders = _read(data, "orders").merge(_read(data, "customers"), on="customer")
    joined = _read(data, "items").merge(orders, on="order")
    joined.groupby("nation")["price"].sum().compute()


@healthy(set=1, cluster=COMMANDS, needs=make_tables)
def revenue_forecast(client: Client, data: Path) -> None:
    items = _read(data, "items")
    few = items[(items.discount > 0.04) & (items.quantity < 24)]
    (few.price * few.discount).sum().compute()


@healthy(set=1, cluster=local(3), needs=make_tables)
def shuffle_to_files(client: Client, data: Path) -> None:
    _read(data, "x").shuffle("id3").to_parquet(data / "out-shuffled")


@healthy(set=1, needs=make_tables)
def set_index_to_files(client: Client, data: Path) -> None:
    _read(data, "x").set_index("id3").to_parquet(data / "out-indexed")


@healthy(set=1, cluster=local(1, 2, "4GiB"), needs=make_tables)
def clean_to_files(client: Client, data: Path) -> None:
    clicks = _read(data, "clicks").dropna()
    clicks = clicks[clicks.seconds < 300]
    clicks = clicks.assign(
        item=clicks.page.str.extract(r"/(\d+)\?", expand=False).astype("int64"),
        hour=clicks["at"].dt.hour,
    )
    clicks.drop(columns="page").to_parquet(data / "out-clean")


@healthy(set=1, cluster=local(2, 2, "3GiB"), needs=make_tables)
def csv_to_files(client: Client, data: Path) -> None:
    dd.read_csv(str(data / "csv" / "*.csv")).to_parquet(data / "out-from-csv")


@healthy(set=1, cluster=COMMANDS, needs=make_tables)
def clicks_by_minute(client: Client, data: Path) -> None:
    clicks = _read(data, "clicks")
    minutes = clicks.assign(minute=clicks["at"].dt.floor("min"))
    minutes.groupby("minute").agg({"seconds": "mean", "user": "count"}).compute()


@healthy(set=1, cluster=local(3), needs=make_tables)
def rolling_features(client: Client, data: Path) -> None:
    def features(frame: pd.DataFrame) -> pd.DataFrame:
        by: Any = frame.sort_values(["user", "at"]).groupby("user")["seconds"]
        return frame.assign(
            mean=by.transform("mean"), before=by.shift(), longest=by.cummax()
        )

    clicks = _read(data, "clicks")
    meta = features(clicks._meta)
    clicks.map_partitions(features, meta=meta).to_parquet(data / "out-features")


@healthy(set=1, needs=make_tables)
def pages_counted(client: Client, data: Path) -> None:
    pages = _read(data, "clicks").page.str.upper().str.replace("MAIL", "POST")
    pages.value_counts().compute()


@healthy(set=1, cluster=local(1, 2, "4GiB"), needs=make_tables)
def distinct_users(client: Client, data: Path) -> None:
    _read(data, "clicks")[["user", "page"]].drop_duplicates(split_out=4).size.compute()


@healthy(set=1, cluster=local(2, 2, "3GiB"), needs=make_tables)
def described(client: Client, data: Path) -> None:
    _read(data, "x")[["v1", "v2", "v3"]].describe().compute()


@healthy(set=1, cluster=COMMANDS, needs=make_tables)
def one_hot(client: Client, data: Path) -> None:
    items = _read(data, "items").categorize(columns=["flag"])
    dd.get_dummies(items, columns=["flag"]).mean().compute()


@healthy(set=1, cluster=local(3), needs=make_tables)
def several_at_once(client: Client, data: Path) -> None:
    x = _read(data, "x")
    dask.compute(x.v1.sum(), x.v3.mean(), x.groupby("id4")["v2"].max(), x.v3.std())


@healthy(set=1, needs=make_tables)
def persisted_and_asked(client: Client, data: Path) -> None:
    x = _read(data, "x").persist()
    for by in ("id1", "id4"):
        x.groupby(by)["v3"].mean().compute()
        x.groupby(by)["v1"].std().compute()


@healthy(set=1, cluster=local(1, 2, "4GiB"), needs=make_tables)
def scored_by_a_model(client: Client, data: Path) -> None:
    def score(frame: pd.DataFrame, weights: np.ndarray[Any, Any]) -> pd.Series:
        features = frame[["v1", "v2", "v3"]].to_numpy(dtype=float)
        for _ in range(30):
            hidden = np.tanh(features @ weights)
        return pd.Series(hidden.mean(axis=1), index=frame.index)

    weights = np.random.default_rng(1).normal(size=(3, 24))
    x = _read(data, "x")
    scores = x.map_partitions(score, weights, meta=("score", "float64"))
    scores.mean().compute()


@healthy(set=1, cluster=local(2, 2, "3GiB"), needs=make_tables)
def datasets_timeseries(client: Client, data: Path) -> None:
    frame = dask.datasets.timeseries(
        end="2000-01-25", freq="2s", partition_freq="2d", seed=1
    )
    frame.groupby("name")[["x", "y"]].mean().compute()
