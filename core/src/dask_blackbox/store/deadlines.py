"""Waiting for a server no longer than it may take, whatever it does.

Timeouts of a connection bound neither the look-up of a name, nor the search for
credentials, nor a server that answers byte by byte.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from dask_blackbox.errors import StoreUnreachableError
from dask_blackbox.store.options import StoreOptions

__all__ = ["longest", "within"]

_T = TypeVar("_T")
_SLOWEST = 64 * 1024
_LONGEST_PAUSE = 20.0  # of boto3, between two attempts
_MARGIN = 5.0


def longest(options: StoreOptions, size: int = 0) -> float:
    """Return how many seconds a request may take, all of its attempts included.

    Args:
        options: Its timeouts.
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
