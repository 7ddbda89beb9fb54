"""Tasks that their host ended at a time limit of their own."""

from __future__ import annotations

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
        an_event(
            "task-timed-out", KEY, limit=5.0, setting="timeout_seconds", retries=1
        ),
        state="failed",
    )

    found = fires(TASK_EXCEPTION, run, naming=["timeout_seconds of 5 s"])

    assert "in up to 2 attempts. No other task" in found.cause
    assert "blocking call" not in found.cause


def test_another_exception_keeps_its_own_words() -> None:
    run = a_run(
        a_task_error(KEY, exception="builtins.TimeoutError", message="no answer"),
        an_event("task-timed-out", OTHER, limit=5.0, setting="timeout_seconds"),
        state="failed",
    )

    found = fires(TASK_EXCEPTION, run, naming=["TimeoutError", "no answer"])

    assert "timeout_seconds" not in found.title
