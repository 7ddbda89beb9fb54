"""What the cluster of an attempt is started with follows the verdict on the one before."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.finding import Finding
from prefect import flow, task
from prefect_dask import DaskTaskRunner
from prefect_dask_blackbox import BlackboxTaskRunner, observed_flow

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

_SMALL = {
    "n_workers": 1,
    "threads_per_worker": 1,
    "processes": False,
    "dashboard_address": None,
    "memory_limit": "500 MiB",
}
_DOUBLE = {"memory_limit": "x2", "most": "16 GiB"}


@contextmanager
def _lines_of_flow_runs() -> Iterator[list[str]]:
    """Collect what goes into the logs of flow runs, whether the logger propagates or not."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("prefect.flow_runs")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


@task
def need(mebibytes: int) -> int:
    from distributed import get_worker

    had = int(get_worker().memory_manager.memory_limit or 0) >> 20
    if had < mebibytes:
        raise MemoryError(f"{had} MiB are too few")
    return had


def test_the_memory_grows_after_a_verdict_of_memory_and_a_function_sees_the_verdict(
    prefect: Any, store: Path
) -> None:
    asked: list[tuple[int, str | None]] = []

    def workers(attempt: int, verdict: Finding | None) -> dict[str, Any]:
        asked.append((attempt, None if verdict is None else verdict.retry_advice))
        return _SMALL

    @observed_flow(
        name="growing",
        retries=1,
        task_runner=BlackboxTaskRunner(cluster_kwargs=workers),
        on_memory=_DOUBLE,
    )
    def growing() -> int:
        return int(need.submit(900).result())

    with _lines_of_flow_runs() as lines:
        assert growing() == 1000

    assert asked == [(1, None), (2, "memory")]
    assert (
        "memory_limit=1000 MiB instead of '500 MiB', because attempt 1 failed of too "
        "little memory"
    ) in lines


def test_an_attempt_after_another_verdict_has_what_was_given(
    prefect: Any, store: Path
) -> None:
    tried: list[int] = []
    plain: Any = DaskTaskRunner(cluster_kwargs=_SMALL)

    @observed_flow(retries=1, on_memory=_DOUBLE)
    @flow(name="unlucky", task_runner=plain)
    def unlucky() -> int:
        tried.append(1)
        had = need.submit(0).result()
        if len(tried) == 1:
            raise ConnectionError("on purpose")
        return int(had)

    assert unlucky() == 500


def test_what_the_users_function_raises_fails_the_flow(
    prefect: Any, store: Path
) -> None:
    def workers(attempt: int, verdict: Finding | None) -> dict[str, Any]:
        raise LookupError(f"no size for attempt {attempt}")

    @observed_flow(
        name="sizeless", task_runner=BlackboxTaskRunner(cluster_kwargs=workers)
    )
    def sizeless() -> int:
        return int(need.submit(0).result())

    with pytest.raises(LookupError, match="no size for attempt 1"):
        sizeless()


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"on_memory": {"memory_limit": "x2"}}, ConfigurationError, "and its limit"),
        (
            {"on_memory": _DOUBLE, "address": "tcp://a:1"},
            ConfigurationError,
            "already exists; remove on_memory=",
        ),
        (
            {"cluster_kwargs": lambda *_: {}, "address": "tcp://a:1"},
            ValueError,
            "already exists; remove cluster_kwargs",
        ),
    ],
    ids=["no-limit", "memory-of-an-address", "function-for-an-address"],
)
def test_what_cannot_work_is_refused_when_the_runner_is_made(
    arguments: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        BlackboxTaskRunner(**arguments)


def test_a_flow_whose_runner_has_a_function_travels_without_it() -> None:
    runner = BlackboxTaskRunner(cluster_kwargs=lambda *_: _SMALL, on_memory=_DOUBLE)

    arrived = cloudpickle.loads(cloudpickle.dumps(runner))  # type: ignore[no-untyped-call]

    assert arrived.cluster_kwargs == {}
    assert arrived.options.on_memory == _DOUBLE
    assert runner.duplicate()._given_arguments() is runner._given_arguments()
