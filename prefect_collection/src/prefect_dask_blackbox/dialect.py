"""What Prefect calls what Dask calls otherwise: for remedies on the card."""

from __future__ import annotations

from dask_blackbox.dialect import RemedyDialect

__all__ = ["DIALECT"]

DIALECT = RemedyDialect(
    run="flow run",
    engine="/prefect/task_engine.py",
    task_retries="Prefect's `@task(retries=3, retry_delay_seconds=10)`",
)
"""Dask's own retries know nothing of Prefect's tasks, which return their failures."""
