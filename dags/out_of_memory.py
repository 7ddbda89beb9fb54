"""What is bought together: a join that takes the cluster's memory, and why.

Each order line is joined with the other lines of its customer.  That is fine for people
with accounts.  Guests, though, all share the customer number 0: their tens of thousands of
lines, each paired with each, are hundreds of millions of rows in one partition.  Its
worker reaches its memory limit, its nanny ends it, the next worker gets the same task, and
after the fourth Dask gives up with `KilledWorker`, which names a task and no reason.

The reason is what the recording is for.

The orders lie in the folder that DEMO_DATA names; `make demo` makes them,
and so does `python demo/data.py FOLDER`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG
from airflow_dask_blackbox.operators.dask import DaskObservedOperator


def bought_together(folder: str) -> dict[str, int]:
    """Count, by pairs of categories, how often one customer bought from both."""
    import dask.dataframe as dd

    lines = dd.read_parquet(
        Path(folder) / "orders", columns=["order_id", "customer_id", "category"]
    )
    # The mistake: nobody thought of customer 0.
    pairs = lines.merge(lines, on="customer_id", suffixes=("", "_other"))
    pairs = pairs[pairs["category"] < pairs["category_other"]]
    counts = pairs.groupby(["category", "category_other"]).size().compute()
    return {" + ".join(pair): int(count) for pair, count in counts.items()}


with DAG(
    dag_id="out_of_memory",
    description="A join over skewed data, killed at the memory limit.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "demo"],
) as dag:
    DaskObservedOperator(
        task_id="bought_together",
        python_callable=bought_together,
        op_kwargs={"folder": os.environ.get("DEMO_DATA", "demo-data")},
        cluster_kwargs={
            "n_workers": 2,
            "threads_per_worker": 1,
            "memory_limit": "600 MiB",
        },
        execution_timeout=timedelta(minutes=5),
    )
