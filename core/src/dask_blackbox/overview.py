"""`Overview`: what a host's page shows of a run beside its card."""

from __future__ import annotations

import msgspec

__all__ = ["Overview", "TaskCost"]


class TaskCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution took.

    Attributes:
        key: Of the task.
        seconds: How long its function ran.
        nbytes: Of its result; null where it has none.
    """

    key: str
    seconds: float = 0.0
    nbytes: int | None = None


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The extremes of a run, and its picture.

    Attributes:
        slowest: The executions that ran longest, longest first.
        largest: Those with the largest results, of a mebibyte at least, largest first.
        picture: The timeline as PNG; empty where nothing was executed.
    """

    slowest: tuple[TaskCost, ...] = ()
    largest: tuple[TaskCost, ...] = ()
    picture: bytes = b""
