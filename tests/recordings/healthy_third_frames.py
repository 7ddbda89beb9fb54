"""Healthy jobs on data frames, a third time: books, joins, cleaning, histories, files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import dask
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, wait
from healthy_queries import make_shop

__all__ = ["FRAMES_AGAIN", "make_ledgers"]

_DAYS = 24


def make_ledgers(folder: Path) -> None:
    """Write, once: sales by the day of a chain of shops, quotes and trades, zipped logs."""
    make_shop(folder)
    folder = folder / "ledgers"
    if (folder / "done").exists():
        return
    random = np.random.default_rng(33)
    for name in ("sales", "trades", "quotes", "zipped"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for day in range(_DAYS):
        # Every seventh day is a Sunday, and one day is the day of the sale.
        rows = 0 if day % 7 == 6 else 240_000 if day == 17 else 60_000
        sold = pd.DataFrame(
            {
                "shop": random.integers(0, 40, rows),
                "article": random.integers(0, 5_000, rows),
                "pieces": random.integers(1, 9, rows),
                "price": random.random(rows) * 100,
                "till": random.choice(["a", "b", "self"], rows),
            }
        )
        sold.to_parquet(folder / "sales" / f"{day:02}.parquet")
    for name, count in (("trades", 60_000), ("quotes", 180_000)):
        for hour in range(8):
            begun = pd.Timestamp("2026-03-02 09:00") + pd.Timedelta(hours=hour)
            at = begun + pd.to_timedelta(np.sort(random.random(count)) * 3_600, "s")
            paper = random.integers(0, 50, count)
            frame = pd.DataFrame({"at": at, "paper": paper, name: random.random(count)})
            frame.set_index("at").to_parquet(folder / name / f"{hour}.parquet")
    for n in range(16):
        rows_of = (
            {"at": i, "level": "ERROR" if i % 50 == 0 else "INFO", "took": i % 97}
            for i in range(n * 40_000, n * 40_000 + 25_000)
        )
        text = "\n".join(json.dumps(row) for row in rows_of)
        (folder / "zipped" / f"{n:02}.json.gz").write_bytes(
            gzip.compress(text.encode())
        )
    (folder / "done").touch()


def _read(data: Path, name: str, **more: Any) -> Any:
    return dd.read_parquet(data / "ledgers" / name, **more)


def _shop(data: Path, name: str) -> Any:
    return dd.read_parquet(data / "shop" / name)


def best_supplier(client: Client, data: Path) -> None:
    """What each supplier has earned, and then who earned most: two computes, one read."""
    lines = _shop(data, "lines")
    earned = lines.assign(earned=lines.price * (1 - lines.discount))
    by = earned.groupby("supplier")["earned"].sum().persist()
    most = by.max().compute()
    suppliers = _shop(data, "suppliers").set_index("supplier")
    assert len(suppliers.join(by[by >= most].to_frame(), how="inner").compute()) >= 1


def small_orders_of_a_brand(client: Client, data: Path) -> None:
    """Lines below a fifth of what is usual for their part."""
    parts = _shop(data, "parts")
    lines = _shop(data, "lines")[["part", "quantity", "price"]]
    chosen = lines.merge(parts[parts.brand == "Brand#23"][["part"]], on="part")
    usual = chosen.groupby("part")["quantity"].mean().rename("usual").reset_index()
    chosen = chosen.merge(usual, on="part")
    chosen[chosen.quantity < 0.2 * chosen.usual]["price"].sum().compute()


def six_columns_grouped(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x")
    by = x.groupby(["id1", "id4", "v1", "v2"], sort=False)
    by.agg({"v3": "sum", "id3": "count"}, split_out=4).to_parquet(data / "out-six")


def range_by_group(client: Client, data: Path) -> None:
    by = dd.read_parquet(data / "x").groupby("id3").agg({"v1": "max", "v2": "min"})
    (by.v1 - by.v2).max().compute()


def shuffled_by_tasks(client: Client, data: Path) -> None:
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        sales = _read(data, "sales").shuffle("shop")
        sales.map_partitions(len).sum().compute()


def a_day_of_sale(client: Client, data: Path) -> None:
    """Sundays have no rows, and one day has four times as many as others."""

    def baskets(day: pd.DataFrame) -> Any:
        grown = pd.concat([day] * 3).sort_values(["article", "price"])
        return grown.groupby("article")[["pieces"]].sum()

    sales = _read(data, "sales")
    sales.map_partitions(baskets, meta={"pieces": "int64"}).sum().compute()


def nobody_returned_anything(client: Client, data: Path) -> None:
    """The answer is: none.  It was looked for in all of the books."""
    sales = _read(data, "sales")
    odd = sales[(sales.pieces > 8) & (sales.price > 100)]
    found = odd.merge(_shop(data, "parts"), left_on="article", right_on="part")
    found.to_parquet(data / "out-odd")
    assert len(found) == 0


def trades_with_quotes(client: Client, data: Path) -> None:
    trades, quotes = _read(data, "trades"), _read(data, "quotes")
    joined = dd.merge_asof(
        trades, quotes, left_index=True, right_index=True, by="paper"
    )
    (joined.trades - joined.quotes).abs().mean().compute()


def bars_of_minutes(client: Client, data: Path) -> None:
    quotes = _read(data, "quotes", calculate_divisions=True)
    bars = quotes.quotes.resample("1min").ohlc()
    smooth = quotes.quotes.rolling("30s").mean()
    dask.compute(bars, smooth.max(), quotes.quotes.diff().abs().mean())


def pivoted_and_melted(client: Client, data: Path) -> None:
    sales = _read(data, "sales").categorize(columns=["till"])
    wide = sales.pivot_table(index="shop", columns="till", values="price")
    long = dd.from_pandas(wide.compute().reset_index(), npartitions=2).melt(
        id_vars=["shop"]
    )
    long.value.mean().compute()


def ten_questions_of_a_notebook(client: Client, data: Path) -> None:
    """Loaded once, asked ten times."""
    sales = _read(data, "sales").repartition(npartitions=12).persist()
    wait(sales)
    for column in ("pieces", "price"):
        sales[column].mean().compute()
        sales[column].std().compute()
        sales.groupby("shop")[column].sum().compute()
        sales.groupby("till")[column].median().compute()
        sales[column].quantile([0.1, 0.5, 0.9]).compute()


def one_after_another_in_memory(client: Client, data: Path) -> None:
    """A frame is held, worked on and let go; then the next."""
    for name in ("sales", "trades", "quotes"):
        frame = _read(data, name).persist()
        wait(frame)
        frame.describe().compute()
        del frame


def zipped_logs(client: Client, data: Path) -> None:
    """Lines that say ERROR are what it counts."""
    texts = db.read_text(str(data / "ledgers" / "zipped" / "*.gz"))
    records = texts.map(json.loads).filter(lambda row: row["level"] == "ERROR")
    frame = records.to_dataframe(meta={"at": int, "level": str, "took": int})
    frame.groupby("took")["at"].count().compute()


def cleaned_every_night(client: Client, data: Path) -> None:
    sales = _read(data, "sales").drop_duplicates(["shop", "article", "price"])
    sales = sales.assign(worth=sales.pieces * sales.price).dropna()
    sales = sales[sales.worth > 5].repartition(npartitions=6)
    sales.to_parquet(data / "out-clean", partition_on="till")


def indexed_and_looked_up(client: Client, data: Path) -> None:
    sales = _read(data, "sales").set_index("article", npartitions=8).persist()
    for article in (17, 1_700, 4_100):
        assert len(sales.loc[article : article + 20].compute()) > 0


FRAMES_AGAIN: tuple[Any, ...] = (
    best_supplier, small_orders_of_a_brand, six_columns_grouped, range_by_group,
    shuffled_by_tasks, a_day_of_sale, nobody_returned_anything, trades_with_quotes,
    bars_of_minutes, pivoted_and_melted, ten_questions_of_a_notebook,
    one_after_another_in_memory, zipped_logs, cleaned_every_night,
    indexed_and_looked_up,
)  # fmt: skip
