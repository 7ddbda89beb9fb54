"""Delays signals that raise an exception while a task is submitted.

Prefect ends a flow by an exception that a signal's handler raises wherever the flow is:
SIGALRM at its `timeout_seconds`, SIGTERM when it is stopped.  Submitting a task takes
pydantic and pickle most of its time.  They make an exception of their own of it, or
swallow it, and the flow then fails of that, or runs on and is never stopped.

Newer versions of Prefect's runner first ask the flow's process whether SIGTERM will reach
Prefect's own handler, and take what they stop without such an answer for a crash.  They
look at it under a lock, which is held here: so the answer comes after the task is submitted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

import prefect.utilities.engine

__all__ = ["deferred_signals"]

_LOCK: AbstractContextManager[Any] = getattr(
    prefect.utilities.engine, "_prefect_sigterm_bridge_lock", nullcontext()
)
_RAISING = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Call the handlers of these signals afterwards; in the main thread, which runs them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _LOCK, _deferred():
        yield


@contextmanager
def _deferred() -> Iterator[None]:
    came: dict[int, FrameType | None] = {}
    before = {number: signal.getsignal(number) for number in _RAISING}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, came.__setitem__)
    try:
        yield
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
        for number, handler in before.items():
            if number in came and callable(handler):
                handler(number, came[number])
