"""`Overview`: what a host's page shows of a run beside its card."""

from __future__ import annotations

import msgspec

__all__ = ["Overview", "TaskCost"]


class TaskCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a task took.

    Attributes:
        key: Of the task.
        seconds: How long its longest execution took.
        nbytes: Of its result; null where it has none.
        executions: How often it was executed.
    """

    key: str
    seconds: float = 0.0
    nbytes: int | None = None
    executions: int = 1


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The extremes of a run, and its picture.

    Attributes:
        slowest: The tasks that took longest, longest first; none from a cache, and
            none that its host did not run.
        largest: Those with the largest results, of a mebibyte at least, largest first.
        picture: The timeline as PNG; empty where nothing was executed.
    """

    slowest: tuple[TaskCost, ...] = ()
    largest: tuple[TaskCost, ...] = ()
    picture: bytes = b""
