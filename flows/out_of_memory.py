"""What is bought together: a join that takes the worker's memory, and why.

Each order line is joined with the other lines of its customer.  That is fine for people
with accounts.  Guests, though, all share the customer number 0: their tens of thousands of
lines, each paired with each, are hundreds of millions of rows.  The worker reaches its
memory limit, its nanny ends it, the next worker gets the same task, and after the fourth
Dask gives up with `KilledWorker`, which names a task and no reason.

Without a recorder the task's run stays RUNNING for ever in Prefect, and the flow run says
"2/3 states are not final".

The orders lie in the folder that DEMO_DATA names; `make demo` makes them,
and so does `python demo/data.py FOLDER`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from prefect import task
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

FOLDER = os.environ.get("DEMO_DATA", "demo-data")
COLUMNS = ["order_id", "customer_id", "category"]


@task
def count_lines(folder: str) -> int:
    """Count the order lines; this is what the memory was planned for."""
    import pandas as pd

    return len(pd.read_parquet(Path(folder) / "orders", columns=COLUMNS))


@task
def bought_together(folder: str) -> dict[str, int]:
    """Count, by pairs of categories, how often one customer bought from both."""
    import pandas as pd

    lines = pd.read_parquet(Path(folder) / "orders", columns=COLUMNS)
    # The mistake: nobody thought of customer 0.
    pairs = lines.merge(lines, on="customer_id", suffixes=("", "_other"))
    pairs = pairs[pairs["category"] < pairs["category_other"]]
    counts = pairs.groupby(["category", "category_other"]).size()
    return {" + ".join(pair): int(count) for pair, count in counts.items()}


@task
def best_pair(counts: dict[str, int], lines: int) -> str:
    """Name the pair that is bought together most often."""
    best = max(counts, key=lambda pair: counts[pair])
    return f"{best}, {counts[best]} times in {lines} lines"


@observed_flow(
    task_runner=DaskTaskRunner(
        cluster_kwargs={
            "n_workers": 2,
            "threads_per_worker": 1,
            "memory_limit": "600 MiB",
        }
    ),
)
def out_of_memory(folder: str = FOLDER) -> list[Any]:
    """Count lines and pairs, and name the best pair."""
    lines = count_lines.submit(folder)
    counts = bought_together.submit(folder)
    best = best_pair.submit(counts, lines)  # type: ignore[call-overload]  # futures are fine
    return [lines, counts, best]


if __name__ == "__main__":
    out_of_memory()
