"""The examples of `flows/`, run as scripts; the two of the demo run in its own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

# The flows run two at a time: a test may wait for those before its own.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]

GALLERY = Path(__file__).parents[2] / "flows"
FLOWS = (
    "time_limit", "failed_subflow", "transient_retry", "adaptive_cluster",
    "own_clusters", "existing_cluster",
)  # fmt: skip
OF_THE_DEMO = ("out_of_memory", "recorded_etl")

RunFlow = Callable[[str], Path]


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    """The cluster that is there before the flow."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as one,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("DASK_SCHEDULER_ADDRESS", one.scheduler_address)
        yield


def test_all_examples_are_run() -> None:
    found = {each.stem for each in GALLERY.glob("*.py")}

    assert found == {*FLOWS, *OF_THE_DEMO}


@pytest.mark.parametrize(
    ("example", "tasks"),
    [("adaptive_cluster", 8), ("existing_cluster", 10), ("own_clusters", 5_001)],
)
def test_examples_that_succeed(
    example: str, tasks: int, reported: RunFlow, prefect: Any
) -> None:
    seen = prefect.newest(example.replace("_", "-"), reported(example))

    assert (seen.state, seen.card.state) == ("COMPLETED", "succeeded")
    assert seen.card.numbers["tasks"] == tasks
    (page,) = seen.artifacts.values()
    assert "### Slowest tasks" in page


def test_a_failed_subflow_is_the_verdict(reported: RunFlow, prefect: Any) -> None:
    seen = prefect.newest("failed-subflow", reported("failed_subflow"))

    assert seen.state == "FAILED"
    assert seen.card.verdict.rule == "part-failed"
    assert "SIGSEGV" in seen.card.verdict.title


def test_a_time_limit_is_the_verdict(reported: RunFlow, prefect: Any) -> None:
    seen = prefect.newest("time-limit", reported("time_limit"))

    assert seen.state_name == "TimedOut"
    assert seen.card.verdict.rule == "stopped-by-host"
    # What comes next depends on how long the cluster took to start.
    assert seen.card.headline.startswith("Reached its timeout_seconds of 20 s ")


def test_a_transient_failure_is_retried(reported: RunFlow, prefect: Any) -> None:
    first, second = prefect.cards("transient-retry", reported("transient_retry"))

    assert (first.state, second.state) == ("failed", "succeeded")
    assert first.verdict.retry_advice == "transient"
