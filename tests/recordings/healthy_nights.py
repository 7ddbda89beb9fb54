"""Healthy jobs that run night after night, each night with other parameters."""

from __future__ import annotations

import zlib
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from healthy_frames import make_tables
from healthy_tasks import prices
from workload_list import healthy

_SIZES = (
    (40, 100_000), (44, 90_000), (36, 110_000), (80, 100_000), (20, 60_000),
    (40, 200_000), (120, 100_000), (40, 100_000),
)  # fmt: skip
_WEEK = (1.0, 1.1, 0.95, 1.2, 1.3, 0.8, 0.7, 1.05, 1.15, 0.9, 1.5, 1.0)
"""From a Monday on: how much there is to do, as a part of what is usual."""


@healthy(set=2, nights=tuple({"paths": p, "steps": s} for p, s in _SIZES))
def sampled_night(
    client: Client, data: Path, *, paths: int = 40, steps: int = 100_000
) -> None:
    """A job that is given its size, each night another."""
    client.gather(client.map(prices, range(paths), steps=steps, pure=False))


@healthy(
    set=2,
    needs=make_tables,
    nights=tuple({"files": n} for n in (6, 7, 6, 8, 7, 12, 3, 12)),
)
def night_of_files(client: Client, data: Path, *, files: int = 12) -> None:
    paths = sorted((data / "x").glob("*.parquet"))[:files]
    dd.read_parquet(paths).groupby("id1")["v3"].agg(["mean", "std"]).compute()


@healthy(
    set=3,
    nights=tuple(
        {"rows": int(150_000 * much), "day": day} for day, much in enumerate(_WEEK)
    ),
)
def sales_night(client: Client, data: Path, *, rows: int, day: int) -> None:
    """A frame that is as large as the day was good, summed by shop and by article."""

    def sold(part: int) -> pd.DataFrame:
        random = np.random.default_rng(day * 100 + part)
        shop, article = random.integers(0, 40, rows), random.integers(0, 3_000, rows)
        price = random.random(rows)
        return pd.DataFrame({"shop": shop, "article": article, "price": price})

    meta = {"shop": "int64", "article": "int64", "price": "float64"}
    sales = dd.from_map(sold, list(range(12)), meta=meta)
    sales.groupby("shop")["price"].mean().compute()
    sales.groupby("article")["price"].agg(["sum", "count"]).compute()


@healthy(
    set=3,
    nights=tuple(
        {"scenarios": int(30 * much), "rate": 0.01 + day / 500}
        for day, much in enumerate(_WEEK)
    ),
)
def scenario_night(client: Client, data: Path, *, scenarios: int, rate: float) -> None:
    """Futures; on weekends fewer scenarios, and each night another rate."""

    def priced(number: int) -> float:
        return prices(number, 140_000) * (1 + rate)

    client.gather(client.map(priced, range(scenarios), pure=False))


@healthy(
    set=3,
    nights=tuple(
        {"side": int(8_000 * much), "window": 5 + day % 3}
        for day, much in enumerate(_WEEK)
    ),
)
def grid_night(client: Client, data: Path, *, side: int, window: int) -> None:
    x = da.random.random((side, 3_000), chunks=(500, 3_000))
    smooth = x.map_overlap(
        lambda block: np.cumsum(block, axis=0) / window, depth=(window, 0)
    )
    (smooth - x.mean(axis=0)).std().compute()


@healthy(
    set=3,
    nights=tuple(
        {"documents": int(30 * much), "level": 4 + day % 2}
        for day, much in enumerate(_WEEK)
    ),
)
def archive_night(client: Client, data: Path, *, documents: int, level: int) -> None:
    """Documents are packed; how many there are, and how hard they are packed, varies."""

    def packed(number: int) -> int:
        random = np.random.default_rng(number)
        return len(zlib.compress(random.integers(0, 9, 700_000).tobytes(), level))

    sizes = client.map(packed, range(documents), pure=False)
    client.submit(sum, sizes).result()
