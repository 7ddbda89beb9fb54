"""Watches runs begin and end, inside a scheduler: one per client, or per span.

A client that only connects costs nothing; recording begins with its first graph, in the
very call that brings it, so that no task of it is missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import queue
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from distributed.diagnostics.plugin import SchedulerPlugin

from dask_blackbox.capture.nanny.worker_exit import ring_folder
from dask_blackbox.capture.scheduler.ownership import root_span
from dask_blackbox.capture.scheduler.plugin_registration import register_everywhere
from dask_blackbox.capture.scheduler.requested_ends import (
    unwatch_requested_ends,
    watch_requested_ends,
)
from dask_blackbox.capture.scheduler.scheduler import SchedulerCapture
from dask_blackbox.driver.plugin_registration import scheduler_config, worker_and_nanny
from dask_blackbox.driver.recorder_options import config_of
from dask_blackbox.end_orders import units_in
from dask_blackbox.guard import guard
from dask_blackbox.identity import fresh_run_id
from dask_blackbox.manifest import HostFact, Manifest, own_version, since_boot
from dask_blackbox.patterns import bounded
from dask_blackbox.private_files import make_private_folder
from dask_blackbox.protocol.detached_process import (
    DetachedProcess,
    unrecorded_environment,
)
from dask_blackbox.protocol.liveness import LifeWatch, Watched
from dask_blackbox.protocol.messages import (
    ALIVE,
    LEFT,
    Attach,
    Config,
    End,
    Order,
    Parcel,
    Reply,
    decode_reply_of,
    encode,
)
from dask_blackbox.recorder.spool_folder import chosen_spool
from dask_blackbox.settings import setting, setting_seconds
from dask_blackbox.store import store_settings

if TYPE_CHECKING:
    from dask.typing import Key

    # Only describe arguments.
    from distributed import Scheduler
    from distributed.scheduler import TaskState
    from distributed.spans import Span

logger = logging.getLogger("dask_blackbox")
NAME = "dask-blackbox-resident"
_POLL_INTERVAL = 2_000  # milliseconds
_DEFAULT = "default"  # what Dask calls the span of tasks without any
_WANTED = ("waiting", "processing", "queued", "no-worker")

_SECURITY = {
    "require_encryption": ("require_encryption",),
    "tls_ca_file": ("tls_ca_file",),
    "tls_ciphers": ("tls_ciphers",),
    "tls_client_cert": ("tls_client_cert", "tls_scheduler_cert"),
    "tls_client_key": ("tls_client_key", "tls_scheduler_key"),
}


@dataclass
class _RecordedRun:
    """A run that is being recorded."""

    recording: str
    client: str
    span: str | None
    capture: SchedulerCapture
    busy: float  # monotonic moment at which it last had something to do
    done: bool = False  # nothing was left to do when a cluster object ended all workers


class RunWatcher(SchedulerPlugin):
    """Records the runs of one scheduler, each in its own recording."""

    name = NAME

    def __init__(self) -> None:
        self._runs: dict[str, _RecordedRun] = {}  # by client or span
        self._refused: set[str] = set()
        self._processes: dict[str, dict[str, Any]] = {}  # of the workers, by address
        self._reported_errors: set[str] = set()
        self._by_span = setting("preload.runs") == "span"
        self._most = int(setting("preload.most"))
        self._quiet = setting_seconds("preload.quiet")
        self._patience = setting_seconds("preload.finish-timeout")
        self._topic = f"dask-blackbox-always-{uuid.uuid4().hex[:10]}"

    # Beginning and end of the scheduler

    async def begin(self, scheduler: Scheduler) -> None:
        """Listen from now on."""
        from tornado.ioloop import PeriodicCallback

        self._scheduler = scheduler
        spool = chosen_spool()
        log = spool.parent / f"always-{self._topic[-10:]}.log"
        self._line = RecorderConnection(log, self._topic, self._on_reply)
        if str(scheduler.address).startswith("inproc://"):
            await scheduler.listen("tcp://127.0.0.1:0")
        plugins = worker_and_nanny(self._topic, self._topic)
        await register_everywhere(scheduler, self._topic, plugins, self._warn)
        scheduler.plugins[NAME] = self
        watch_requested_ends(scheduler, self._ends_requested)
        self._clock = PeriodicCallback(self._end_quiet_runs, _POLL_INTERVAL)
        self._clock.start()

    async def end(self) -> None:
        """End all recordings; wait for them, but not for long."""
        self._clock.stop()
        self._scheduler.plugins.pop(NAME, None)
        unwatch_requested_ends(self._scheduler, self._ends_requested)
        for key, recorded in list(self._runs.items()):
            # What is lost as its cluster is closed had been done.
            done = recorded.done or not self._unfinished(recorded.client)
            self._end(key, LEFT if done else "failed")
        # In a thread: while we wait, the recorders pull what is left from us.
        if not await asyncio.to_thread(self._line.close, self._patience):
            logger.warning("recordings are still being finalised, in their own process")
        shutil.rmtree(ring_folder(self._topic), ignore_errors=True)

    # What the scheduler reports

    def update_graph(
        self,
        scheduler: object,
        *,
        client: str,
        keys: Collection[Key],
        tasks: Collection[Key],
        **kwargs: object,
    ) -> None:
        with guard("a run on this scheduler"):
            for key, span in self._runs_in(client, tasks):
                recorded = self._runs.get(key)
                if recorded is not None:
                    recorded.busy, recorded.done = time.monotonic(), False
                    continue
                recorded = self._begin_run(key, client, span, tasks)
                if recorded is not None:
                    # Dask asks those that were there before this graph.
                    recorded.capture.update_graph(
                        scheduler, client=client, keys=keys, tasks=tasks, **kwargs
                    )

    def log_event(self, topic: str, msg: Any) -> None:
        if topic == self._topic:
            self._scheduler._broker.truncate(topic)  # noqa: SLF001
            if isinstance(msg, dict) and "here" in msg:
                self._processes[msg["here"]] = msg.get("process") or {}
            return
        action = msg.get("action") if isinstance(msg, dict) else None
        if topic not in self._scheduler.clients:
            return
        with guard("a run on this scheduler"):
            if action == "remove-client":
                self._client_removed(topic)
            elif action == "update-graph" and msg.get("status") == "error":
                recorded = self._begin_run(topic, topic, None, ())
                if recorded is not None:
                    recorded.capture.log_event(topic, msg)

    def _ends_requested(self, names: list[str], more: int) -> None:
        """Note which runs have nothing left to do, if a cluster object ends all workers now."""
        workers = self._scheduler.workers.values()
        wanted = set(names)
        if len(names) + more < len(workers) and not all(
            any(unit in wanted for unit in units_in(str(each.name))) for each in workers
        ):
            return
        for recorded in self._runs.values():
            recorded.done = not self._unfinished(recorded.client)

    def add_client(self, scheduler: object, client: str) -> None:
        self._line.wake()

    def remove_client(self, scheduler: object, client: str) -> None:
        self._refused.discard(client)

    def remove_worker(self, scheduler: object, worker: str, **_: object) -> None:
        self._processes.pop(worker, None)

    # Runs

    def _runs_in(
        self, client: str, tasks: Iterable[Key]
    ) -> Iterable[tuple[str, Span | None]]:
        """Return keys of the runs that a graph belongs to, with their outermost spans."""
        if not self._by_span:
            return [(client, None)]
        found: dict[str, Span | None] = {}
        groups: set[str] = set()
        for key in tasks:
            ts = self._scheduler.tasks.get(key)
            if ts is None or ts.group.name in groups:
                continue
            groups.add(ts.group.name)
            span = root_span(self._scheduler, ts.group)
            if span is None or span.name == (_DEFAULT,):
                found[client] = None
            else:
                found[span.id] = span
        return found.items()

    def _begin_run(
        self, key: str, client: str, span: Span | None, tasks: Collection[Key]
    ) -> _RecordedRun | None:
        if key in self._runs or self._is_recorded(client):
            return None
        if len(self._runs) >= self._most:
            self._refuse(client)
            return None
        recording = f"{int(time.time()):x}-{uuid.uuid4().hex[:10]}"
        job = job_of(self._scheduler, client, tasks, setting("job"))
        manifest = Manifest(
            recording=recording,
            job=job,
            run_id=fresh_run_id(),
            started=time.time(),
            since_boot=since_boot(),
            host=_host_of(self._scheduler, client, span),
            machine=platform.node(),
            blackbox=own_version(),
        )
        name = f"dask-blackbox-{recording}"
        capture = SchedulerCapture(
            **scheduler_config(name, recording, client),
            worker=None,
            nanny=None,
            topic=self._topic,
            span=self._span_of(span),
            resident=True,
        )
        attach = Attach(
            address=self._address(), tap=name, security=self._security(), pid=0
        )
        config = config_of(manifest, store_settings())
        if not self._line.begin(recording, config, attach):
            self._refuse(client)
            return None
        capture.begin(self._scheduler)
        facts = _packages_of(self._scheduler, client)
        capture.report("driver-attached", "driver", client=client, **facts)
        # Our plugins said it when they came, before there was this run.
        for address, process in self._processes.items():
            capture.report("process-ancestors", address, **process)
        recorded = _RecordedRun(
            recording,
            client,
            None if span is None else span.id,
            capture,
            time.monotonic(),
        )
        self._runs[key] = recorded
        return recorded

    def _span_of(self, span: Span | None) -> str | None:
        if not self._by_span:
            return None
        return _DEFAULT if span is None else str(span.id)

    def _is_recorded(self, client: str) -> bool:
        """Return whether this client is recorded already: by its driver, or by another run."""
        owns = (getattr(p, "own", None) for p in self._scheduler.plugins.values())
        return any(
            own.owns(client)
            for own in owns
            if own is not None
            and not own.everything
            and not (own.resident and client in own.clients)
        )

    def _refuse(self, client: str) -> None:
        if client not in self._refused:
            self._refused.add(client)
            logger.warning(
                "the run of %s is not recorded: %d runs are already being recorded "
                "(blackbox.preload.most); "
                "%d clients have been refused",
                client,
                len(self._runs),
                len(self._refused),
            )

    def _client_removed(self, client: str) -> None:
        unfinished = self._unfinished(client)
        for key, recorded in list(self._runs.items()):
            if recorded.client == client:
                self._end(key, "aborted" if unfinished else LEFT)

    def _unfinished(self, client: str) -> bool:
        wants = getattr(self._scheduler.clients.get(client), "wants_what", ())
        return any(ts.state in _WANTED for ts in wants)

    def _end(self, key: str, state: str) -> None:
        recorded = self._runs.pop(key)
        self._line.order(recorded.recording, End(state=state))

    def _end_quiet_runs(self) -> None:
        """End the runs that have been quiet for long; a later graph is another run."""
        with guard("quiet runs on this scheduler"):
            now = time.monotonic()
            for key, recorded in list(self._runs.items()):
                if any(not group.done for group in recorded.capture.own.groups()):
                    recorded.busy = now
                elif now - recorded.busy > self._quiet:
                    self._end(key, LEFT)

    # Around

    def _on_reply(self, recording: str, reply: Reply) -> None:
        """Handle a reply of a recording; called from a thread."""
        if reply.error is not None and reply.error not in self._reported_errors:
            self._reported_errors = {*list(self._reported_errors)[-100:], reply.error}
            logger.warning("recording %s: %s", recording, reply.error)

    def _warn(self, kind: str, subject: str, /, **detail: object) -> None:
        logger.warning("%s %s: %s", kind, subject, detail)

    def _address(self) -> str:
        own = str(self._scheduler.address)
        if own.startswith("inproc://"):
            return str(self._scheduler.listeners[-1].contact_address)
        return own

    def _security(self) -> dict[str, object]:
        security = self._scheduler.security
        found = {}
        for name, homes in _SECURITY.items():
            values = (getattr(security, home, None) for home in homes)
            found[name] = next((value for value in values if value), None)
        return {name: value for name, value in found.items() if value}


_UNNAMED = "default"


# `Client(name="etl")` makes the id `Client-etl-<uuid>`.
_NAMED = bounded(
    r"^[A-Za-z]*Client-(?P<name>.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
)


def job_of(
    scheduler: Scheduler, client: str, keys: Iterable[Key], setting: object
) -> str:
    """Return the job name of a run, as far as the scheduler can know it.

    The outermost span says it, or the client's name, or the file whose code made the
    first graph (where Dask's `computations.nframes` sends it), or what the first graph
    mostly consists of.

    Args:
        keys: Of the first graph.
        setting: `blackbox.job`, which has the last word.
    """
    if setting:
        return str(setting)
    tasks = [ts for key in keys if (ts := scheduler.tasks.get(key)) is not None]
    for ts in tasks[:1]:
        span = root_span(scheduler, ts.group)
        if span is not None and span.name != (_UNNAMED,):
            return str(span.name[0])
    named = _NAMED.match(client)
    if named is not None:
        return named["name"]
    return _file_in(scheduler) or _most_of(tasks) or "client"


def _file_in(scheduler: Scheduler) -> str | None:
    computations = getattr(scheduler, "computations", None)
    for frames in computations[-1].code if computations else ():
        for frame in frames:
            name = str(getattr(frame, "filename", "")).replace("\\", "/")
            if name and not name.startswith("<"):
                return name.rsplit("/", 1)[-1].removesuffix(".py")
    return None


def _most_of(tasks: Iterable[TaskState]) -> str | None:
    counts: dict[str, int] = {}
    for ts in tasks:
        counts[ts.prefix.name] = counts.get(ts.prefix.name, 0) + 1
    return max(counts, key=counts.__getitem__) if counts else None


def _host_of(
    scheduler: Scheduler, client: str, span: Span | None
) -> dict[str, HostFact]:
    """Return what started a run, as the scheduler sees it.

    Args:
        span: The outermost span, if it is the run.
    """
    comm = getattr(scheduler.client_comms.get(client), "comm", None)
    facts = {
        "kind": "scheduler",
        "scheduler": str(scheduler.address),
        "client": client,
        "peer": str(getattr(comm, "peer_address", "") or ""),
        "span": None if span is None else "/".join(map(str, span.name)),
    }
    return {name: value for name, value in facts.items() if value}


def _packages_of(scheduler: Scheduler, client: str) -> dict[str, object]:
    """Return the versions that a client reported when it connected."""
    versions = getattr(scheduler.clients.get(client), "versions", None) or {}
    packages = versions.get("packages") or {}
    python = packages.get("python") or dict(versions.get("host") or {}).get("python")
    return {"python": None if python is None else str(python), "packages": packages}


_WAITING = 10_000
_RESTARTS, _WITHIN = 3, 3600.0
_EXITING = 5.0  # seconds from the end of its pipe to the end of the process


class RecorderConnection:
    """Starts the process when there is something to record, and again if it dies.

    Args:
        log: File for what the process has to complain of.
        topic: Of the workers' plugins, whose rings lie under that name.
        on_reply: Takes the id of a recording and what it says; called from a thread.
    """

    def __init__(
        self, log: Path, topic: str, on_reply: Callable[[str, Reply], None]
    ) -> None:
        self._log, self._topic, self._on_reply = log, topic, on_reply
        self._parcels: queue.Queue[Parcel | None] = queue.Queue(_WAITING)
        self._open: dict[str, list[Parcel]] = {}
        self._process: DetachedProcess | None = None
        self._listening: threading.Thread | None = None
        self._started: list[float] = []
        self._ended = threading.Event()
        self._messages, self._closing = 0, False
        self._watch = LifeWatch(
            self._watched,
            lambda: self._closing,
            setting_seconds("recorder.silent-after"),
        )
        self._watch.start()
        self._speaking = threading.Thread(
            target=self._write_orders, name="dask-blackbox-line", daemon=True
        )
        self._speaking.start()

    def wake(self) -> None:
        """Start the process; requests from before it runs are lost with the scheduler."""
        if self._process is None:
            self._put(Parcel(run=""))

    def begin(self, run: str, config: Config, attach: Attach) -> bool:
        """Start a recording; return whether the process can make it."""
        first = self._put(Parcel(run=run, config=config))
        return first and self.order(run, attach)

    def order(self, run: str, order: Order) -> bool:
        """Send a message to a recording; return whether the queue accepted it."""
        return self._put(Parcel(run=run, order=msgspec.Raw(encode(order).strip())))

    def _put(self, parcel: Parcel) -> bool:
        if self._ended.is_set():
            return False
        try:
            self._parcels.put_nowait(parcel)
        except queue.Full:
            return False
        return True

    def _watched(self) -> Watched | None:
        process = self._process
        return None if process is None else Watched(process, self._messages)

    def close(self, timeout: float) -> bool:
        """Stop sending; return whether the process exits within `timeout` seconds."""
        self._closing = True
        try:
            return self._close(timeout)
        finally:
            self._watch.end()

    def _close(self, timeout: float) -> bool:
        with contextlib.suppress(queue.Full):
            self._parcels.put_nowait(None)
        deadline = time.monotonic() + timeout
        self._speaking.join(timeout)
        while self._process is not None and self._listening is not None:
            self._listening.join(max(0.0, deadline - time.monotonic()))
            if self._listening.is_alive():
                self._process.wait(0.0)  # it continues without us
                return False
            # One that was killed while it finalised is replaced, as before.
            if not self._open or not self._restart(OSError("before it was done")):
                break
            self._close_pipe()
        return True

    # In a thread of its own

    def _write_orders(self) -> None:
        while (parcel := self._parcels.get()) is not None:
            if parcel.config is not None:
                self._open[parcel.run] = []
            parcels = self._open.get(parcel.run)
            if parcels is not None:  # a process that takes over gets all of it again
                parcels.append(parcel)
            try:
                self._write(parcel)
            except OSError as error:
                if not self._restart(error):
                    break
        self._ended.set()
        self._close_pipe()

    def _close_pipe(self) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _write(self, parcel: Parcel) -> None:
        if self._process is None:
            self._start()
        assert self._process is not None  # noqa: S101
        self._process.stdin.write(encode(parcel))
        self._process.stdin.flush()

    def _start(self) -> None:
        self._started.append(time.monotonic())
        make_private_folder(self._log.parent)
        command = [
            sys.executable,
            "-P",
            "-m",
            "dask_blackbox.recorder",
            str(os.getpid()),
        ]
        self._process = DetachedProcess(
            [*command, str(self._log), self._topic],
            errors=subprocess.DEVNULL,
            environment=unrecorded_environment(),
            folder="/",
        )
        self._listening = threading.Thread(
            target=self._listen,
            args=(self._process,),
            name="dask-blackbox-line",
            daemon=True,
        )
        self._listening.start()

    def _restart(self, error: OSError) -> bool:
        """Start another process in place of one that died; returns whether it lives."""
        recent = [at for at in self._started if time.monotonic() - at < _WITHIN]
        if len(recent) > _RESTARTS:
            logger.error(
                "runs on this scheduler are no longer recorded: the recorder process "
                "has died %d times; its log is %s",
                len(recent),
                self._log,
            )
            return False
        logger.warning("the recorder process died (%s); starting another one", error)
        self._process = None
        try:
            for parcels in list(self._open.values()):
                for parcel in parcels:
                    self._write(parcel)
        except OSError as worse:
            return self._restart(worse)
        return True

    def _listen(self, process: DetachedProcess) -> None:
        process.read_pid()
        with contextlib.suppress(OSError, ValueError):
            while line := process.stdout.readline():
                self._messages += 1
                with contextlib.suppress(msgspec.MsgspecError):
                    reply = decode_reply_of(line)
                    if reply.reply.what == ALIVE:
                        continue
                    if reply.reply.what == "final":
                        self._open.pop(reply.run, None)
                    self._on_reply(reply.run, reply.reply)
        with contextlib.suppress(OSError):
            process.stdout.close()
        process.note_end()
        process.wait(_EXITING)
        self._put(Parcel(run=""))  # if it should still be there, this finds out
