"""The scheduler's part: one small tuple per fact, pulled by the recorder in batches.

Hooks run on the scheduler's event loop, for every transition of every task: they only look
up, append and return.  Longer work happens when the recorder pulls.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Collection

from distributed.diagnostics.plugin import SchedulerPlugin

from ..exceptions import scheduler_exception, texts
from ..executions import LONGEST_KEY, Attempts, short_key, split
from ..logs import LogTap
from ..masked_values import MASKED
from ..redaction import MOST_VALUES
from ..rpc_handlers import Handler
from ..source_files import leave_source_files, name_source_files
from .code_hashes import CodeMarks
from .dask_events import (
    GATEWAY,
    closing_of,
    ends_idle_cluster,
    reported_by_dask,
    unwatch_closing,
    watch_closing,
)
from .graphs import GroupCounts, empty_reads
from .inventory import Inventory, scheduler_facts, worker_facts
from .nanny_checks import NannyCheck, silent_workers
from .ownership import ForeignLines, Ownership
from .plugin_registration import register_everywhere, unregister_everywhere
from .requested_ends import unwatch_requested_ends, watch_requested_ends
from .row_buffer import RowBuffer
from .samples import Measures
from .stalls import StallWatch, UnrunnableWatch
from .task_files import TaskFiles

if TYPE_CHECKING:
    from dask.typing import Key

    # Only describe arguments.
    from distributed import Scheduler

_OF_TASKS = (
    "bundle-announced", "file-removed", "files-read", "missing-file", "process-changed",
    "program-failed", "result-cached", "result-size", "task-not-run", "task-opened-files", "worker-code",
)  # fmt: skip
"""Kinds of events of workers whose subject is the key of a task."""
_RUNNABLE_STATES = ("processing", "queued", "no-worker")
_HANDLERS = ("pull", "withdraw", "leave", "join", "alone")
_TIMEOUT = 1.0  # seconds that a failed task waits for its worker's report
_MOST_NAMES = 1_000
_LAST_PULL = 2.0
_LAST_MESSAGES, _LOOK = 3.0, 0.01  # seconds
_FEW = 2
_SHIPPED = 0.4  # seconds by which a worker's last lines have come
_UNPULLED_SECONDS = 600.0  # seconds without a pull
_UNPULLED_ALONE = (
    30.0  # the same, when none of the recorded clients is connected any more
)


class SchedulerCapture(SchedulerPlugin):
    """Listens inside the scheduler for one recording.

    Args:
        name: Of this plugin, of the workers' and nannies', and of their topic.
        client: Id of the client that is recorded; None: everything is.
        worker: The workers' plugin, pickled; None: others have one there for us.
        nanny: The nannies' plugin, pickled, or None.
        limit: How many rows to keep at most.
        metrics_interval: Seconds between two samples.
        stall_after: Seconds without progress that make a stall; 0 for never.
        stall_end: Seconds without progress that end the run; 0 for never.
        topic: On which workers and nannies speak; None: one of our own.
        span: Id of the outermost span that is recorded; None: all of the client's tasks.
        resident: See `Ownership`.
    """

    def __init__(
        self,
        *,
        name: str,
        recording: str,
        client: str | None,
        worker: bytes | None,
        nanny: bytes | None,
        limit: int,
        metrics_interval: float,
        stall_after: float = 0.0,
        stall_end: float = 0.0,
        topic: str | None = None,
        span: str | None = None,
        resident: bool = False,
    ) -> None:
        self.name = name
        self._recording, self._client = recording, client
        self._whose: dict[str, Any] = {"span": span, "resident": resident}
        self._plugins = (worker, nanny)
        self._interval = metrics_interval
        self._voice = topic or name  # of our plugins on workers and nannies
        self._stalls = {"after": stall_after, "end_after": stall_end}
        self._ended = 0  # executions, however they ended
        self._started = time.monotonic()
        self._rows = RowBuffer(limit)
        self._put, self._put_task = self._rows.put, self._rows.put_task
        self._graphs = 0
        self._marks = CodeMarks()
        self._actors: dict[Key, str | None] = {}  # who holds them
        self._attempts = Attempts(self._attempted)
        self._masked: dict[str, None] = {}
        self._here: set[str] = set()  # workers with a plugin of this recording
        self._left: set[str] = set()  # workers that have sent the last of their rows
        self._leaving: dict[str, float] = {}
        """Workers that were removed in order before that, and when."""
        self._last_stimulus = "-"  # of the task that has finished last
        self._last_finished: Key | None = None  # its key
        self._last_inputs: dict[Key, Key | None] = {}
        """Of tasks that may run and have not ended."""

    # Beginning and end

    async def start(self, scheduler: Scheduler) -> None:
        self.begin(scheduler)
        await self._listen_on_tcp()
        await register_everywhere(scheduler, self.name, self._plugins, self._event)

    def begin(self, scheduler: Scheduler) -> None:
        """Listen in the scheduler from now on."""
        self._scheduler = scheduler
        name_source_files(self.name)
        self._tasks = scheduler.tasks
        self._files = TaskFiles()
        for handler in _HANDLERS:
            method = Handler(getattr(self, handler))
            scheduler.handlers[f"{self.name}-{handler}"] = method
        clients = None if self._client is None else [self._client]
        self.own = Ownership(scheduler, clients, **self._whose)
        self._others = ForeignLines(scheduler, self.own)
        self._tap = LogTap(
            self._recording,
            "scheduler",
            lambda role: role,
            self._take_line,
        )
        self._tap.attach("distributed", "tornado.application", GATEWAY)
        self._event("recording-started", self._client or "")
        self._address = str(scheduler.address)
        self._event("scheduler-info", self._address, **scheduler_facts(scheduler))
        self._nannies = NannyCheck(scheduler, self._event)
        self._inventory = Inventory(scheduler, self._voice, self._event)
        watch_closing(scheduler)
        watch_requested_ends(scheduler, self._ends_requested)
        # From here on: Dask adds a plugin only when its start has ended, and ours waits.
        scheduler.plugins[self.name] = self
        for address in scheduler.workers:
            self.add_worker(scheduler, address)
            if self._voice != self.name:  # another recording's plugins are ours too
                self._inventory.ask(address)
        self._stall_watch = StallWatch(
            scheduler,
            name=self._voice,
            own=self.own,
            report=self._event,
            **self._stalls,
        )
        self._unrunnable = UnrunnableWatch(
            scheduler, own=self.own, after=self._stalls["after"], report=self._event
        )
        self._measures = Measures(
            scheduler,
            put=self._put,
            report=self._event,
            interval=self._interval,
            each=self._check,
        )
        self._measures.start()

    def _take_line(self, row: list[Any]) -> None:
        self._put("log", row)
        if ends_idle_cluster(row):
            names = [str(each.name) for each in self._scheduler.workers.values()]
            more = max(len(names) - _MOST_NAMES, 0)
            self._ends_requested(names[:_MOST_NAMES], more, "dask-gateway")

    def _ends_requested(self, workers: list[str], more: int, by: str = "") -> None:
        self._event(
            "workers-ended-by-cluster", "", cluster=by, scheduler=self._address,
            workers=workers, more=more,
        )  # fmt: skip

    async def _listen_on_tcp(self) -> None:
        """Open a socket for the recorder on a scheduler without one (`processes=False`).

        One for all recordings: it closes with the scheduler.
        """
        known = [str(each.contact_address) for each in self._scheduler.listeners]
        if all(each.startswith("inproc://") for each in known):
            await self._scheduler.listen("tcp://127.0.0.1:0")

    async def before_close(self) -> None:
        why = closing_of(self._scheduler)
        self._event("scheduler-closing", "", **why, scheduler=self._address)
        await self._rows.drain(self._started)

    async def withdraw(self) -> str:
        """Remove our plugins from workers and nannies, which first send their remaining rows."""
        self._stall_watch.stop()
        self._rows.puller_waits = True
        if self._voice != self.name:  # plugins that stay ship at their own pace
            await asyncio.sleep(_SHIPPED)
        there = set(self._scheduler.workers)
        if not await unregister_everywhere(self._scheduler, self.name, self._plugins):
            there = set()
        await self._receive_the_last_of(there)
        self._rows.puller_waits, self._rows.pulled_at = False, time.monotonic()
        return "OK"

    async def _receive_the_last_of(self, workers: set[str]) -> None:
        """Wait for the last message of each worker: it comes by another connection.

        Also of those that the scheduler has removed lately: it removes a worker as soon as
        it has asked it to close, and its rows arrive afterwards.
        """
        begun = time.monotonic()
        leaving = {
            each for each, at in self._leaving.items() if begun - at < _LAST_MESSAGES
        }
        while late := (
            workers & (set(self._scheduler.workers) - self._left)
            | leaving & self._leaving.keys()
        ):
            if time.monotonic() - begun > _LAST_MESSAGES:
                error = f"not received from {len(late)} workers"
                self._event("capture-failed", "", doing="last rows", error=error)
                return
            await asyncio.sleep(_LOOK)

    async def _depart(self) -> None:
        await self.withdraw()
        await self.leave()

    async def leave(self) -> str:
        """Remove everything of this recording from the scheduler, after `withdraw`."""
        leave_source_files(self.name)
        self._measures.stop()
        self._nannies.stop()
        self._inventory.stop()
        self._tap.detach()
        scheduler = self._scheduler
        unwatch_closing(scheduler)
        unwatch_requested_ends(scheduler, self._ends_requested)
        scheduler.plugins.pop(self.name, None)
        # The broker would keep a topic for each recording of a long-lived cluster; later,
        # as words of workers and nannies may still be on their way.
        topics = getattr(scheduler._broker, "_topics", {})
        for topic in (self.name, f"{self.name}{MASKED}"):
            asyncio.get_running_loop().call_later(_LAST_PULL, topics.pop, topic, None)
        for handler in _HANDLERS:
            scheduler.handlers.pop(f"{self.name}-{handler}", None)
        return "OK"

    async def join(self, client: str | None) -> str:
        """Record a client's tasks too; return an address at which we can be pulled.

        (An RPC handler, called by a driver after it has registered this plugin, or has
        found it registered by another client of the same recording.)
        """
        if client is not None:
            self.own.add(client)
        own = str(self._scheduler.address)
        if own.startswith("inproc://"):
            return str(self._scheduler.listeners[-1].contact_address)
        return own

    async def alone(self, client: str) -> bool:
        """Return whether no other client of the recording is connected (an RPC handler).

        Args:
            client: Id of the one that is about to close.
        """
        return not (self.own.clients - {client}) & set(self._scheduler.clients)

    async def close(self) -> None:
        leave_source_files(self.name)
        self._nannies.stop()
        self._inventory.stop()
        self._tap.detach()

    async def pull(
        self, *, acknowledged: int = 0, limit: int = 2000, last: bool = False
    ) -> dict[str, object]:
        """Return the next batch of rows (an RPC handler, called by the recorder).

        Args:
            acknowledged: Sequence number of the last batch that is safe.
            limit: How many rows at most.
            last: The recording ends: hold nothing back, look once more at everything.
        """
        now = time.time()
        if last:
            self._measures.sample()
            self._measures.totals(now)
            for address, facts in silent_workers(self._scheduler, now):
                self._event("worker-unresponsive", address, **facts)
            with contextlib.suppress(Exception):  # the rows go before what hangs
                await self._stall_watch.describe_at_last()
        self._attempts.settle(before=now if last else now - _TIMEOUT)
        for source, numbers in self._others.numbers():
            self._event("lines-left-out", source, **numbers)
        batch = self._rows.pull(acknowledged, limit, now)
        batch = {**batch, "buffer": str(self._started)}
        # Each time: another recorder may have taken over.
        return {**batch, "masked": list(self._masked)} if self._masked else batch

    # Tasks

    def transition(
        self,
        key: Key,
        start: str,
        finish: str,
        *args: object,
        stimulus_id: str = "",
        startstops: object = None,
        worker: str | None = None,
        **facts: object,
    ) -> None:
        # Five times for each task: what comes most often is looked at first.
        if start == "processing" and finish == "memory":
            self._last_stimulus, self._last_finished = stimulus_id, key
            self._finished(key, startstops, worker, facts)
        elif start == "waiting" and finish in _RUNNABLE_STATES:
            if stimulus_id == self._last_stimulus:
                self._last_inputs[key] = self._last_finished
        elif finish == "released":
            if start == "processing":
                self._released(key, stimulus_id)
            elif self._last_inputs:
                self._last_inputs.pop(key, None)
        elif finish == "erred":
            facts |= {"startstops": startstops, "worker": worker}
            self._not_finished(key, start, facts)

    def _not_finished(self, key: Key, start: str, facts: dict[str, object]) -> None:
        if start == "processing" or "exception" in facts:
            self._erred(key, facts)
        elif key in self._actors:
            self._event("actor-lost", str(key), worker=self._actors.pop(key))

    def _last_input(self, key: Key) -> str:
        """Return the key of the input whose end let a task run; empty if none did."""
        last = self._last_inputs.pop(key, None)
        return "" if last is None else short_key(str(last))

    def _finished(
        self,
        key: Key,
        startstops: object,
        worker: str | None,
        facts: dict[str, object],
    ) -> None:
        last_input = self._last_input(key) if self._last_inputs else ""
        ts = self._tasks[key]
        if not self.own.has(ts):
            self._others.task_ended(worker)
            return
        self._ended += 1
        self.own.ended.append(key)
        if ts.actor:
            self._actors[key] = worker
        group, name = ts.group, str(key)
        prefix, groups_name = group.prefix.name, group.name
        if len(name) > LONGEST_KEY:
            name, prefix = short_key(name), short_key(prefix)
            groups_name = short_key(groups_name)
        fact = facts.get
        begin, end, compute, transfer, disk, deserialize = split(
            startstops, time.time()
        )
        self._put_task(
            (
                name, prefix, groups_name, worker, fact("thread"),
                begin, end, compute, transfer, disk, deserialize,
                fact("nbytes"), fact("typename"), "finished", last_input,
            ),
        )  # fmt: skip

    def _erred(self, key: Key, facts: dict[str, Any]) -> None:
        last_input = self._last_input(key)
        ts = self._tasks.get(key)
        if ts is None or not self.own.has(ts):
            self._others.task_ended(facts.get("worker"))
            return
        self._ended += 1
        self.own.ended.append(key)
        killed = isinstance(facts.get("exception"), bytes)
        outcome = "killed" if killed else "erred"
        text, prefix = short_key(str(key)), short_key(ts.prefix.name)
        worker = facts.get("worker")
        self._put_task(
            (
                text, prefix, short_key(ts.group.name), worker, facts.get("thread"),
                *split(facts.get("startstops"), time.time()), None, None, outcome,
                last_input,
            ),
        )  # fmt: skip
        cause = facts.get("cause")
        cause = None if cause is None else short_key(str(cause))
        cause = None if cause == text else cause
        if cause is None and (files := self._files.of(ts)):
            self._event("task-files", text, **files)
        if killed:
            name, message = scheduler_exception(facts["exception"])
            row = [time.time(), text, prefix, worker, outcome, name, message, "", cause]
            self._put("error", [*row, None])
            return
        row = [time.time(), text, prefix, worker, outcome, *texts(facts), cause, None]
        self._attempts.decided(text, outcome, row)

    def _released(self, key: Key, stimulus: str) -> None:
        """A task is released from its worker: to be retried, or because it is no longer needed.

        When a task fails permanently, Dask releases the others whose results only it or its
        dependents wanted, with the same stimulus.
        """
        self._last_inputs.pop(key, None)
        ts = self._tasks.get(key)
        if ts is None or not self.own.has(ts):
            return
        if not (ts.waiters or ts.who_wants):
            self._attempts.decided(short_key(str(key)), "released")
        elif stimulus.startswith("task-erred"):
            self._ended += 1
            self._attempts.decided(short_key(str(key)), "retried")

    def _attempted(self, row: list[object], parts: list[object] | None) -> None:
        """Record a failed attempt; of a retried attempt, Dask reports nothing else."""
        self._put("error", row)
        _, key, prefix, worker, outcome, *_ = row
        if outcome in ("retried", "released") and parts is not None:
            execution = (
                key,
                prefix,
                prefix,
                worker,
                None,
                *parts,
                None,
                None,
                outcome,
                None,
            )
            self._put_task(execution)

    def update_graph(
        self,
        scheduler: object,
        *,
        client: str,
        keys: Collection[Key],
        tasks: Collection[Key],
        **kwargs: object,
    ) -> None:
        counts = GroupCounts(self._tasks, tasks)
        if not self.own.claim(client, counts):
            return
        self._graphs += 1
        self._measures.spans.seen(counts.groups)
        firsts = counts.firsts()
        self._event(
            "graph-updated", client, graph=self._graphs, tasks=len(tasks), wanted=len(keys),
            prefixes=counts.prefixes(), annotations=kwargs.get("annotations"),
            all_tasks=len(self._tasks), new=counts.new(), edges=counts.edges(),
            inputs=counts.inputs(),
            **self._marks.fields(firsts), empty_inputs=empty_reads(firsts),
        )  # fmt: skip

    # Workers and clients

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        ws = scheduler.workers.get(worker)
        if ws is None:
            return
        self._event("worker-added", worker, **worker_facts(ws), scheduler=self._address)
        self._nannies.worker_added(worker, ws.nanny, ws.pid)

    def add_client(self, scheduler: object, client: str) -> None:
        self._event("client-added", client)

    def remove_client(self, scheduler: object, client: str) -> None:
        self._event("client-removed", client)

    def restart(self, scheduler: object) -> None:
        self._event("cluster-restarted", "")

    def log_event(self, topic: str, msg: Any) -> None:
        if topic == self._voice:
            self._on_plugin_message(msg)
            # The broker would keep the last thousand of these in memory.
            self._scheduler._broker.truncate(topic)
        elif topic == f"{self._voice}{MASKED}":
            for value in msg:
                if len(self._masked) < MOST_VALUES:
                    self._masked[value] = None
            self._scheduler._broker.truncate(topic)
        elif topic == "stealing":
            self._measures.stealing(msg)
        else:
            for kind, subject, detail in reported_by_dask(topic, msg):
                if kind == "user-event" and self._others.may_have_logged():
                    continue
                if kind == "graph-failed":
                    detail["scheduler"] = self._address
                self._event(kind, subject, **detail)
                if kind == "worker-removed":
                    expected = bool(detail["expected"])
                    self._nannies.worker_removed(subject, expected=expected)
                    self._worker_removed(subject, expected=expected)

    def _worker_removed(self, worker: str, *, expected: bool) -> None:
        sends = worker in self._here or self._voice != self.name
        self._here.discard(worker)
        if worker in self._left:
            self._left.remove(worker)
        elif expected and sends:
            now = time.monotonic()
            for each, at in [*islice(self._leaving.items(), _FEW)]:  # the oldest
                if now - at > _LAST_MESSAGES:
                    del self._leaving[each]
            self._leaving[worker] = now

    def _on_plugin_message(self, msg: dict[str, Any]) -> None:
        """What our own plugins send from workers and nannies."""
        for kind, rows in msg.get("rows", {}).items():
            for row in rows:
                self._take_remote_row(kind, row)
        if msg.get("dropped"):
            self._rows.drop("log", msg["dropped"])
        if "exit_report" in msg:
            self._on_exit_report(msg["exit_report"])
        if "left" in msg and self._leaving.pop(msg["worker"], None) is None:
            self._left.add(msg["worker"])
        if "here" in msg:
            self._here.add(msg["here"])
            self._inventory.ask(msg["here"])
            self._event("process-ancestors", msg["here"], **msg.get("process") or {})
        if "starting" in msg:
            facts = msg["starting"]
            self._event("worker-starting", facts.pop("nanny", ""), **facts)
        if "failed" in msg:
            self._event("capture-failed", "", doing="nanny", error=msg["failed"])

    def _on_exit_report(self, facts: dict[str, Any]) -> None:
        for kind, *row in facts.pop("lines", ()):
            self._on_plugin_message({"rows": {kind: [row]}})
        subject = facts.get("worker") or ""
        self._nannies.exit_reported(facts)
        if facts.get("by") != "itself":  # its nanny has read the rest
            self._leaving.pop(subject, None)
        self._put(
            "event",
            (facts.get("observed_at"), "worker-exit-report", subject, _json(facts)),
        )

    def _take_remote_row(self, kind: str, row: Any) -> None:
        """Record a worker's row; the worker does not know which client its tasks belong to."""
        if kind == "log":
            if not self._others.excludes(row):
                self._put(kind, row)
        elif kind == "attempt":
            if self.own.has_named(row[1]):
                at, key, prefix, *rest = row
                key, prefix = short_key(str(key)), short_key(str(prefix))
                self._attempts.reported([at, key, prefix, *rest])
        elif row[1] not in _OF_TASKS or self.own.has_named(row[2]):
            self._put(kind, row)
            if row[1] == "worker-code":
                code = json.loads(row[3])
                worker = code.get("worker") or ""  # a plugin of an older version
                self._inventory.compare(row[2], worker, [*code["modules"]])

    def report(self, kind: str, subject: str, /, **detail: object) -> None:
        """Record an event."""
        self._event(kind, subject, **detail)

    def _event(self, kind: str, subject: str, /, **detail: object) -> None:
        self._put("event", (time.time(), kind, subject, _json(detail)))

    def _check(self, now: float) -> None:
        self._stall_watch.check(self._ended)
        self._unrunnable.check()
        unpulled = time.monotonic() - max(self._rows.pulled_at, self._started)
        alone = not (self.own.everything or self.own.wanting())
        if unpulled > (_UNPULLED_ALONE if alone else _UNPULLED_SECONDS):
            # Driver and recorder are both gone, or only the driver could connect to this
            # scheduler: no other process will remove us.
            self._measures.stop()
            self._departure = asyncio.ensure_future(self._depart())


def _json(detail: object) -> str:
    return json.dumps(detail, default=str)
