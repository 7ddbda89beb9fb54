"""Revenue by country and category: an ETL over two months of orders, recorded.

Each file of orders is cleaned by a task of its own; the join and the sums are a Dask
dataframe on the same cluster.

The orders lie in the folder that DEMO_DATA names; `make demo` makes them,
and so does `python demo/data.py FOLDER`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from prefect import task
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask.utils import get_dask_client
from prefect_dask_blackbox import observed_flow

FOLDER = os.environ.get("DEMO_DATA", "demo-data")


@task
def clean(source: str, target: str) -> int:
    """Drop what the shop delivered twice and what has no price; return the lines left."""
    import pandas as pd

    orders = pd.read_parquet(source)
    # Re-deliveries arrive in the file of their order, so each file is cleaned for itself.
    known = orders.drop_duplicates("order_id").dropna(subset=["unit_price"])
    known = known.assign(revenue=known["quantity"] * known["unit_price"])
    known.to_parquet(target, index=False)
    return len(known)


@task
def revenue_by_country(cleaned: str, customers: str, target: str) -> dict[str, Any]:
    """Join, group and write, as a Dask dataframe; return the best group."""
    import dask.dataframe as dd

    lines = dd.read_parquet(cleaned).merge(dd.read_parquet(customers), on="customer_id")
    revenue = lines.groupby(["country", "category"])["revenue"].agg(["sum", "count"])
    with get_dask_client() as client:
        groups = client.compute(revenue.reset_index()).result()
    groups.to_parquet(target, index=False)
    best = groups.loc[groups["sum"].idxmax()]
    return {
        "revenue": round(float(groups["sum"].sum()), 2),
        "best": f"{best['category']} in {best['country']}",
        "written_to": target,
    }


@observed_flow(
    log_prints=True,
    task_runner=DaskTaskRunner(
        cluster_kwargs={
            "n_workers": 2,
            "threads_per_worker": 1,
            "memory_limit": "1 GiB",
        }
    ),
)
def recorded_etl(folder: str = FOLDER) -> dict[str, Any]:
    """Clean every file of orders, then sum up the revenue."""
    cleaned = Path(folder) / "cleaned"
    cleaned.mkdir(exist_ok=True)
    sources = sorted(Path(folder, "orders").glob("*.parquet"))
    kept = clean.map(
        [str(source) for source in sources],
        [str(cleaned / source.name) for source in sources],
    ).result()
    summary = revenue_by_country.submit(
        str(cleaned),
        str(Path(folder) / "customers.parquet"),
        str(Path(folder) / "revenue.parquet"),
    ).result()
    print(f"kept {sum(kept)} lines; best: {summary['best']}")
    return {"lines_kept": sum(kept), **summary}


if __name__ == "__main__":
    recorded_etl()
