"""Task runs whose result Prefect took from its cache: nobody computed them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
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


@pytest.mark.parametrize(
    "persisted", [pytest.param(True, marks=pytest.mark.nightly), None]
)
def test_the_card_says_what_a_retry_executes_again(
    prefect: Any, store: Path, tmp_path: Path, persisted: Any
) -> None:
    @task
    def counted(day: int, salt: str) -> int:
        if day == 2:
            raise ValueError("no such day")
        with (Path(salt) / "executed").open("a") as file:
            file.write(f"{day}\n")
        return day

    @observed_flow(
        name="partial",
        retries=1,
        persist_result=persisted,
        task_runner=shared_runner(),
    )
    def partial(salt: str) -> None:
        for each in [counted.submit(day, salt) for day in range(4)]:
            each.result()

    with pytest.raises(ValueError, match="no such day"):
        partial(str(tmp_path))

    executed = (tmp_path / "executed").read_text().split()
    first, last = (page for _, page in prefect.attempts("partial").values())
    if persisted:
        assert len(executed) == 3
        expected = (
            "A retry of this flow run executes 1 of 4 task runs; the results of the "
            "other 3 are persisted."
        )
    else:
        assert len(executed) == 6
        expected = (
            "A retry of this flow run executes 4 of 4 task runs. 3 of these have "
            "completed, but without a persisted result: `persist_result=True` on the flow "
            "would keep such results for a retry."
        )
    assert expected in first
    assert expected in last
