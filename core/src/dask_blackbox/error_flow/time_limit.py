"""How long it may take to follow errors: the driver is about to end, and its user waits."""

from __future__ import annotations

import time

__all__ = ["TimeLimit"]


_COMPUTING = 1.0
_WAITING = 5.0


class TimeLimit:
    """A second of what this thread computes, and five in all.

    Counted so, a machine that others keep busy makes it find no less.
    """

    def __init__(self) -> None:
        self._computed = time.thread_time() + _COMPUTING
        self._waited = time.monotonic() + _WAITING

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.thread_time() > self._computed or time.monotonic() > self._waited
