"""Tasks that their host ended at a time limit of their own."""

from __future__ import annotations

import pytest
from dask_blackbox.analyse.rules.tasks import TASK_EXCEPTION
from dask_blackbox.testing import (
    a_run,
    a_task,
    a_task_error,
    an_event,
    fires,
)

KEY = "load-0d18a63bb2b24e5a9ad0e1c2d3f4a5b6"
OTHER = "load-1d18a63bb2b24e5a9ad0e1c2d3f4a5b6"


def test_a_time_limit_is_named_with_what_others_of_its_kind_took() -> None:
    run = a_run(
        a_task(OTHER, compute=2.0),
        a_task(KEY, compute=30.0),
        a_task_error(KEY, exception="prefect.task_engine.TaskRunTimeoutError"),
        an_event("task-timed-out", KEY, limit=5.0, setting="timeout_seconds"),
        state="failed",
    )

    found = fires(TASK_EXCEPTION, run, naming=["timeout_seconds of 5 s"])

    assert "it ran for 30 s" in found.cause
    assert "blocking call has returned. 1 task" in found.cause
    assert "1 task of 'load' finished in 2.0 s" in found.cause
    assert "raise `timeout_seconds` of 'load'" in found.remedy


def test_a_task_that_its_host_tried_again_took_its_limit_each_time() -> None:
    run = a_run(
        a_task(KEY, compute=10.5),
        a_task_error(KEY, exception="prefect.task_engine.TaskRunTimeoutError"),
        an_event("task-timed-out", KEY, limit=5.0, setting="timeout_seconds"),
        an_event("task-retries", KEY, retries=1),
        state="failed",
    )

    found = fires(TASK_EXCEPTION, run, naming=["timeout_seconds of 5 s"])

    assert "in up to 2 attempts. No other task" in found.cause
    assert "blocking call" not in found.cause
    assert found.remedy.endswith("a timeout of its own: 2 attempts did not help.")


@pytest.mark.parametrize(
    ("exception", "advice"),
    [("builtins.ConnectionResetError", "transient"), ("builtins.OSError", "unknown")],
)
def test_retries_that_were_used_up_are_not_advised_again(
    exception: str, advice: str
) -> None:
    failed = a_task_error(KEY, exception=exception, message="no answer")
    once = a_run(failed, state="failed")
    thrice = a_run(failed, an_event("task-retries", KEY, retries=2), state="failed")

    before = fires(TASK_EXCEPTION, once, naming=["no answer"])
    after = fires(TASK_EXCEPTION, thrice, naming=["no answer"])

    assert before.retry_advice == advice
    assert ("`client.submit(…, retries=3)`" in before.remedy) == (advice == "transient")
    assert "retries=" not in after.remedy
    assert "all 3 attempts" in after.remedy.lower()
    assert "It was attempted 3 times" in after.cause


def test_another_exception_keeps_its_own_text() -> None:
    run = a_run(
        a_task_error(KEY, exception="builtins.TimeoutError", message="no answer"),
        an_event("task-timed-out", OTHER, limit=5.0, setting="timeout_seconds"),
        state="failed",
    )

    found = fires(TASK_EXCEPTION, run, naming=["TimeoutError", "no answer"])

    assert "timeout_seconds" not in found.title
