"""Where the driver stands: looked at from outside, reported with growing intervals."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conditions import scaled, until
from dask_blackbox.driver.driver_position import (
    DriverPositionWatcher,
    _cpu_clock_of,
    _read,
)
from distributed import Client

pytestmark = pytest.mark.processes

CardChanges = list[tuple[str, dict[str, Any]]]


@contextmanager
def a_waiting_thread(
    reported: CardChanges,
) -> Iterator[tuple[DriverPositionWatcher, Callable[[], None]]]:
    """Return what looks at a thread that waits, and what lets it go on to its end."""
    there, go, gone_on, end = (threading.Event() for _ in range(4))

    def drive() -> None:
        there.set()
        go.wait()
        gone_on.set()
        end.wait()

    thread = threading.Thread(target=drive)
    thread.start()
    there.wait()
    watcher = DriverPositionWatcher(
        thread.ident or 0, 10.0, lambda *each: reported.append(each)
    )

    def let_go() -> None:
        go.set()
        gone_on.wait()

    try:
        yield watcher, let_go
    finally:
        go.set()
        end.set()
        thread.join()


def settled(watcher: DriverPositionWatcher, now: float) -> None:
    """Look until the thread has come to the line where it waits."""
    deadline = time.monotonic() + scaled(10)
    while time.monotonic() < deadline:
        before = watcher._at
        watcher.check(now)
        if watcher._at == before:
            return
    pytest.fail("the thread does not come to rest")


def test_a_driver_that_stands_is_reported_with_growing_intervals() -> None:
    reported: CardChanges = []
    with a_waiting_thread(reported) as (watcher, _):
        settled(watcher, 0.0)
        for second in range(0, 61, 5):
            watcher.check(float(second))

    assert [kind for kind, _ in reported] == ["driver-blocked"] * 3
    assert [detail["lasted"] for _, detail in reported] == [10.0, 20.0, 40.0]
    assert any(
        "in drive" in frame and "wait()" in frame for frame in reported[0][1]["stack"]
    )
    assert reported[0][1]["connecting"] == []


def test_a_driver_that_moves_on_is_reported_once_if_it_had_been_reported_to_stand() -> (
    None
):
    reported: CardChanges = []
    with a_waiting_thread(reported) as (watcher, let_go):
        settled(watcher, 0.0)
        watcher.check(12.0)
        let_go()
        settled(watcher, 13.0)

    assert [kind for kind, _ in reported] == ["driver-blocked", "driver-unblocked"]


def test_the_time_of_a_thread_on_a_core_is_read_while_it_lives_and_not_after() -> None:
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    of_other, of_own = (
        _cpu_clock_of(each or 0) for each in (thread.ident, threading.get_ident())
    )
    before = time.thread_time()
    own = _read(of_own)
    after = time.thread_time()
    others = _read(of_other)
    leave.set()
    thread.join()

    assert own is not None
    assert before <= own <= after
    assert others is not None
    assert others < own
    # The system's thread ends a little after Python's.
    until(lambda: _read(of_other) is None, "the end of the thread")
    assert _read(_cpu_clock_of(thread.ident or 0)) is None


def test_nobody_looks_if_stalls_are_not_to_be_reported() -> None:
    watcher = DriverPositionWatcher(threading.get_ident(), 0.0, lambda *_: None)

    watcher.start()

    assert not watcher.is_alive()


def test_a_client_that_is_being_made_is_reported_with_its_address() -> None:
    reported: CardChanges = []
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # and nobody ever greets
        silent.settimeout(30)
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"

        def drive() -> None:
            with pytest.raises(OSError, match=address):
                Client(address, timeout="1s", set_as_default=False)

        thread = threading.Thread(target=drive)
        thread.start()
        taken, _ = silent.accept()
        watcher = DriverPositionWatcher(
            thread.ident or 0, 10.0, lambda *each: reported.append(each)
        )
        settled(watcher, 0.0)
        watcher.check(12.0)
        taken.close()  # its timeout does not end a connection that was taken
    thread.join()

    connecting = [detail["connecting"] for _, detail in reported]
    known = {"address": address, "lasted": 12.0, "scheduler_file": None}
    assert connecting == [[known]]


def test_the_main_thread_is_looked_at_when_the_thread_of_the_run_has_ended() -> None:
    reported: CardChanges = []
    with a_waiting_thread(reported) as (watcher, _):
        settled(watcher, 0.0)
    for second in (1.0, 2.0, 30.0):
        watcher.check(second)

    assert watcher.thread == threading.main_thread().ident
    [(kind, detail)] = reported
    assert kind == "driver-blocked"
    assert detail["other_ended"] is True
    assert "main_thread_is_looked_at" in "".join(detail["stack"])
