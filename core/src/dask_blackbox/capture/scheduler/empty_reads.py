"""Tasks that are called reading, and hold an empty table instead: nothing was found to read.

`dd.read_parquet` of a pattern that no file matches makes a task that returns a table
without rows and columns, which the graph holds.  A table that is empty because of what
was asked (no columns, a filter that leaves nothing) comes of a task that reads.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed.scheduler import TaskState

_READS = ("read", "from-", "fused-io", "fusedio")
_MOST = 20  # tasks that are fused into one, and prefixes of a graph
_GIVEN_BACK = ("identity", "_identity_cast")


def empty_reads(firsts: dict[str, TaskState]) -> list[str]:
    """Return the prefixes of a graph that are called reading and read nothing.

    Args:
        firsts: A task's `TaskState` of each prefix of a graph.
    """
    reading = (name for name in firsts if name.startswith(_READS))
    found = []
    for name in islice(reading, _MOST):
        try:
            empty = _holds_nothing(firsts[name].run_spec)
        except Exception:
            empty = False
        if empty:
            found.append(name)
    return found


def _holds_nothing(spec: object) -> bool:
    """Say whether a task, or one that is fused into it, gives back an empty table."""
    args = spec if type(spec) is tuple else getattr(spec, "args", None) or ()
    func = spec[0] if type(spec) is tuple and spec else getattr(spec, "func", None)
    if getattr(func, "__name__", "") in _GIVEN_BACK:
        return any(_is_empty_table(each) for each in islice(args, _MOST))
    if _is_empty_table(getattr(spec, "value", None)):  # a node that is data
        return True
    inside = (each for each in islice(args, 2) if type(each) is dict)
    return any(
        _holds_nothing(each)
        for part in inside
        for each in islice(part.values(), _MOST)
        if getattr(each, "func", None) is not None
    )


def _is_empty_table(value: Any) -> bool:
    # Only of pandas' own tables is it known that asking for their shape does nothing.
    kind = type(value)
    if kind.__name__ != "DataFrame" or not kind.__module__.startswith("pandas"):
        return False
    return bool(value.shape == (0, 0))
