"""Healthy jobs on data frames, as public suites have them: a shop's books, joins, files."""

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
from healthy_frames import make_tables
from workload_list import COMMANDS, IN_PROCESS, healthy, local

__all__ = ["make_ledgers", "make_shop"]

_FILES = 6
_LINES = 120_000
_ORDERS = 30_000
_BRANDS = [f"Brand#{a}{b}" for a in range(1, 6) for b in range(1, 6)]
_KINDS = ["PROMO BRASS", "PROMO TIN", "STANDARD BRASS", "LARGE STEEL", "SMALL COPPER"]


def make_shop(folder: Path) -> None:
    """Write a shop's books, once: lines of orders, orders, parts, suppliers, customers."""
    make_tables(folder)
    folder = folder / "shop"
    if (folder / "done").exists():
        return
    random = np.random.default_rng(22)
    for name in ("lines", "orders", "parts", "suppliers", "offers", "customers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(2_400), unit="D")
    for n in range(_FILES):
        _lines(random, days).to_parquet(folder / "lines" / f"{n}.parquet")
        numbers = np.arange(n * _ORDERS, (n + 1) * _ORDERS)
        orders = pd.DataFrame(
            {
                "order": numbers,
                "customer": random.integers(0, 14_000, _ORDERS),
                "ordered": random.choice(days, _ORDERS),
                "priority": random.choice(["1-URGENT", "2-HIGH", "5-LOW"], _ORDERS),
                "comment": random.choice(["quick", "special requests", "-"], _ORDERS),
            }
        )
        orders.to_parquet(folder / "orders" / f"{n}.parquet")
    parts = pd.DataFrame(
        {
            "part": np.arange(20_000),
            "brand": random.choice(_BRANDS, 20_000),
            "kind": random.choice(_KINDS, 20_000),
            "size": random.integers(1, 51, 20_000),
        }
    )
    parts.to_parquet(folder / "parts" / "0.parquet")
    suppliers = {"supplier": np.arange(1_000), "nation": random.integers(0, 25, 1_000)}
    pd.DataFrame(suppliers).to_parquet(folder / "suppliers" / "0.parquet")
    offers = {
        "part": np.repeat(np.arange(20_000), 4),
        "supplier": random.integers(0, 1_000, 80_000),
        "cost": random.random(80_000) * 1_000,
    }
    pd.DataFrame(offers).to_parquet(folder / "offers" / "0.parquet")
    customers = {
        "customer": np.arange(20_000),
        "nation": random.integers(0, 25, 20_000),
        "balance": random.normal(2_000, 3_000, 20_000),
        "phone": random.choice(["13-1", "31-2", "23-3", "29-4", "30-5"], 20_000),
    }
    pd.DataFrame(customers).to_parquet(folder / "customers" / "0.parquet")
    (folder / "done").touch()


def _lines(random: np.random.Generator, days: Any) -> pd.DataFrame:
    shipped = random.choice(days, _LINES)
    return pd.DataFrame(
        {
            "order": random.integers(0, _FILES * _ORDERS, _LINES),
            "part": random.integers(0, 20_000, _LINES),
            "supplier": random.integers(0, 1_000, _LINES),
            "quantity": random.integers(1, 51, _LINES),
            "price": random.random(_LINES) * 1e5,
            "discount": random.integers(0, 11, _LINES) / 100,
            "returned": random.choice(["R", "A", "N"], _LINES),
            "shipped": shipped,
            "promised": shipped
            + pd.to_timedelta(random.integers(-30, 30, _LINES), "D"),
            "mode": random.choice(["AIR", "MAIL", "SHIP", "TRUCK"], _LINES),
        }
    )


def _shop(data: Path, name: str) -> Any:
    return dd.read_parquet(data / "shop" / name)


def _earned(lines: Any) -> Any:
    return lines.assign(earned=lines.price * (1 - lines.discount))


@healthy(set=2, needs=make_shop)
def cheapest_supplier(client: Client, data: Path) -> None:
    offers = _shop(data, "offers").merge(_shop(data, "suppliers"), on="supplier")
    parts = _shop(data, "parts")
    wanted = parts[(parts["size"] == 15) & parts.kind.str.endswith("BRASS")]
    offers = offers[offers.nation < 5].merge(wanted, on="part")
    least = offers.groupby("part")["cost"].min().reset_index()
    offers.merge(least, on=["part", "cost"]).nlargest(100, "cost").compute()


@healthy(set=2, needs=make_shop)
def orders_by_priority(client: Client, data: Path) -> None:
    lines, orders = _shop(data, "lines"), _shop(data, "orders")
    late = lines[lines.promised < lines.shipped][["order"]].drop_duplicates()
    chosen = orders[orders.ordered >= pd.Timestamp("2022-07-01")]
    chosen.merge(late, on="order").groupby("priority").size().compute()


@healthy(set=2, cluster=local(3), needs=make_shop)
def volume_between_nations(client: Client, data: Path) -> None:
    lines, orders = _earned(_shop(data, "lines")), _shop(data, "orders")
    sellers = _shop(data, "suppliers").rename(columns={"nation": "seller"})
    buyers = _shop(data, "customers")[["customer", "nation"]]
    joined = lines.merge(sellers, on="supplier").merge(orders, on="order")
    joined = joined.merge(buyers, on="customer")
    joined = joined[joined.seller != joined.nation]
    joined = joined.assign(year=joined.shipped.dt.year)
    joined.groupby(["seller", "nation", "year"])["earned"].sum().compute()


@healthy(set=2, cluster=COMMANDS, needs=make_shop)
def profit_by_product(client: Client, data: Path) -> None:
    lines = _earned(_shop(data, "lines")).merge(_shop(data, "parts"), on="part")
    lines = lines[lines.kind.str.contains("STEEL|TIN")]
    joined = lines.merge(_shop(data, "offers"), on=["part", "supplier"], how="left")
    joined = joined.merge(_shop(data, "orders"), on="order")
    gain = joined.earned - joined.cost.fillna(0) * joined.quantity
    joined = joined.assign(gain=gain, year=joined.ordered.dt.year)
    joined.groupby(["brand", "year"])["gain"].sum().compute()


@healthy(set=2, needs=make_shop)
def returned_items(client: Client, data: Path) -> None:
    lines = _earned(_shop(data, "lines"))
    joined = lines[lines.returned == "R"].merge(_shop(data, "orders"), on="order")
    lost = joined.groupby("customer")["earned"].sum(split_out=2).reset_index()
    lost.merge(_shop(data, "customers"), on="customer").nlargest(20, "earned").compute()


@healthy(set=2, cluster=local(1, 1, "1GiB"), needs=make_shop)
def shipping_modes(client: Client, data: Path) -> None:
    lines, orders = _shop(data, "lines"), _shop(data, "orders")
    lines = lines[lines["mode"].isin(["MAIL", "SHIP"])]
    joined = lines.merge(orders, on="order")
    joined = joined.assign(high=joined.priority.isin(["1-URGENT", "2-HIGH"]))
    joined.groupby("mode")["high"].agg(["sum", "count"]).compute()


@healthy(set=2, needs=make_shop)
def orders_a_customer(client: Client, data: Path) -> None:
    """How many customers have how many orders."""
    orders = _shop(data, "orders")
    orders = orders[~orders.comment.str.contains("special.*requests")]
    joined = _shop(data, "customers").merge(orders, on="customer", how="left")
    counts = joined.groupby("customer")["order"].count().reset_index()
    counts.groupby("order").size().compute()


@healthy(set=2, needs=make_shop)
def promotion_effect(client: Client, data: Path) -> None:
    lines = _earned(_shop(data, "lines"))
    joined = lines.merge(_shop(data, "parts")[["part", "kind"]], on="part")
    promoted = joined[joined.kind.str.startswith("PROMO")]
    a, b = dask.compute(promoted.earned.sum(), joined.earned.sum())
    assert 0 < a < b


@healthy(set=2, cluster=local(2, 1, 0), needs=make_shop)
def large_volume_customers(client: Client, data: Path) -> None:
    lines, orders = _shop(data, "lines"), _shop(data, "orders")
    totals = lines.groupby("order")["quantity"].sum(split_out=True).reset_index()
    big = totals[totals.quantity > 150].merge(orders, on="order")
    big.merge(_shop(data, "customers"), on="customer").nlargest(
        100, "quantity"
    ).compute()


@healthy(set=2, needs=make_shop)
def discounted_by_many_filters(client: Client, data: Path) -> None:
    joined = _earned(_shop(data, "lines")).merge(_shop(data, "parts"), on="part")
    chosen = joined[
        ((joined.brand == "Brand#12") & (joined["size"] < 6) & (joined.quantity < 11))
        | ((joined.brand == "Brand#23") & joined.quantity.between(10, 20))
        | ((joined.brand == "Brand#34") & joined["mode"].isin(["AIR"]))
    ]
    chosen.earned.sum().compute()


@healthy(set=2, needs=make_shop)
def customers_without_orders(client: Client, data: Path) -> None:
    customers = _shop(data, "customers")
    mean = customers[customers.balance > 0].balance.mean()
    rich = customers[customers.balance > mean]
    joined = rich.merge(_shop(data, "orders"), on="customer", how="left")
    joined[joined.order.isna()].groupby("phone")["balance"].agg(
        ["count", "sum"]
    ).compute()


@healthy(set=2, needs=make_shop)
def medians_by_group(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x")
    x.groupby("id4")[["v3"]].median(shuffle_method="p2p").compute()


@healthy(set=2, needs=make_shop)
def largest_two_by_group(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x", columns=["id4", "v3"])
    x.groupby("id4")["v3"].apply(
        lambda v: v.nlargest(2), meta=("v3", "float64")
    ).compute()


@healthy(set=2, needs=make_shop)
def correlations_by_group(client: Client, data: Path) -> None:
    def squared(frame: pd.DataFrame) -> pd.Series:
        return pd.Series({"r2": frame["v1"].corr(frame["v2"]) ** 2})

    x = dd.read_parquet(data / "x", columns=["id1", "v1", "v2"])
    x.groupby("id1")[["v1", "v2"]].apply(squared, meta={"r2": "float64"}).compute()


@healthy(set=2, needs=make_shop)
def csv_with_categories(client: Client, data: Path) -> None:
    kinds = {"id1": "category", "id3": "Int32", "id4": "Int32", "v3": "float64"}
    x = dd.read_csv(str(data / "csv" / "*.csv"), dtype=kinds, blocksize="2 MiB")
    x.groupby("id1", observed=True)["v3"].mean().compute()


@healthy(set=2, needs=make_shop)
def csv_cleaned_to_files(client: Client, data: Path) -> None:
    """Converters in Python, rows dropped, duplicates dropped, a few written."""
    x = dd.read_csv(
        str(data / "csv" / "*.csv"),
        converters={"v3": lambda text: float(text.replace("#", "") or "nan")},
        on_bad_lines="skip",
    )
    x = x.map_partitions(lambda part: part.drop_duplicates(subset=["id3"]))
    x["chosen"] = x.id1.str.contains("id01|id02", regex=True)
    x[x.chosen].to_parquet(data / "out-chosen", write_index=False)


def _series(days: int, width: int, seed: int, start: str = "2020-01-01") -> Any:
    end = pd.Timestamp(start) + pd.Timedelta(days=days)
    return dask.datasets.timeseries(
        start=start, end=str(end.date()), freq="4s", partition_freq="1d",
        dtypes={f"c{n}": float for n in range(width)}, seed=seed,
    )  # fmt: skip


@healthy(set=2, needs=make_shop)
def aligned_series(client: Client, data: Path) -> None:
    a, b = _series(12, 20, 1), _series(6, 20, 2, start="2019-12-29")
    (b - a).mean().compute()


@healthy(set=2, needs=make_shop)
def join_of_series(client: Client, data: Path) -> None:
    def keyed(frame: Any) -> Any:
        return frame.assign(key=(frame.c0 * 1e5).astype(int))

    a, b = keyed(_series(8, 10, 3)), keyed(_series(8, 10, 4))
    joined = a.merge(b, on="key", how="inner", suffixes=("", "_b"))
    joined.map_partitions(lambda part: part).size.compute()


@healthy(set=2, needs=make_shop)
def indexed_after_persist(client: Client, data: Path) -> None:
    frame = _series(10, 16, 5).persist()
    wait(frame)
    frame.set_index("c0").map_partitions(lambda part: part).size.compute()


@healthy(set=2, needs=make_shop)
def chain_of_copies(client: Client, data: Path) -> None:
    frame = _series(10, 30, 6).rename(columns={"c1": "first"}).fillna(100)
    frame = frame.replace(0.5, 0.25).astype({"c5": "float32"})
    wait(frame[[f"c{n}" for n in range(2, 28)]].persist())


@healthy(set=2, cluster=local(1, 2, "3GiB"), needs=make_shop)
def wide_to_files(client: Client, data: Path) -> None:
    kinds: dict[str, Any] = {f"name-{n}": str for n in range(6)}
    kinds |= {f"price-{n}": float for n in range(6)} | {
        f"id-{n}": int for n in range(6)
    }
    frame = dask.datasets.timeseries(
        end="2000-01-09", freq="4s", partition_freq="1d", dtypes=kinds, seed=7
    )
    frame.to_parquet(data / "out-wide")


@healthy(set=2, needs=make_shop)
def partitioned_by_hive(client: Client, data: Path) -> None:
    lines = _shop(data, "lines")
    lines = lines.assign(year=lines.shipped.dt.year)
    lines.to_parquet(data / "out-hive", partition_on=["year", "mode"])
    read = dd.read_parquet(data / "out-hive")
    read.groupby(["year", "mode"], observed=True)["price"].first().compute()


@healthy(set=2, needs=make_shop)
def resampled_and_rolled(client: Client, data: Path) -> None:
    frame = dask.datasets.timeseries(end="2000-01-21", freq="5s", seed=8)
    dask.compute(
        frame[["x", "y"]].resample("1h").mean(),
        frame.x.rolling("10min").mean().max(),
        frame.groupby("name")["y"].std(),
    )


@healthy(set=2, needs=make_shop)
def taxi_explored(client: Client, data: Path) -> None:
    """Read, held, and asked some questions, as in a notebook."""
    clicks = dd.read_parquet(data / "clicks")
    clicks["kind"] = clicks.page.str.slice(0, 12).replace({"/shop/item/1": "one"})
    clicks["long"] = clicks.seconds > 60
    clicks = clicks.persist()
    clicks.long.mean().compute()
    clicks.groupby("kind")["long"].value_counts().compute()
    clicks.groupby("kind")["long"].mean().compute()


@healthy(set=2, needs=make_shop)
def from_readers(client: Client, data: Path) -> None:
    """Files that only pandas can read, one a task."""

    def read(path: Path) -> pd.DataFrame:
        return pd.read_csv(path, dtype={"id1": "string"}).query("v1 > 1")

    paths = sorted((data / "csv").glob("*.csv"))
    frame = dd.from_delayed([dask.delayed(read)(path) for path in paths])
    frame.groupby("id1")["v3"].max().compute()


@healthy(set=2, needs=make_shop)
def filtered_to_nothing(client: Client, data: Path) -> None:
    """Nobody is that old: the answer is an empty table, and right."""
    lines = _shop(data, "lines")
    assert not len(lines[lines.price > 1e9].compute())


@healthy(set=2, cluster=IN_PROCESS, needs=make_shop)
def one_small_table(client: Client, data: Path) -> None:
    """A lookup table of three rows, and what goes with it."""
    frame = dd.from_pandas(pd.DataFrame({"x": [1, 2, 3]}), npartitions=1)
    assert int((frame.x + 1).sum().compute()) == 9


@healthy(set=2, needs=make_shop)
def length_of_one_file(client: Client, data: Path) -> None:
    """Only the number of rows is asked for: no column is read."""
    suppliers = _shop(data, "suppliers")
    assert len(suppliers) == 1_000
    assert suppliers.map_partitions(len).compute().sum() == 1_000
    suppliers[[]].compute()


@healthy(set=2, needs=make_shop)
def nothing_new_today(client: Client, data: Path) -> None:
    """A file of a header and no rows, as a quiet day has it."""
    folder = data / "out-quiet"
    folder.mkdir()
    (folder / "today.csv").write_text("at,user,paid\n")
    assert len(dd.read_csv(str(folder / "*.csv")).compute()) == 0


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


@healthy(set=3, cluster=local(1, 2, "3GiB"), needs=make_ledgers)
def best_supplier(client: Client, data: Path) -> None:
    """What each supplier has earned, and then who earned most: two computes, one read."""
    lines = _shop(data, "lines")
    earned = lines.assign(earned=lines.price * (1 - lines.discount))
    by = earned.groupby("supplier")["earned"].sum().persist()
    most = by.max().compute()
    suppliers = _shop(data, "suppliers").set_index("supplier")
    assert len(suppliers.join(by[by >= most].to_frame(), how="inner").compute()) >= 1


@healthy(set=3, needs=make_ledgers)
def small_orders_of_a_brand(client: Client, data: Path) -> None:
    """Lines below a fifth of what is usual for their part."""
    parts = _shop(data, "parts")
    lines = _shop(data, "lines")[["part", "quantity", "price"]]
    chosen = lines.merge(parts[parts.brand == "Brand#23"][["part"]], on="part")
    usual = chosen.groupby("part")["quantity"].mean().rename("usual").reset_index()
    chosen = chosen.merge(usual, on="part")
    chosen[chosen.quantity < 0.2 * chosen.usual]["price"].sum().compute()


@healthy(set=3, needs=make_ledgers)
def six_columns_grouped(client: Client, data: Path) -> None:
    x = dd.read_parquet(data / "x")
    by = x.groupby(["id1", "id4", "v1", "v2"], sort=False)
    by.agg({"v3": "sum", "id3": "count"}, split_out=4).to_parquet(data / "out-six")


@healthy(set=3, needs=make_ledgers)
def range_by_group(client: Client, data: Path) -> None:
    by = dd.read_parquet(data / "x").groupby("id3").agg({"v1": "max", "v2": "min"})
    (by.v1 - by.v2).max().compute()


@healthy(set=3, cluster=local(3), needs=make_ledgers)
def shuffled_by_tasks(client: Client, data: Path) -> None:
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        sales = _read(data, "sales").shuffle("shop")
        sales.map_partitions(len).sum().compute()


@healthy(set=3, needs=make_ledgers)
def a_day_of_sale(client: Client, data: Path) -> None:
    """Sundays have no rows, and one day has four times as many as others."""

    def baskets(day: pd.DataFrame) -> Any:
        grown = pd.concat([day] * 3).sort_values(["article", "price"])
        return grown.groupby("article")[["pieces"]].sum()

    sales = _read(data, "sales")
    sales.map_partitions(baskets, meta={"pieces": "int64"}).sum().compute()


@healthy(set=3, needs=make_ledgers)
def nobody_returned_anything(client: Client, data: Path) -> None:
    """The answer is: none.  It was looked for in all of the books."""
    sales = _read(data, "sales")
    odd = sales[(sales.pieces > 8) & (sales.price > 100)]
    found = odd.merge(_shop(data, "parts"), left_on="article", right_on="part")
    found.to_parquet(data / "out-odd")
    assert len(found) == 0


@healthy(set=3, cluster=COMMANDS, needs=make_ledgers)
def trades_with_quotes(client: Client, data: Path) -> None:
    trades, quotes = _read(data, "trades"), _read(data, "quotes")
    joined = dd.merge_asof(
        trades, quotes, left_index=True, right_index=True, by="paper"
    )
    (joined.trades - joined.quotes).abs().mean().compute()


@healthy(set=3, needs=make_ledgers)
def bars_of_minutes(client: Client, data: Path) -> None:
    quotes = _read(data, "quotes", calculate_divisions=True)
    bars = quotes.quotes.resample("1min").ohlc()
    smooth = quotes.quotes.rolling("30s").mean()
    dask.compute(bars, smooth.max(), quotes.quotes.diff().abs().mean())


@healthy(set=3, needs=make_ledgers)
def pivoted_and_melted(client: Client, data: Path) -> None:
    sales = _read(data, "sales").categorize(columns=["till"])
    wide = sales.pivot_table(index="shop", columns="till", values="price")
    long = dd.from_pandas(wide.compute().reset_index(), npartitions=2).melt(
        id_vars=["shop"]
    )
    long.value.mean().compute()


@healthy(set=3, needs=make_ledgers)
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


@healthy(set=3, needs=make_ledgers)
def one_after_another_in_memory(client: Client, data: Path) -> None:
    """A frame is held, worked on and let go; then the next."""
    for name in ("sales", "trades", "quotes"):
        frame = _read(data, name).persist()
        wait(frame)
        frame.describe().compute()
        del frame


@healthy(set=3, needs=make_ledgers)
def zipped_logs(client: Client, data: Path) -> None:
    """Lines that say ERROR are what it counts."""
    texts = db.read_text(str(data / "ledgers" / "zipped" / "*.gz"))
    records = texts.map(json.loads).filter(lambda row: row["level"] == "ERROR")
    frame = records.to_dataframe(meta={"at": int, "level": str, "took": int})
    frame.groupby("took")["at"].count().compute()


@healthy(set=3, needs=make_ledgers)
def cleaned_every_night(client: Client, data: Path) -> None:
    sales = _read(data, "sales").drop_duplicates(["shop", "article", "price"])
    sales = sales.assign(worth=sales.pieces * sales.price).dropna()
    sales = sales[sales.worth > 5].repartition(npartitions=6)
    sales.to_parquet(data / "out-clean", partition_on="till")


@healthy(set=3, needs=make_ledgers)
def indexed_and_looked_up(client: Client, data: Path) -> None:
    sales = _read(data, "sales").set_index("article", npartitions=8).persist()
    for article in (17, 1_700, 4_100):
        assert len(sales.loc[article : article + 20].compute()) > 0
