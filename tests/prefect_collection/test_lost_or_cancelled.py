"""A future that the flow cancelled is cancelled; one that Dask cancelled is lost."""

from __future__ import annotations

import pytest
from dask_blackbox.capture.driver.client_calls import REASONS_OF_DASK
from distributed.client import FutureCancelledError
from prefect_dask_blackbox.submitted_tasks import is_lost


@pytest.mark.parametrize("reason", REASONS_OF_DASK)
def test_what_dask_cancels_is_lost(reason: str) -> None:
    assert is_lost(FutureCancelledError("inc-1", reason))


@pytest.mark.parametrize("reason", ["unknown", "scheduler-restart", None])
def test_what_the_flow_cancels_is_not(reason: str | None) -> None:
    assert not is_lost(FutureCancelledError("inc-1", reason))


def test_every_other_exception_means_that_a_task_is_lost() -> None:
    assert is_lost(ValueError("no price"))
