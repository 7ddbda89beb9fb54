"""A flow on a cluster of others leaves it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect import flow, task
from prefect_dask_blackbox import BlackboxTaskRunner
from shared_clusters import cluster_of_others, state_of, unchanged


@task
def double(number: int) -> int:
    """Do something."""
    return 2 * number


@pytest.mark.timeout(600)
def test_the_cluster_is_as_before(tmp_path: Path) -> None:
    with cluster_of_others(tmp_path) as address:
        before = state_of(address)

        @flow(task_runner=BlackboxTaskRunner(address=address))
        def doubles() -> int:
            result: int = double.submit(1).result()
            return result

        assert doubles() == 2
        assert unchanged(address, before)
