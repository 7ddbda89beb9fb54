"""A task that writes an asset: its event says how many rows, bytes and files were written.

The rows come from the Parquet files themselves.  Whoever consumes the asset can look at
them before it begins; the event also links the Dask run.
"""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import DAG, Asset
from airflow_dask_blackbox.operators.dask import DaskObservedOperator

FOLDER = Path(os.environ.get("DEMO_DATA", "demo-data")).absolute()
READINGS = Asset("readings", uri=f"file://{FOLDER}/readings")


def write_readings() -> None:
    """Write a week of readings."""
    import dask

    readings = dask.datasets.timeseries("2026-11-01", "2026-11-08", freq="10min")
    readings.to_parquet(f"{FOLDER}/readings", write_index=False)


with DAG(
    dag_id="measured_asset",
    description="An asset whose events carry rows and bytes.",
    doc_md=__doc__,
    schedule=None,
    tags=["dask", "dask-blackbox", "example"],
):
    DaskObservedOperator(
        task_id="write_readings",
        python_callable=write_readings,
        cluster_kwargs={"n_workers": 1, "threads_per_worker": 2},
        outlets=[READINGS],
    )
