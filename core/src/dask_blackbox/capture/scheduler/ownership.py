"""Which run a task belongs to: several runs may share one scheduler, and must not mix.

Dask keeps no link from a task to the client that submitted it, so graphs are inspected when
they arrive.  Keys of one group nearly always come from one client; where they don't
(two clients submit the same function), those keys are distinguished one by one.
"""

from __future__ import annotations

import re
import time
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any, Iterable

from distributed.utils import key_split_group

from .graphs import GroupCounts

if TYPE_CHECKING:
    from distributed import Scheduler
    from distributed.scheduler import ClientState, TaskGroup, TaskState
    from distributed.spans import Span


_MOST_GROUPS, _MOST_KEYS = 20_000, 100_000
_MOST_ENDED = 5_000
_PID_BITS = 0x3FFF  # what a client's id keeps of its process id


class Ownership:
    """Distinguishes the tasks of some clients from all others.

    Args:
        clients: Ids of the clients that are ours; None: everything is.
        resident: Each client is a run of its own, even of one process; and who records
            himself is not disturbed.
        span: Id of an outermost span: of our clients' tasks, only those in it are ours;
            `default`: those that are in none.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        clients: Iterable[str] | None,
        *,
        resident: bool = False,
        span: str | None = None,
    ) -> None:
        self.resident, self._span = resident, span
        self._scheduler = scheduler
        self.everything = clients is None
        self.clients: set[str] = set()
        """Clients that were added explicitly."""
        self._processes: set[tuple[int, int]] = set()
        self._groups: dict[str, bool | None] = {}  # None: some are, some are not
        self._keys: set[object] = set()  # ours, of the groups that are shared
        self._named: frozenset[str] | None = None  # the same as texts, once asked for
        self._most_keys = _MOST_KEYS
        self.ended: deque[object] = deque(maxlen=_MOST_ENDED)
        """Keys of ours that have ended last: their lines may still be on their way."""
        for client in clients or ():
            self.add(client)

    def add(self, client: str) -> None:
        """Count another client as ours, and those that its process will make."""
        self.clients.add(client)
        process = _process_of(client)
        if process is not None and not self.resident:
            self._processes.add(process)

    def claim(self, client: str, counts: GroupCounts) -> bool:
        """Note a graph; return whether it is ours."""
        if self.everything:
            return True
        ours = self.owns(client)
        some = False
        for group in counts.groups:
            of_span = ours and self._is_in_our_span(group)
            self._note(group, counts, ours=of_span)
            some = some or of_span
        if len(self._groups) > _MOST_GROUPS or len(self._keys) > self._most_keys:
            self._forget()
        return some if self._span else ours

    def _is_in_our_span(self, group: TaskGroup) -> bool:
        if self._span is None:
            return True
        span = root_span(self._scheduler, group)
        if span is None or self._span == span.id:
            return span is not None
        return self._span == "default" and span.name == ("default",)

    def has(self, ts: TaskState) -> bool:
        """Return whether a task is ours.  Called for every execution."""
        if self.everything:
            return True
        ours = self._groups.get(ts.group.name, False)
        return ts.key in self._keys if ours is None else ours

    def groups(self) -> list[TaskGroup]:
        """Return the scheduler's task groups that hold tasks of ours."""
        alive = self._scheduler.task_groups
        if self.everything:
            return list(alive.values())
        return [
            alive[name]
            for name, ours in self._groups.items()
            if ours is not False and name in alive
        ]

    def wanting(self) -> list[ClientState]:
        """Return the clients whose tasks are ours: none of them to an onlooker."""
        if self.everything:
            return []
        clients = self._scheduler.clients
        return [cs for name, cs in clients.items() if self.owns(name)]

    def has_named(self, key: str) -> bool:
        """Return whether a task is ours, given only the text of its key."""
        ours = self.everything or self._groups.get(key_split_group(key), False)
        if ours is not None:
            return ours
        if self._named is None:
            self._named = frozenset(map(str, self._keys))
        return key in self._named

    def _note(self, group: TaskGroup, counts: GroupCounts, *, ours: bool) -> None:
        if ours and group.name not in self._groups:
            others_are_there = _size(group) > counts.groups[group]
            self._groups[group.name] = None if others_are_there else True
        known = self._groups.setdefault(group.name, ours)
        if known is not None and known != ours:
            if known:  # what the group held before this graph is ours
                tasks = self._scheduler.tasks.items()
                self._keys.update(k for k, t in tasks if t.group is group)
                self._keys.update(self.ended)  # Dask may have forgotten them
                self._keys.difference_update(counts.keys_in(group))
            known = self._groups[group.name] = self._named = None
        if known is None and ours:
            self._keys.update(counts.keys_in(group))
            self._named = None

    def owns(self, client: str) -> bool:
        """Return whether a client's graphs are ours."""
        if self.everything:
            return True
        if client in self.clients:
            return True
        process = _process_of(client)
        if process is None or self._belongs_to_another_recording(client):
            return False
        return process in self._processes or self._made_by_our_task(process)

    def _belongs_to_another_recording(self, client: str) -> bool:
        others = [getattr(p, "own", None) for p in self._scheduler.plugins.values()]
        return any(
            client in getattr(own, "clients", ())
            for own in others
            if self.resident or not getattr(own, "resident", False)
        )

    def _made_by_our_task(self, process: tuple[int, int]) -> bool:
        """Return whether a client lives in a worker that runs a task of ours."""
        for ws in self._scheduler.workers.values():
            if ws.pid and ws.pid & _PID_BITS == process[1]:
                # `worker_client` secedes; `get_client` does not, and any may be it.
                return any(self.has(ts) for ts in ws.long_running or ws.processing)
        return False

    def _forget(self) -> None:
        alive = self._scheduler.task_groups
        # What workers say of the newest may still be on its way.
        new = set(list(self._groups)[-_MOST_GROUPS // 2 :])
        self._groups = {k: v for k, v in self._groups.items() if k in alive or k in new}
        tasks, ended = self._scheduler.tasks, set(self.ended)
        self._keys = {key for key in self._keys if key in tasks or key in ended}
        self._most_keys = max(_MOST_KEYS, 2 * len(self._keys))
        self._named = None


def _size(group: TaskGroup) -> int:
    states = group.states
    return int(sum(states.values()) - states.get("forgotten", 0))


def root_span(scheduler: Scheduler, group: TaskGroup) -> Span | None:
    """Return the outermost span that a task group is in; None without spans."""
    extension = (getattr(scheduler, "extensions", None) or {}).get("spans")
    span = getattr(extension, "spans", {}).get(getattr(group, "span_id", None))
    while span is not None and span.parent is not None:
        span = span.parent
    return span


def _process_of(client: str) -> tuple[int, int] | None:
    """Return machine and process of a client, which its id contains (`uuid1`)."""
    try:
        reported = uuid.UUID(client[-36:])
    except ValueError:
        return None
    return (reported.node, reported.clock_seq)


_AT, _ROLE, _SOURCE, _PID, _SEQ, _LOGGER, _LEVEL, _TEXT, _KEY = range(9)
_CLUSTERS = ("distributed", "tornado", "asyncio", "bokeh", "dask")
_FAILED = re.compile(
    r"Compute Failed\nKey: {1,20}(.*)\n"
)  # quotes the task's arguments
_LATE = (
    1.0  # seconds after a task in which a thread that it has started may still print
)


class ForeignLines:
    """Distinguishes the lines of other clients' tasks from our own and from the cluster's."""

    def __init__(self, scheduler: Scheduler, own: Ownership) -> None:
        self._scheduler, self._own = scheduler, own
        self._ended: dict[str, float] = {}
        self._numbers: dict[tuple[str, int], list[list[int]]] = {}

    def task_ended(self, worker: str | None) -> None:
        """Note that a task of another client has ended on a worker."""
        if worker is not None:
            self._ended[worker] = time.time()

    def excludes(self, row: Any) -> bool:
        """Return whether a line is another's; if so, its number is noted."""
        if self._own.everything or self._is_ours(row):
            return False
        numbers = self._numbers.setdefault((row[_SOURCE], row[_PID]), [])
        if numbers and numbers[-1][1] + 1 == row[_SEQ]:
            numbers[-1][1] = row[_SEQ]
        else:
            numbers.append([row[_SEQ], row[_SEQ]])
        return True

    def _is_ours(self, row: Any) -> bool:
        if row[_KEY] is not None:
            return self._own.has_named(row[_KEY])
        if row[_LOGGER].partition(".")[0] in _CLUSTERS:
            failed = _FAILED.match(row[_TEXT])
            return failed is None or self._own.has_named(failed[1])
        # For a thread that belongs to no known task: whose tasks run there?
        return row[_ROLE] != "worker" or not self._others_work_at(row)

    def _others_work_at(self, row: Any) -> bool:
        if row[_AT] - _LATE < self._ended.get(row[_SOURCE], 0.0):
            return True
        ws = self._scheduler.workers.get(row[_SOURCE])
        return ws is not None and not all(map(self._own.has, ws.processing))

    def may_have_logged(self) -> bool:
        """Return whether an event that a task has logged may be another client's.

        Dask does not say which task logged it, nor where.
        """
        own, scheduler = self._own, self._scheduler
        if own.everything:
            return False
        if any(time.time() - _LATE < ended for ended in self._ended.values()):
            return True
        clients = scheduler.clients.items()
        if not any(cs.wants_what and not own.owns(name) for name, cs in clients):
            return False
        workers = scheduler.workers.values()
        return not all(own.has(ts) for ws in workers for ts in ws.processing)

    def numbers(self) -> list[tuple[str, dict[str, object]]]:
        """Return what was left out since the last call: numbers by source."""
        noted, self._numbers = self._numbers, {}
        return [
            (source, {"pid": pid, "numbers": numbers})
            for (source, pid), numbers in noted.items()
        ]
