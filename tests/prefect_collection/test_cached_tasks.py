"""Task runs whose result Prefect took from its cache: nobody computed them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cloudpickle
from flow_clusters import shared_runner
from prefect import task
from prefect.cache_policies import INPUTS
from prefect_dask_blackbox import observed_flow

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def test_results_from_prefects_cache_are_counted_apart(
    prefect: Any, store: Path, tmp_path: Path
) -> None:
    @task(cache_policy=INPUTS, persist_result=True)
    def loaded(day: int, salt: str) -> int:
        return day

    salt = str(tmp_path)  # Prefect's cache outlives this test

    @observed_flow(name="cached", task_runner=shared_runner())
    def cached() -> int:
        days = [*range(3), *range(5)]
        return sum(loaded.submit(day, salt).result() for day in days)

    cached()

    card = prefect.newest("cached", store).card
    assert (card.numbers["tasks"], card.numbers["cached"]) == (8, 3)
    assert ": 5 tasks and 3 from a cache on 1 worker" in card.headline
    page = prefect.newest("cached", store).artifacts["dask-run-cached"]
    slowest = page.partition("### Slowest tasks")[2]
    assert slowest.count("](<") == 5
