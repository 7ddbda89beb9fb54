"""What this collection raises into a flow, and why.

BlackboxError (of dask_blackbox)
├── LostTasksError      tasks died with their workers
└── NeverRanError       a task never ran, because another one that it needs failed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dask_blackbox.errors import BlackboxError

__all__ = ["LostTasksError", "NeverRanError", "also"]

_MOST = 5

E = TypeVar("E", bound=BlackboxError)


class LostTasksError(BlackboxError):
    """Tasks of this flow run were lost with their workers.

    Raised where the flow did not notice, and in the place of what Dask raises where it
    did; then it is an instance of that class, too (`except KilledWorker` still catches it).

    Attributes:
        tasks: Names of the task runs that were lost.
        never_ran: Names of those that needed them.
        cause: Why.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        cause: str,
        *,
        never_ran: Sequence[str] = (),
        advice: str = "",
    ) -> None:
        self.tasks, self.never_ran, self.cause = tuple(tasks), tuple(never_ran), cause
        text = f"{_counted(self.tasks, 'was lost', 'were lost')}"
        if self.never_ran:
            text += f" and {_counted(self.never_ran, 'never ran', 'never ran')}"
        text = f"{text}. {cause} {advice}".rstrip()
        self.text, self.advice, self.args = text, advice, (text,)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[object, ...]:
        return (_lost, (self.tasks, self.cause, self.never_ran, self.advice))


class NeverRanError(BlackboxError):
    """A task never ran, because another one that it needs had failed.

    Attributes:
        text: Which one, and of what.
    """

    def __init__(self, text: str) -> None:
        self.text, self.args = text, (text,)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[object, ...]:
        return (NeverRanError, (self.text,))


def also(error: E, other: BaseException) -> E:
    """Return an error as an instance of another one's class, too.

    Whoever catches the other class keeps catching it.
    """
    mine, theirs = type(error), type(other)
    if issubclass(mine, theirs):
        return error
    kind: Any = type(mine.__name__, (mine, theirs), {"__module__": mine.__module__})
    made: E = kind.__new__(kind)
    made.__dict__.update({**vars(other), **vars(error)})
    made.args = error.args
    return made


def _lost(
    tasks: Sequence[str], cause: str, never_ran: Sequence[str], advice: str
) -> LostTasksError:
    return LostTasksError(tasks, cause, never_ran=never_ran, advice=advice)


def _counted(names: Sequence[str], one: str, many: str) -> str:
    named = ", ".join(repr(name) for name in names[:_MOST])
    more = ", …" if len(names) > _MOST else ""
    runs = f"1 task run {one}" if len(names) == 1 else f"{len(names)} task runs {many}"
    return f"{runs} ({named}{more})"
