"""Flows that return failed states: the flow run's own state says why, and not how many."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from distributed import Client
from flow_clusters import shared_runner
from prefect import task
from prefect.states import Failed
from prefect_dask_blackbox import observed_flow
from prefect_dask_blackbox.returned_states import (
    exception_of_state,
    is_dasks,
    readable,
)

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

WHY = "ValueError in 'refused': no orders for day 1"


@task
def refused(day: int) -> int:
    raise ValueError(f"no orders for day {day}")


@task
def fetched(day: int) -> int:
    return day


needs: Any = fetched  # of a future, whose result it gets

STYLES: dict[str, Callable[[], Any]] = {
    "a future": lambda: refused.submit(1),
    "futures": lambda: [fetched.submit(0), refused.submit(1)],
    "a tuple": lambda: (fetched.submit(0), refused.submit(1)),
    "a dependent future": lambda: needs.submit(refused.submit(1)),
    "its state": lambda: _waited(refused.submit(1)).state,
}


def _waited(future: Any) -> Any:
    future.wait()
    return future


@pytest.mark.parametrize(
    "style",
    [
        pytest.param(each, marks=[pytest.mark.nightly] * (each != "futures"))
        for each in STYLES
    ],
)
def test_the_state_of_a_flow_that_returns_failed_states_has_the_reason(
    style: str, prefect: Any, store: Path
) -> None:
    @observed_flow(name="returns", task_runner=shared_runner())
    def returns() -> Any:
        return STYLES[style]()

    state: Any = returns(return_state=True)

    run = prefect.newest("returns", store)
    assert (run.state, run.message, state.message) == ("FAILED", WHY, WHY)
    assert run.card.headline == WHY


@pytest.mark.nightly
def test_the_state_of_an_async_flow_has_the_reason_too(
    prefect: Any, store: Path
) -> None:
    @observed_flow(name="awaits", task_runner=shared_runner())
    async def awaits() -> Any:
        return [refused.submit(1)]

    returned: Any = awaits
    asyncio.run(returned(return_state=True))

    assert prefect.newest("awaits", store).message == WHY


@pytest.mark.nightly
def test_the_caller_gets_what_prefect_gives(prefect: Any, store: Path) -> None:
    @observed_flow(name="given", task_runner=shared_runner())
    def given() -> Any:
        return [fetched.submit(0), refused.submit(1)]

    returned: Any = given
    states = returned()

    assert [state.type.value for state in states] == ["COMPLETED", "FAILED"]
    assert prefect.newest("given", store).message == WHY


@pytest.mark.nightly
def test_a_message_of_the_flows_own_stays(prefect: Any, store: Path) -> None:
    @observed_flow(name="own-words", task_runner=shared_runner())
    def own_words() -> Any:
        fetched.submit(1).result()
        return Failed(message="the quota of March is used up")

    own_words(return_state=True)

    run = prefect.newest("own-words", store)
    assert run.message == "the quota of March is used up"
    assert run.message in run.card.headline


@pytest.mark.nightly
def test_a_flow_that_returns_failed_states_follows_the_advice(
    prefect: Any, store: Path
) -> None:
    @observed_flow(
        name="hopeless",
        retries=2,
        follow_retry_advice=True,
        task_runner=shared_runner(),
    )
    def hopeless() -> Any:
        return divided.submit(0)

    hopeless(return_state=True)

    assert len(prefect.cards("hopeless", store)) == 1


@task
def divided(by: int) -> float:
    return 1 / by


@pytest.mark.parametrize(
    "error",
    [KeyError("n=5 is missing"), KeyError(5), ValueError("no 'id'")],
)
def test_an_exception_of_which_only_the_states_message_is_left_says_the_same(
    error: Exception,
) -> None:
    said = f"Task run encountered an exception {type(error).__name__}: {error}"

    found = exception_of_state(Failed(message=said))

    assert (type(found), str(found)) == (type(error), str(error))


def test_an_attempt_that_failed_is_shown_as_the_last_one() -> None:
    error = KeyError("n=5 is missing")

    assert readable(repr(error)) == f"KeyError: {error}"


def test_an_exception_is_dasks_if_its_class_is_or_if_its_code_raised_it() -> None:
    with pytest.raises(OSError, match="Timed out trying to connect") as unreachable:
        Client("tcp://127.0.0.1:9", timeout=0.2)
    with pytest.raises(ValueError, match="day 1") as own:
        refused.fn(1)

    assert type(unreachable.value).__module__ == "builtins"
    assert is_dasks(unreachable.value)
    assert not is_dasks(own.value)
