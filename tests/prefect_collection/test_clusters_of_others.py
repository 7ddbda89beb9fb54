"""A flow on a cluster of others leaves it as a flow of plain Prefect does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from bare_environments import python_with
from prefect import flow, task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import BlackboxTaskRunner
from shared_clusters import cluster_of_others, state_of, unchanged

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


@task
def double(number: int) -> int:
    """Do something."""
    return 2 * number


@flow
def doubles() -> int:
    """Run a task."""
    result: int = double.submit(1).result()
    return result


# The cluster has the newest versions of everything, not those of the lock.
@pytest.mark.filterwarnings("ignore:Mismatched versions found")
@pytest.mark.timeout(600)
@pytest.mark.nightly
def test_the_cluster_is_as_before(tmp_path: Path) -> None:
    python = python_with("prefect-dask", tmp_path / "bare")
    with cluster_of_others(tmp_path, python=python) as address:
        # Prefect itself changes the processes in which it is imported.
        plain: Any = DaskTaskRunner(address=address)
        doubles.with_options(task_runner=plain)()
        before = state_of(address)

        runner: Any = BlackboxTaskRunner(address=address)

        assert doubles.with_options(task_runner=runner)() == 2
        assert unchanged(address, before)
