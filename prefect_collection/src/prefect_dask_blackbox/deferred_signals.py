"""Delays signals that raise an exception while a task is submitted.

Prefect ends a flow by an exception that a signal's handler raises wherever the flow is:
SIGALRM at its `timeout_seconds`, SIGTERM when it is stopped.  Submitting a task takes
pydantic and pickle most of its time.  They make an exception of their own of it, or
swallow it, and the flow then fails of that, or runs on and is never stopped.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred_signals"]

_RAISING = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Call the handlers of these signals afterwards; in the main thread, which runs them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
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
