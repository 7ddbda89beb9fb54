"""How long a request to a bucket may take, and what ends the waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from dask_blackbox.errors import StoreUnreachableError
from dask_blackbox.store.options import StoreOptions

_T = TypeVar("_T")

CHECK_SECONDS = 10.0
"""How long the start of a run may wait for the proof that a store works."""
LONGEST_LINK = 7 * 24 * 3600
"""Seconds; no presigned link of any cloud lives longer."""

_SLOWEST = 64 * 1024
_LONGEST_PAUSE = 20.0  # of boto3, between two attempts
_MARGIN = 5.0


def longest(options: StoreOptions, size: int = 0) -> float:
    """Return how many seconds a request may take, all of its attempts included.

    Args:
        size: Bytes that are sent or received; less than 64 KiB a second is no answer.
    """
    each = options.connect_timeout + options.read_timeout
    pauses = sum(min(_LONGEST_PAUSE, 2.0**n) for n in range(options.attempts - 1))
    return options.attempts * (each + size / _SLOWEST) + pauses + _MARGIN


def within(seconds: float, work: Callable[[], _T], could_not: str) -> _T:
    """Return what `work` returns, but wait for it no longer than `seconds`.

    Raises:
        StoreUnreachableError: if it takes longer; it is left to itself.
    """
    done: list[_T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="blackbox-store", daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if done:
        return done[0]
    raise StoreUnreachableError(
        f"{could_not}: no answer within {seconds:g} s; check network, firewall and DNS"
    )


def hasty(options: StoreOptions) -> StoreOptions:
    """Return options for a check that the start of a run waits for."""
    return replace(
        options,
        connect_timeout=min(options.connect_timeout, 3.0),
        read_timeout=min(options.read_timeout, 4.0),
        attempts=min(options.attempts, 2),
    )
