"""The tasks of a graph, counted by group, and those that read nothing.

This runs on the scheduler's event loop for each task of each graph, so everything that can be
done by group is not done by task.

`dd.read_parquet` of a pattern that no file matches creates a task that returns a table
without rows and columns, which the graph contains.  A table that is empty for another reason
(no columns were requested, a filter excludes everything) is returned by a task that reads.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Iterable, Mapping

if TYPE_CHECKING:
    # Only describe arguments.
    from dask.typing import Key
    from distributed.scheduler import TaskGroup, TaskState


_MOST_PREFIXES, _MOST_INPUTS = 200, 50
_group = attrgetter("group")
_dependencies = attrgetter("dependencies")


class GroupCounts:
    """What a graph has brought, by task group and by prefix.

    Args:
        known: The scheduler's tasks, by key.
    """

    def __init__(self, known: Mapping[Key, TaskState], keys: Iterable[Key]) -> None:
        self._tasks = [ts for ts in map(known.get, keys) if ts is not None]
        self.groups: dict[TaskGroup, int] = Counter(map(_group, self._tasks))
        """How many of the tasks are in which group, in the order of their first tasks."""

    def keys_in(self, group: TaskGroup) -> list[Key]:
        """Return the keys of the tasks in a group."""
        return [ts.key for ts in self._tasks if ts.group is group]

    def prefixes(self) -> dict[str, int]:
        """Return how many tasks there are of each prefix, the most first."""
        counts = _by_prefix(self.groups)
        return dict(sorted(counts.items(), key=lambda each: -each[1])[:_MOST_PREFIXES])

    def new(self) -> dict[str, tuple[int, int]]:
        """Return how many tasks of a prefix no earlier graph had brought.

        And how many of them are without inputs.
        """
        new = [ts for ts in self._tasks if ts.state == "released"]
        roots = _by_prefix(Counter(map(_group, [t for t in new if not t.dependencies])))
        counts = _by_prefix(Counter(map(_group, new)))
        most = sorted(counts.items(), key=lambda each: -each[1])[:_MOST_PREFIXES]
        return {name: (count, roots.get(name, 0)) for name, count in most}

    def edges(self) -> int:
        """Return how many results the tasks ask of each other, altogether."""
        return sum(map(len, map(_dependencies, self._tasks)))

    def inputs(self) -> dict[str, list[str]]:
        """Return of which other prefixes each prefix takes results, by task groups."""
        found: dict[str, set[str]] = {}
        for group in self.groups:
            own = found.setdefault(group.prefix.name, set())
            for other in getattr(group, "dependencies", ()):
                own.add(other.prefix.name)
        most = list(found.items())[:_MOST_PREFIXES]
        return {name: sorted(own - {name})[:_MOST_INPUTS] for name, own in most}

    def firsts(self) -> dict[str, TaskState]:
        """Return the first task of each prefix."""
        backwards = self._tasks[::-1]
        first_of = dict(zip(map(_group, backwards), backwards))
        found: dict[str, TaskState] = {}
        for group in self.groups:
            found.setdefault(group.prefix.name, first_of[group])
        return found


def _by_prefix(groups: Mapping[TaskGroup, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group, count in groups.items():
        name = group.prefix.name
        counts[name] = counts.get(name, 0) + count
    return counts


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
    """Return whether a task, or one that is fused into it, gives back an empty table."""
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
