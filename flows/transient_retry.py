"""A failure that passes: tried again, because the verdict says that it may.

The service refuses the first connection.  `transient_retries` gives the flow another
attempt only where the verdict is that trying again helps; a bug would fail at once.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from prefect import task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

ONE = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}


@task
def fetch(marker: str) -> str:
    """Fetch from a service that is away the first time it is asked."""
    if not Path(marker).exists():
        Path(marker).touch()
        raise ConnectionResetError("the service closed the connection")
    return "fetched"


@observed_flow(transient_retries=2, task_runner=DaskTaskRunner(cluster_kwargs=ONE))
def transient_retry(marker: str) -> str:
    """Fetch once."""
    return fetch.submit(marker).result()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        transient_retry(f"{folder}/asked")
