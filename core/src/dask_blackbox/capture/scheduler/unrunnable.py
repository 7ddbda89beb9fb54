"""Tasks that no worker may run, while others go on: nothing stalls, and they wait for ever."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Callable

from .ownership import Ownership

if TYPE_CHECKING:
    from distributed import Scheduler
    from distributed.scheduler import TaskState

_LOOKED_AT, _REPORTED = 200, 20


class UnrunnableWatch:
    """Looks for tasks of ours that ask for what no worker has, and tells of them.

    Args:
        after: Seconds that such a task waits until it is reported; 0 for never.
        report: Takes kind, subject and particulars of an event.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        own: Ownership,
        after: float,
        report: Callable[..., None],
    ) -> None:
        self._scheduler, self._own, self._report = scheduler, own, report
        self._after = self._next = after
        self._since: dict[object, float] = {}
        self._reported = False

    def check(self) -> None:
        """Look once; called every second or so."""
        if not self._after or not (self._scheduler.unrunnable or self._since):
            return
        now, tasks = time.monotonic(), []
        for ts in islice(self._scheduler.unrunnable, _LOOKED_AT):
            asks = ts.worker_restrictions or ts.host_restrictions
            if (asks or ts.resource_restrictions) and self._own.has(ts):
                tasks.append(ts)
        self._since = {ts.key: self._since.get(ts.key, now) for ts in tasks}
        lasted = now - min(self._since.values(), default=now)
        if lasted >= self._next:
            self._next, self._reported = lasted * 2, True
            tasks.sort(key=lambda ts: self._since[ts.key])
            reported = [restricted(ts) for ts in tasks[:_REPORTED]]
            self._report(
                "unrunnable", "", lasted=lasted, tasks=reported, number=len(tasks)
            )
        elif not tasks:
            self._next = self._after
            if self._reported:
                self._reported = False
                self._report("unrunnable-over", "")


def restricted(ts: TaskState) -> dict[str, object]:
    """Return what a task asks for."""
    return {
        "key": str(ts.key),
        "hosts": sorted(map(str, ts.host_restrictions or ())),
        "workers": sorted(map(str, ts.worker_restrictions or ())),
        "resources": dict(ts.resource_restrictions or {}),
        "loose": bool(ts.loose_restrictions),
    }
