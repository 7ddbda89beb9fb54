"""Revenue by country and category: an ETL over two months of orders, recorded.

The orders lie in the folder that DEMO_DATA names; `make demo` makes them,
and so does `python demo/data.py FOLDER`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def clean(orders: Any) -> Any:
    """Drop what the shop delivered twice and what has no price; returns stay, as minus."""
    known = orders.drop_duplicates("order_id").dropna(subset=["unit_price"])
    return known.assign(revenue=known["quantity"] * known["unit_price"])


def revenue_by_country(folder: str, target: str) -> dict[str, Any]:
    """Read, clean, join, group and write; return what the next task wants to know."""
    import dask.dataframe as dd

    orders = dd.read_parquet(Path(folder) / "orders")
    customers = dd.read_parquet(Path(folder) / "customers.parquet")
    # Re-deliveries arrive in the file of their order, so each file is cleaned for itself.
    lines = orders.map_partitions(clean).merge(customers, on="customer_id")
    revenue = lines.groupby(["country", "category"])["revenue"].agg(["sum", "count"])
    revenue.reset_index().to_parquet(target, write_index=False)

    groups = dd.read_parquet(target).compute()
    best = groups.loc[groups["sum"].idxmax()]
    return {
        "lines_read": len(orders),
        "lines_kept": int(groups["count"].sum()),
        "revenue": round(float(groups["sum"].sum()), 2),
        "best": f"{best['category']} in {best['country']}",
        "written_to": target,
    }


with DAG(
    dag_id="recorded_etl",
    description="An ETL on its own Dask cluster, recorded.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "demo"],
) as dag:
    folder = os.environ.get("DEMO_DATA", "demo-data")
    DaskObservedOperator(
        task_id="revenue_by_country",
        python_callable=revenue_by_country,
        op_kwargs={"folder": folder, "target": str(Path(folder) / "revenue")},
        cluster_kwargs={
            "n_workers": 2,
            "threads_per_worker": 1,
            "memory_limit": "1 GiB",
        },
        execution_timeout=timedelta(minutes=5),
    )
