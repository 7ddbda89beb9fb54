"""Which errors are a flow run's own time limit."""

from __future__ import annotations

import concurrent.futures
import time
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect_dask_blackbox.endings import HostStop, stop_of

LIMIT = 12.0


def stop_after(seconds: float, error: BaseException) -> HostStop | None:
    flow_run = FlowRun(flow_id=uuid4())
    began = time.monotonic() - seconds
    return stop_of(error, flow_run, limit=LIMIT, began=began)


def raised_while_handling(cause: BaseException) -> RuntimeError:
    error = RuntimeError("cannot submit")
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        concurrent.futures.CancelledError(),
        raised_while_handling(concurrent.futures.CancelledError()),
    ],
)
def test_a_cancellation_is_of_the_time_limit_once_that_is_over(
    error: BaseException,
) -> None:
    stopped = stop_after(LIMIT, error)

    assert stopped is not None
    assert (stopped.reason, stopped.limit) == ("run-timeout", LIMIT)
    assert stop_after(LIMIT - 1, error) is None


def test_another_error_is_not_of_the_time_limit() -> None:
    assert stop_after(LIMIT + 1, ValueError("no rows")) is None
