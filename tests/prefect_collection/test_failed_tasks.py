"""Tasks whose own function raises: to Dask they succeed, the verdict must know better."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from prefect import task
from prefect.futures import PrefectFuture
from prefect_dask.task_runners import DaskTaskRunner
from prefect_dask_blackbox import observed_flow

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

TINY = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}


@task
def cleaned(part: int) -> int:
    if part == 2:
        raise ValueError("part 2 has no header")
    return part


@task
def doubled(part: int) -> int:
    return 2 * part


@pytest.mark.parametrize("asked", ["for the results", "for nothing", "for others"])
def test_an_exception_that_prefect_keeps_as_a_state_is_the_verdict(
    asked: str, prefect: Any, store: Path
) -> None:
    @observed_flow(name="cleans", task_runner=DaskTaskRunner(cluster_kwargs=TINY))
    def cleans() -> list[Any]:
        futures: list[PrefectFuture[int]] = [cleaned.submit(i) for i in range(3)]
        if asked == "for others":  # which Prefect never begins
            needs: Any = doubled
            return [needs.submit(future).result() for future in futures]
        return [f.result() for f in futures] if asked == "for the results" else futures

    cleans(return_state=True)

    run = prefect.newest("cleans", store)
    assert run.state == "FAILED"
    assert ("part 2 has no header" in run.message) or asked == "for nothing"
    verdict = run.card.verdict
    assert verdict.rule == "task-exception"
    assert "ValueError: part 2 has no header" in verdict.cause
    assert verdict.subject.prefix == "cleaned"
    assert verdict.retry_advice == "code"
