"""Signals that arrive while a task is submitted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from types import FrameType

import pytest
from prefect.utilities import engine
from prefect_dask_blackbox.deferred_signals import deferred_signals


class StopError(BaseException):
    """What a handler raises."""


def stop(number: int, frame: FrameType | None) -> None:
    raise StopError


@pytest.fixture(params=[signal.SIGTERM, signal.SIGINT])
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    before = signal.signal(request.param, stop)
    yield request.param
    signal.signal(request.param, before)


def submit(number: int, steps: list[str]) -> None:
    with deferred_signals():
        signal.raise_signal(number)
        steps.append("submitted")


def test_a_signal_that_comes_meanwhile_is_handled_afterwards(number: int) -> None:
    steps: list[str] = []

    with pytest.raises(StopError):
        submit(number, steps)

    assert steps == ["submitted"]
    assert signal.getsignal(number) is stop


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with deferred_signals():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(
    not hasattr(engine, "can_ack_control_intent"),
    reason="this version of Prefect's runner does not ask the flow's process",
)
def test_prefects_runner_hears_that_its_signal_will_be_handled() -> None:
    with engine.capture_sigterm(), ThreadPoolExecutor(1) as pool:
        with deferred_signals():
            asked = pool.submit(engine.can_ack_control_intent)
            wait([asked], timeout=0.5)
            assert not asked.done()

        assert asked.result()
