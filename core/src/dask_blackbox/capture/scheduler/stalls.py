"""The stall detector: tasks are pending, and none has finished for a while.

Nine kinds of hang raise no exception, and when an orchestrator's timeout ends the run, the
reason is no longer visible.  Therefore the scheduler's side reports during the hang which task
waits for which.  It looks at a few dozen tasks and workers, never at all of them: a full dump
would block the cluster.
"""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Callable, Iterable

from distributed.scheduler import heartbeat_interval

from ..user_frames import is_foreign
from .ownership import Ownership

if TYPE_CHECKING:
    from distributed import Scheduler
    from distributed.scheduler import TaskState, TaskStateState, WorkerState


_FEW, _MANY = 20, 50
_ANSWERING = 5.0
_ANSWERING_AT_LAST = 1.0
_NEARLY = 0.8
_SILENT = 4.0  # seconds, or heartbeats, after which a worker's nanny is asked, too
_HEARTBEATS = 8
_INNERMOST, _USERS = 12, 8
_WANTED: tuple[TaskStateState, ...] = ("waiting", "processing", "queued", "no-worker")
_ASKED_FOR = _WANTED[1:]  # what waits does so for one of these, or for a task of others


class StallWatch:
    """Looks for progress, and reports its absence with growing intervals.

    Args:
        name: Of our plugin, and of its handlers on workers.
        after: Seconds without progress that make a stall; 0 for never.
        end_after: Seconds without progress after which the wanted tasks are cancelled, so
            that the run ends with a verdict; 0 for never.
        own: Whose tasks matter: others may be busy on the same scheduler.
        report: Takes the particulars of a stall.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        name: str,
        after: float,
        end_after: float,
        own: Ownership,
        report: Callable[..., None],
    ) -> None:
        self._scheduler, self._name, self._own = scheduler, name, own
        # What ends a run has been reported before, with what it hung on.
        self._after = min(after, end_after) if after and end_after else after
        self._end_after = end_after
        self._report = report
        self._seen = -1
        self._since = time.monotonic()  # a monotonic clock
        self._next = self._after
        self._busy: Any = None
        self._reported = False
        self._asking: list[Any] = []
        self._ended = False

    def check(self, finished: int) -> None:
        """Check once; called about every second.

        Args:
            finished: How many executions of ours have ended so far.
        """
        now = time.monotonic()
        if finished != self._seen or not self._wanted():
            if self._reported and finished != self._seen:
                self._report("stall-over", "", lasted=now - self._since)
            self._reported = False
            self._seen, self._since, self._next = finished, now, self._after
            self._ended = False
            return
        lasted = now - self._since
        if self._after and lasted >= self._next and self._busy is None:
            self._next = max(self._next * 2, lasted * 2)
            self._busy = asyncio.ensure_future(self._describe(lasted))
            self._busy.add_done_callback(self._described)
        due = self._end_after and lasted >= self._end_after and not self._ended
        if due and self._busy is None:  # cancelled tasks would show nothing more
            self._ended = True
            self._end_run(lasted)

    async def describe_at_last(self) -> None:
        """Describe what hangs when the driver gives up before `check` reports it.

        A driver whose own timeout is as long as ours closes its client at that moment.
        """
        busy = self._busy
        if busy is not None:  # workers are being asked: who answers at all does so soon
            await asyncio.wait([busy], timeout=_ANSWERING_AT_LAST)
            for each in self._asking:
                each.cancel()
            await asyncio.wait([busy], timeout=_ANSWERING_AT_LAST)
            return
        lasted = time.monotonic() - self._since
        reported = self._next > self._after
        if not self._after or reported or lasted < self._after * _NEARLY:
            return
        if self._wanted():
            self._next = max(self._next * 2, lasted * 2)
            await self._describe(lasted, within=_ANSWERING_AT_LAST)

    def stop(self) -> None:
        """Stop describing."""
        if self._busy is not None:
            self._busy.cancel()

    def _wanted(self) -> bool:
        groups = self._own.groups()
        return any(group.states.get(s) for group in groups for s in _ASKED_FOR)

    def _ours(self, tasks: Iterable[TaskState]) -> list[TaskState]:
        return [ts for ts in tasks if self._own.has(ts)]

    def _described(self, task: Any) -> None:
        self._busy = None
        if not task.cancelled() and task.exception() is not None:
            error = repr(task.exception())
            self._report("capture-failed", "", doing="stall", error=error)

    async def _describe(self, lasted: float, *, within: float = _ANSWERING) -> None:
        scheduler, seen = self._scheduler, self._seen
        workers = list(scheduler.workers.values())
        busy = [ws for ws in workers if self._ours(ws.processing)][:_FEW]
        statuses: dict[str, int] = {}
        for ws in workers:
            statuses[ws.status.name] = statuses.get(ws.status.name, 0) + 1
        # As it is now: who gives up while workers are asked, takes its tasks along.
        facts: dict[str, Any] = {
            "lasted": lasted,
            "workers": len(workers),
            "statuses": statuses,
            "paused": [w.address for w in workers if w.status.name == "paused"][:_MANY],
            "states": self._states(),
            "queued": len(self._ours(scheduler.queued)),
            "processing": self._processing(workers),
            "unrunnable": self._unrunnable(),
            "waiting": self._waiting(),
            "taken": self._taken(),
        }
        asked = [asyncio.ensure_future(self._ask(ws, within)) for ws in busy]
        processes = [asyncio.ensure_future(self._process(ws, within)) for ws in busy]
        self._asking = [*asked, *processes]
        answers = await asyncio.gather(*self._asking, return_exceptions=True)
        answered = {
            ws.address: answer
            if isinstance(answer, dict) and "failed" not in answer
            else _failure(answer, process)
            for ws, answer, process in zip(busy, answers, answers[len(busy) :])
        }
        self._asking = []
        if self._seen != seen:
            return  # something has finished meanwhile: it would seem to hang from now on
        self._reported = True
        self._report("stall", "", answers=answered, **facts)

    def _states(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for group in self._own.groups():
            for state in _WANTED:
                counts[state] = counts.get(state, 0) + group.states.get(state, 0)
        return counts

    def _processing(self, workers: list[Any]) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for ws in workers:
            for ts in self._ours(ws.processing)[:_MANY]:
                if len(found) >= _MANY:
                    return found
                found.append(
                    {
                        "key": str(ts.key),
                        "prefix": ts.prefix.name,
                        "worker": ws.address,
                        "executing_for": ws.executing.get(ts),
                    }
                )
        return found

    def _unrunnable(self) -> list[dict[str, object]]:
        """Return a few tasks that no worker may run; without workers, queued ones are such."""
        scheduler = self._scheduler
        tasks = self._ours(scheduler.unrunnable)
        if not scheduler.workers:
            tasks += self._ours(scheduler.queued)
        return [restricted(ts) for ts in tasks[:_FEW]]

    def _waiting(self) -> list[dict[str, object]]:
        """Return a few waiting tasks and the states of what they wait for."""
        found: list[dict[str, object]] = []
        for ws in list(self._scheduler.workers.values())[:_FEW]:
            for ts in self._ours(ws.processing)[:_FEW]:
                for dependent in list(ts.waiters or ())[:3]:
                    on = [
                        (str(d.key), d.state)
                        for d in list(dependent.waiting_on or ())[:5]
                    ]
                    found.append({"key": str(dependent.key), "waits_for": on})
                if len(found) >= _FEW:
                    return found
        return found

    def _taken(self) -> dict[str, int]:
        """Return a few locks and semaphores without a free lease, and how many they have."""
        known = self._scheduler.extensions.get("semaphores")
        leases, most = getattr(known, "leases", {}), getattr(known, "max_leases", {})
        names = [n for n, at_most in most.items() if len(leases.get(n, ())) >= at_most]
        return {str(name): most[name] for name in names[:_FEW]}

    async def _ask(self, ws: WorkerState, within: float) -> dict[str, object]:
        """Request a worker's stacks, and what its tasks wait for."""
        keys = [ts.key for ts in self._ours(ws.processing)[:_FEW]]
        rpc = self._scheduler.rpc(ws.address)
        try:
            stacks = await asyncio.wait_for(rpc.call_stack(keys=None), within)
            ask = getattr(rpc, f"{self._name}-tell")
            tasks = await asyncio.wait_for(ask(keys=keys), within)
        except Exception as error:  # it may be frozen: that is worth knowing
            return {"failed": repr(error)}
        stacks = {str(key): _telling(frames) for key, frames in stacks.items()}
        return {"stacks": stacks, "tasks": tasks}

    async def _process(self, ws: WorkerState, within: float) -> object:
        """Request the state of a worker's process from its nanny, if the worker is silent."""
        beats = heartbeat_interval(len(self._scheduler.workers))
        silent_for = time.time() - ws.last_seen
        if not ws.nanny or silent_for < max(_SILENT, _HEARTBEATS * beats):
            return None
        ask = getattr(self._scheduler.rpc(ws.nanny), f"{self._name}-process")
        return await asyncio.wait_for(ask(), within)

    def _end_run(self, lasted: float) -> None:
        scheduler = self._scheduler
        text = f"no task has finished for {lasted:.0f} s (blackbox.stall.end-run)"
        # All of them before the first is cancelled: one may want what another made.
        wanted = {
            client.client_key: [
                ts.key for ts in client.wants_what if ts.state in (*_WANTED, "released")
            ]
            for client in self._own.wanting()
        }
        for client, keys in wanted.items():
            self._report("stall-cancelled-tasks", client, lasted=lasted, keys=len(keys))
            scheduler.stimulus_cancel(
                keys=keys, client=client, force=False, reason="dask-blackbox", msg=text
            )


