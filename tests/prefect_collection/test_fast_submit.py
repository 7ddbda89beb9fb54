"""What is the same for all tasks of a flow run is serialised once, and is still the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cloudpickle
from flow_clusters import shared_runner
from prefect import task
from prefect.context import SettingsContext, serialize_context
from prefect.settings import (
    PREFECT_LOGGING_TO_API_MAX_LOG_SIZE,
    temporary_settings,
)
from prefect_dask_blackbox import observed_flow
from prefect_dask_blackbox.fast_submit import FastSubmit

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def serialized() -> dict[str, Any]:
    found: dict[str, Any] = serialize_context()["settings_context"]
    return found


def test_settings_are_serialized_once_and_as_ever() -> None:
    fast, plain, before = FastSubmit(), serialized(), SettingsContext.get()

    with fast.settings():
        first = serialized()
    with fast.settings():
        second = serialized()

    assert FastSubmit.is_possible()
    assert first == plain
    assert second is first
    assert SettingsContext.get() is before


def test_settings_that_change_are_serialized_again() -> None:
    fast = FastSubmit()
    with fast.settings():
        before = serialized()

    with temporary_settings({PREFECT_LOGGING_TO_API_MAX_LOG_SIZE: 1234}):
        plain = serialized()
        with fast.settings():
            after = serialized()

    assert after == plain
    assert after != before


@task
def log_size(_number: int) -> int:
    from prefect.settings import PREFECT_LOGGING_TO_API_MAX_LOG_SIZE as SETTING

    return int(SETTING.value())


@task
def add(*numbers: int) -> int:
    return sum(numbers)


def test_tasks_run_with_the_settings_of_their_submit(prefect: Any, store: Path) -> None:
    @observed_flow(name="fast", fast_submit=True, task_runner=shared_runner())
    def fast() -> int:
        any_size: Any = log_size
        any_add: Any = add
        with temporary_settings({PREFECT_LOGGING_TO_API_MAX_LOG_SIZE: 1000}):
            first = any_size.map([1, 2])
        with temporary_settings({PREFECT_LOGGING_TO_API_MAX_LOG_SIZE: 4}):
            last = any_size.submit(3)
        total: int = any_add.submit(*first, last, wait_for=[last]).result()
        return total

    assert fast() == 2004

    seen = prefect.newest("fast", store)
    assert seen.state == "COMPLETED"
    assert seen.card.numbers["tasks"] == 4
    page = seen.artifacts["dask-run-fast"]
    assert all(f"| [{name}](" in page for name in seen.names)
