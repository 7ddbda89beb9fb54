"""The recorder looks at the load of its host."""

from __future__ import annotations

import json
import multiprocessing
import os

import pytest
from conditions import until
from dask_blackbox.events import EventRow, decoded
from dask_blackbox.events.driver import HostOverloaded
from dask_blackbox.recorder.host_load import HostWatch

pytestmark = pytest.mark.processes


def compute() -> None:
    """Compute until it is ended."""
    while True:
        pass


def test_an_overloaded_host_is_reported_with_the_share_of_the_run() -> None:
    own = os.getpid()
    context = multiprocessing.get_context("spawn")
    busy = [context.Process(target=compute) for _ in range(os.cpu_count() or 1)]
    seen: list[EventRow] = []

    def is_overloaded() -> bool:
        # The first says that the host is full, and from then on all processes are counted.
        row = watch.look([own], last=True)
        seen.extend(filter(None, [row]))
        return row is not None and json.loads(row[3])["own"] is not None

    watch = HostWatch([own])
    try:
        for each in busy:
            each.start()
        until(is_overloaded)
    finally:
        for each in busy:
            each.kill()
            each.join()
    event = decoded(*seen[-1])

    assert isinstance(event, HostOverloaded)
    assert event.busy is not None
    assert event.own is not None
    assert 0 < event.own <= event.busy + 1  # the clock of the host ticks in hundredths
    assert event.busy >= 0.8 * event.seconds * event.cores
    assert event.cores == os.cpu_count()


def test_a_host_is_not_looked_at_too_often() -> None:
    watch = HostWatch([os.getpid()])

    assert watch.look([os.getpid()]) is None
    assert watch.look([os.getpid()], last=True) is None