def _failure(answer: object, process: object) -> dict[str, object]:
    """Return what is known of a worker that did not answer."""
    failed = answer["failed"] if isinstance(answer, dict) else repr(answer)
    if isinstance(process, dict) and process:
        return {"failed": failed, "process": process}
    return {"failed": failed}


def _telling(frames: Iterable[object]) -> list[str]:
    """Return the most informative frames of a stack: the innermost, and the user's own.

    The innermost frame is last; libraries may lie deep between it and the user's line.
    """
    texts = list(map(str, frames))
    deep, innermost = texts[:-_INNERMOST], texts[-_INNERMOST:]
    own = [text for text in deep if not is_foreign(text)]
    return [*own[-_USERS:], *innermost]


_LOOKED_AT, _REPORTED = 200, 20


class UnrunnableWatch:
    """Reports tasks of this recording whose restrictions no worker satisfies.

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
            restrictions = [restricted(ts) for ts in tasks[:_REPORTED]]
            self._report(
                "tasks-unrunnable",
                "",
                lasted=lasted,
                tasks=restrictions,
                number=len(tasks),
            )
        elif not tasks:
            self._next = self._after
            if self._reported:
                self._reported = False
                self._report("tasks-runnable", "")


def restricted(ts: TaskState) -> dict[str, object]:
    """Return the restrictions of a task: workers, hosts, resources."""
    return {
        "key": str(ts.key),
        "hosts": sorted(map(str, ts.host_restrictions or ())),
        "workers": sorted(map(str, ts.worker_restrictions or ())),
        "resources": dict(ts.resource_restrictions or {}),
        "loose": bool(ts.loose_restrictions),
    }
