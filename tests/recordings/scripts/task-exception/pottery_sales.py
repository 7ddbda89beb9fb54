"""Best sellers of the pottery shops, month by month."""

import logging
import random
import sys
import tempfile
from pathlib import Path

import dask
import polars as pl
from dask import delayed
from dask.distributed import Client

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("pottery_sales")

GOODS = ["bowl", "jug", "mug", "plate", "vase"]


def write_months(folder):
    rng = random.Random(12)
    for month in range(1, 11):
        rows = 300
        table = {
            "shop": [rng.choice(["delft", "faenza", "meissen"]) for _ in range(rows)],
            "item": [rng.choice(GOODS) for _ in range(rows)],
            "pieces": [rng.randint(1, 6) for _ in range(rows)],
            "unit_price": [round(rng.uniform(6, 90), 2) for _ in range(rows)],
        }
        if month == 8:
            table["price_per_unit"] = table.pop("unit_price")
        pl.DataFrame(table).write_parquet(folder / f"sales-2026-{month:02d}.parquet")


def month_turnover(path):
    return (
        pl.read_parquet(path)
        .with_columns((pl.col("pieces") * pl.col("unit_price")).alias("turnover"))
        .group_by("item")
        .agg(pl.col("turnover").sum())
        .sort("turnover", descending=True)
        .to_dicts()
    )


def best(month, rows):
    return month, rows[0]["item"], round(rows[0]["turnover"], 2)


def main():
    with tempfile.TemporaryDirectory(prefix="pottery-") as tmp:
        folder = Path(tmp)
        write_months(folder)
        with Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
        ):
            results = []
            for path in sorted(folder.glob("sales-*.parquet")):
                month = path.stem.removeprefix("sales-")
                rows = delayed(month_turnover)(
                    str(path), dask_key_name=f"month_turnover-{month}"
                )
                results.append(delayed(best)(month, rows))
            for month, item, amount in dask.compute(*results):
                log.info("%s %s %.2f", month, item, amount)
    return 0


if __name__ == "__main__":
    sys.exit(main())
