"""The orders that the demo's runs compute with: made here, the same on every machine.

Two months of a small web shop, as its systems would have exported them:

    <folder>/orders/orders-00.parquet …    one row per order line
    <folder>/customers.parquet             one row per customer

The data has the blemishes that real exports have: re-delivered lines (same `order_id`),
returns booked with negative quantities, prices that are missing, and guest checkouts,
which all carry the customer number 0.  Harmless for sums; a trap for joins.

    python demo/data.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["GUEST", "make_orders"]

GUEST = 0
"""The customer number of everybody who bought without an account."""

_SEED = 20261121
_CUSTOMERS = 20_000
_FIRST_DAY = np.datetime64("2026-09-01T00:00:00", "s")
_SECONDS = 61 * 24 * 3600
_COUNTRIES = np.array(["AT", "CH", "DE", "FR", "IT", "NL", "PL", "SE"])
_SEGMENTS = np.array(["new", "regular", "business"])
_CATEGORIES = np.array(["books", "garden", "kitchen", "music", "office", "toys"])
_PRICES = np.array([18.0, 42.0, 65.0, 24.0, 31.0, 27.0])


def make_orders(folder: str | Path, *, rows: int = 400_000, files: int = 8) -> Path:
    """Write the orders and customers below `folder`, unless they are there already.

    Args:
        folder: Where to; made if needed.
        rows: Order lines, before re-deliveries.
        files: Parquet files that they are spread over, in order of time.

    Returns:
        The folder.
    """
    folder = Path(folder)
    done = folder / f"made-{_SEED}-{rows}-{files}"
    if done.exists():
        return folder
    orders = folder / "orders"
    orders.mkdir(parents=True, exist_ok=True)
    for old in orders.glob("*.parquet"):
        old.unlink()
    rng = np.random.default_rng(_SEED)
    _customers(rng).to_parquet(folder / "customers.parquet", index=False)
    bounds = np.linspace(0, rows, files + 1).astype(int)
    for number in range(files):
        lines = _order_lines(rng, bounds[number], bounds[number + 1], rows)
        lines.to_parquet(orders / f"orders-{number:02d}.parquet", index=False)
    done.touch()
    return folder


def _customers(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "customer_id": np.arange(_CUSTOMERS),
            "country": rng.choice(_COUNTRIES, _CUSTOMERS),
            "segment": rng.choice(_SEGMENTS, _CUSTOMERS, p=[0.3, 0.6, 0.1]),
        }
    )


def _order_lines(
    rng: np.random.Generator, start: int, stop: int, rows: int
) -> pd.DataFrame:
    count = stop - start
    order_id = np.arange(start, stop)
    customer = rng.integers(1, _CUSTOMERS, count)
    customer[rng.random(count) < 0.06] = GUEST  # noqa: PLR2004
    category = rng.integers(0, len(_CATEGORIES), count)
    price = np.round(_PRICES[category] * rng.lognormal(0.0, 0.4, count), 2)
    price[rng.random(count) < 0.01] = np.nan  # noqa: PLR2004
    quantity = rng.integers(1, 6, count)
    quantity[rng.random(count) < 0.03] *= -1  # noqa: PLR2004
    seconds = (order_id / rows * _SECONDS).astype("timedelta64[s]")
    lines = pd.DataFrame(
        {
            "order_id": order_id,
            "customer_id": customer,
            "ordered_at": _FIRST_DAY + seconds,
            "category": _CATEGORIES[category],
            "quantity": quantity,
            "unit_price": price,
        }
    )
    again = lines.sample(frac=0.005, random_state=int(rng.integers(2**31)))
    return pd.concat([lines, again], ignore_index=True)


if __name__ == "__main__":
    print(make_orders(sys.argv[1]))
