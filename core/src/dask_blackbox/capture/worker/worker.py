"""The worker's part: log lines, failed attempts and last lines.

Everything is written to the ring at once and shipped to the scheduler a little later, in
batches, through Dask's own event log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from distributed.diagnostics.plugin import WorkerPlugin

from ..executions import KEY, MESSAGE, NAME, TRACEBACK, report_of
from ..logs import LogTap, closing_signal
from ..masked_values import (
    MASKED,
    OwnSecrets,
    follow_masked_values,
    masked_values,
    unfollow_masked_values,
)
from ..memory_limits import memory_limits
from ..nanny.worker_exit import (
    forget_ring,
    leave_rings,
    make_ring_folder,
    process_started,
    remove_old_rings,
    ring_folder,
)
from ..nanny.worker_watcher import Watcher
from ..own_modules import worker_code
from ..printed_lines import WorkerPrintedLines
from ..process import (
    ProcessState,
    ancestry,
    environment,
    named_units,
    settings_and_image,
)
from ..rpc_handlers import Handler
from ..source_files import leave_source_files, name_source_files
from .actor_methods import ActorMethods
from .fault_stacks import stop_writing_stacks_to, write_stacks_to
from .opened_files import OpenedFiles
from .process_load import ProcessLoad, ProcessMemory, TaskThreads
from .ring import Ring
from .side_effects import SideEffects, missing_file_row
from .task_bundles import BundleCollector
from .wrapped_results import WrappedResults

if TYPE_CHECKING:
    from dask.typing import Key
    from distributed import Worker

_PAUSE, _IDLE_PAUSE = 0.1, 1.0  # seconds between two looks of the sampling thread
_SHIP = 0.15  # seconds between two shipments, at least: every second look may ship
_SHORT = 0.05  # seconds: of tasks that are younger, threads are not looked up
_STEADY = 2**20  # bytes by which memory changes while nothing happens
_BATCH = 5_000
_KEPT = 1_000  # messages, at most: as many as Dask keeps
_SENT = 2.0  # seconds after which a message has left a worker that goes on
_WAITING = 20_000
_MOST_MISSING = 50  # files that tasks did not find
_MOST_LOOKS = 5  # at the modules of this process: a task may load more
_CLOSING_STATES = ("closing", "closed", "failed", "stopping", "stopped")


class WorkerCapture(WorkerPlugin):
    """Listens inside a worker; ships to the topic of one recording.

    Args:
        name: Of the plugin; also the topic.
        lines: Whether log lines are kept at all, printed ones included.
        bundles: How to keep failed tasks with their inputs; None: not at all.
        directory: The driver's working directory, which relative paths may mean.
    """

    def __init__(
        self,
        *,
        name: str,
        recording: str,
        ring_bytes: int,
        stdout: bool,
        lines: bool = True,
        bundles: dict[str, Any] | None = None,
        directory: str = "",
    ) -> None:
        self.name, self._drivers_directory = name, directory
        self._bundles_wanted = bundles
        self._recording, self._ring_bytes = recording, ring_bytes
        self._stdout, self._lines = stdout and lines, lines

    def setup(self, worker: Worker) -> None:
        self._worker = worker
        name_source_files(f"{self.name} {worker.id}")
        self._lock = threading.Lock()
        self._waiting: deque[list[object]] = deque()  # rows, their kind first
        self._dropped = 0
        self._executing: dict[str, float] = {}
        self._threads = TaskThreads(worker)
        self._actor_methods = ActorMethods(worker)
        self._results = WrappedResults(worker, self._take_size)
        # What tasks do in the driver's own process is noted there as the driver's.
        self._acts = (
            None if _is_the_drivers_process() else SideEffects(worker, self._keep_now)
        )
        self._opened = OpenedFiles(worker)
        self._going = False
        self._load: ProcessLoad | None = None
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self._idle = False  # whether the sampling thread sleeps for long
        self._wake = threading.Event()
        self._ships, self._ship_asked, self._shipped_at = True, False, 0.0
        self._sent: deque[tuple[int, dict[str, object]]] = deque(maxlen=_KEPT)
        self._missing = self._looks_at_code = 0
        self._state = ProcessState()
        self._ring = self._new_ring(worker)
        if self._ring is not None and self._ring.failed is not None:
            self._report_failure("the file of the last log lines", self._ring.failed)
        self._faults = self._watch_faults()
        self._watcher: Watcher | None = None
        secrets = self._secrets = OwnSecrets()
        self._attach_taps(worker, secrets)
        self._start_sampling()
        worker.handlers[f"{self.name}-tell"] = Handler(self.task_states)
        worker.handlers[f"{self.name}-packages"] = Handler(self.packages)
        worker.handlers[f"{self.name}-code"] = Handler(self.code)
        self._bundles: BundleCollector | None = None
        if self._bundles_wanted is not None:
            self._bundles = BundleCollector(
                worker, op=f"{self.name}-bundle", **self._bundles_wanted
            )
        self._watcher = self._start_watcher(worker)
        if self._acts is not None:
            self._acts.start()
        self._opened.start()
        self._send({"here": str(worker.address), "process": _process_of(worker)})
        follow_masked_values(self._mask)
        if known := masked_values():
            self._mask(known)

    def _attach_taps(self, worker: Worker, secrets: OwnSecrets) -> None:
        self._printed: WorkerPrintedLines | None = None
        self._tap = LogTap(
            self._recording,
            "worker",
            lambda role: str(worker.address),
            self._take_line,
            key_of_thread=self._key_of_thread,
            delay=lambda: worker.scheduler_delay or 0.0,
            mask=secrets.mask,
        )
        self._tap.attach()
        if self._stdout and self._ring is not None:
            self._printed = WorkerPrintedLines(
                worker,
                self._tap,
                secrets,
                self._ring,
                self._lock,
                self._waiting,
                _WAITING,
                self._wake_up,
            )
            self._tap.attach_streams(self._printed.taking)

    def _start_sampling(self) -> None:
        # The first sample is taken here: the first task may end the process before a new
        # thread has run at all.
        load = self._load = ProcessLoad()
        memory = ProcessMemory()
        self._take_memory_sample(load, memory)
        threading.Thread(
            target=self._sample_periodically,
            args=(load, memory),
            name="dask-blackbox-memory",
            daemon=True,
        ).start()

    def _start_watcher(self, worker: Worker) -> Watcher | None:
        package = sys.modules.get((__package__ or "").partition(".")[0])
        shares_a_process = str(worker.address).startswith("inproc://")
        if worker.nanny is not None or self._ring is None or shares_a_process:
            return None
        if not hasattr(package, "shipment"):  # not shipped: a test imports us
            return None
        try:
            return Watcher(package, worker, self._ring.path, self.name)
        except OSError:
            return None

    async def task_states(self, keys: list[Key]) -> dict[str, object]:
        """Return the states of some tasks and of what they wait for (an RPC handler)."""
        reported: dict[str, object] = {}
        for key in keys:
            ts = self._worker.state.tasks.get(key)
            if ts is None:
                reported[str(key)] = {"state": "unknown here"}
                continue
            waits = [(str(d.key), d.state) for d in list(ts.waiting_for_data)[:5]]
            reported[str(key)] = {"state": ts.state, "waits_for": waits}
        return reported

    async def packages(self) -> dict[str, object]:
        """Return the installed packages, with settings and image (an RPC handler)."""
        found = await asyncio.get_running_loop().run_in_executor(None, environment)
        return {**found, **settings_and_image()}

    async def code(self, modules: list[str]) -> dict[str, dict[str, str] | list[str]]:
        """Return what this process has loaded of some modules (an RPC handler)."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, worker_code, " ".join(modules))

    def teardown(self, worker: Worker) -> None:
        leave_source_files(f"{self.name} {worker.id}")
        worker.handlers.pop(f"{self.name}-tell", None)
        worker.handlers.pop(f"{self.name}-packages", None)
        worker.handlers.pop(f"{self.name}-code", None)
        self._ships = False
        if self._acts is not None:
            self._acts.stop()
            self._keep_acts()
        self._opened.stop()
        self._report_opened(now=True)
        if self._load is not None:
            self._report_load(self._load)
        somebody_looks = worker.nanny is not None or self._watcher is not None
        if somebody_looks and worker.status.name in _CLOSING_STATES:
            # Its threads may talk on for seconds: that goes to the ring, until the end.
            self._send_own_exit_report(worker)
            self._flush_printed()
            self._ship_all()
            self._send({"left": True})  # no more of it comes by this connection
            if self._watcher is not None:
                self._going = True
                self._wake_up()
            return
        self._tap.detach()
        unfollow_masked_values(self._mask)
        self._flush_printed()
        self._ship_all()
        self._send({"left": True})  # that was the last of it
        self._stop()
        if self._bundles is not None:
            self._bundles.leave()
        self._loop.call_later(_SENT, self._empty_sent_messages)
        if self._watcher is not None:
            self._watcher.dismiss()
        with self._lock:
            ring, self._ring = self._ring, None
        if ring is not None:
            ring.close()
            forget_ring(ring.path)
            leave_rings(self._recording)

    def _flush_printed(self) -> None:
        if self._printed is not None:
            self._printed.flush(end=True)

    def _stop(self) -> None:
        self._stopped = True
        self._wake.set()
        self._results.stop()
        self._ignore_faults()

    def _send_own_exit_report(self, worker: Worker) -> None:
        """Report what it was running when it was asked to exit; others report how it ended."""
        if not self._executing:
            return
        facts = {
            "pid": os.getpid(),
            "worker": str(worker.address),
            "by": "itself",
            "observed_at": time.time(),
            "exit_code": None,
            "executing": self._threads.tasks(self._executing),
            "memory": [] if self._ring is None else self._ring.memory(),
        }
        try:
            worker.log_event(self.name, {"exit_report": facts})
        except Exception:  # the connection is gone; the ring still has it
            pass

    def _hand_over(self) -> None:
        """Take the last rows of this worker's threads, whose process continues."""
        self._tap.detach()
        self._flush_printed()
        self._stop()
        with self._lock:
            ring, self._ring = self._ring, None
        if ring is not None:
            ring.close()
        if self._watcher is not None:
            self._watcher.tell("gone")

    def transition(self, key: Key, start: str, finish: str, **kwargs: object) -> None:
        if finish == "executing":
            name, now = str(key), time.time()
            self._executing[name] = now
            if self._idle:
                self._wake_up()
            if len(self._executing) == 1:
                with self._lock:
                    if self._ring is not None:
                        self._ring.running_one(name, now)
                return
        elif start in ("executing", "long-running", "cancelled"):
            self._executing.pop(str(key), None)
            if finish == "error":
                self._report(key, released=start == "cancelled")
            elif finish == "memory":
                self._results.finished(key)
        else:
            return
        with self._lock:
            if self._ring is None:
                return
            if self._executing:
                self._ring.running(self._threads.tasks(self._executing))
            else:
                self._ring.running_none()

    def _sample_threads(self) -> None:
        """Add to the ring in which threads the tasks run, and how much CPU they have used.

        Not while all tasks are short: that would be most of what this thread costs then.
        """
        executing, now = self._executing.copy(), time.time()
        if now - min(executing.values(), default=now) < _SHORT:
            return
        self._threads.sample(executing)
        with self._lock:
            if self._ring is not None and executing == self._executing:
                self._ring.running(self._threads.tasks(executing))

    # What goes out

    def _take_line(self, row: list[Any]) -> None:
        if self._lines:
            with self._lock:
                self._keep("log", row)
        if self._watcher is not None and (signalled := closing_signal(row)):
            # A worker without a nanny leaves its loop at once: no other process could say it.
            self._watcher.tell(signalled)

    def _take_size(self, row: list[object]) -> None:
        with self._lock:
            self._keep("event", row)

    def _keep(self, kind: str, row: list[object]) -> None:
        whole = [kind, *row]
        if self._ring is not None:
            self._ring.line(whole)
        if len(self._waiting) >= _WAITING:
            self._dropped += 1
            return
        self._waiting.append(whole)
        self._wake_up()

    def _keep_now(self, row: list[object]) -> None:
        """Keep an event in the ring at once, if no other thread is writing for long."""
        if self._lock.acquire(timeout=_PAUSE):
            try:
                self._keep("event", row)
            finally:
                self._lock.release()
        elif self._acts is not None:
            # A finalizer interrupted a thread of this very process that holds the lock.
            self._acts.keep_later(row)

    def _ship_all(self) -> None:
        """Ship what waits now: four batches at most, and no turn of the loop comes for them."""
        self._ship()
        for _ in range(_WAITING // _BATCH):
            if self._waiting:
                self._ship()

    def _ask_to_ship(self) -> None:
        """Let the event loop send waiting rows periodically (called in the thread)."""
        now = time.monotonic()
        rows_waiting = self._waiting or self._dropped
        if not rows_waiting and self._printed is not None:
            rows_waiting = self._printed.dropped
        if not rows_waiting or self._ship_asked or now - self._shipped_at < _SHIP:
            return
        self._ship_asked, self._shipped_at = True, now
        try:
            self._loop.call_soon_threadsafe(self._ship)
        except RuntimeError:  # the loop is closed; the ring still has it
            pass

    def _ship(self) -> None:
        self._ship_asked = False
        with self._lock:
            count = min(len(self._waiting), _BATCH)
            batch = [self._waiting.popleft() for _ in range(count)]
            dropped, self._dropped = self._dropped, 0
            if self._printed is not None:
                dropped += self._printed.dropped
                self._printed.dropped = 0
        self._empty_sent_messages()
        if batch or dropped:
            rows: dict[str, list[object]] = {}
            for kind, *row in batch:
                rows.setdefault(str(kind), []).append(row)
            self._send_rows({"rows": rows, "dropped": dropped})

    def _send_rows(self, message: dict[str, object]) -> None:
        """Send a message, and note in which of Dask's batches it will be."""
        # Within one process, the scheduler receives these very objects.
        stream = getattr(self._worker, "batched_stream", None)
        begun = getattr(stream, "batch_count", None)
        if begun is not None and not str(self._worker.address).startswith("inproc:"):
            self._sent.append((begun + 1, message))
        self._send(message)

    def _empty_sent_messages(self) -> None:
        """Empty messages that have been sent: Dask keeps the newest thousand, with all rows."""
        stream: Any = getattr(self._worker, "batched_stream", None)
        while self._sent and stream is not None:
            number, message = self._sent[0]
            # It counts a batch when it begins to write it, one after the other.
            if stream.batch_count <= number and not _is_last(stream, message):
                break
            self._sent.popleft()
            message.clear()

    def _send(self, message: dict[str, object]) -> None:
        try:
            self._worker.log_event(self.name, message)
        except Exception:  # the connection is gone; the ring still has it
            pass

    def _mask(self, values: tuple[str, ...]) -> None:
        """Let the driver and the recorder also mask values that a task has loaded.

        By a topic to which the driver's client listens: on its connection, this arrives
        before an exception that holds such a value.
        """
        self._secrets.until = 0.0  # lines that are printed from now on do not hold it
        try:
            self._worker.log_event(f"{self.name}{MASKED}", list(values))
        except Exception:  # the connection is gone
            pass

    def _report(self, key: Key, *, released: bool) -> None:
        """Report the exception of one attempt; the scheduler never sees those it retries."""
        found = report_of(self._worker, key, released=released)
        if found is None:
            return
        row, error = found
        if self._printed is not None:
            self._printed.flush()
        self._report_acts(error, row)
        opened = self._opened.opened_by(str(key))
        with self._lock:
            if opened is not None:
                self._keep("event", opened)
            self._keep("attempt", row)
            ts, raised = self._worker.state.tasks[key], (row[NAME], row[MESSAGE])
            coming = None
            if self._bundles is not None and not released:
                coming = self._bundles.failed(key, ts, raised)
            if coming is not None:
                self._keep("event", [row[0], "bundle-announced", str(key), coming])
        self._ship()  # at once: the next attempt may kill this worker

    def _report_acts(self, error: BaseException | None, row: list[Any]) -> None:
        """Report what tasks did to the files that an exception names; never blocks."""
        if self._acts is None:
            return
        try:
            path = self._acts.failed(error, row[MESSAGE])
        except Exception as failure:  # the attempt is reported all the same
            self._report_failure("files that an exception names", failure)
            return
        self._keep_acts()
        if self._looks_at_code < _MOST_LOOKS:
            self._looks_at_code += 1
            self._loop.run_in_executor(
                None,
                self._report_process,
                row[KEY],
                row[TRACEBACK],
                row[MESSAGE],
            )
        if path is not None and self._missing < _MOST_MISSING:
            self._missing += 1
            self._loop.run_in_executor(None, self._look_for, row[KEY], path)

    def _report_process(self, key: str, traceback: str, message: str) -> None:
        """Report what a task that failed had around it (in a thread: reads files).

        The user's own modules that its traceback names, and what has changed in the process.
        """
        try:
            code, changes = worker_code(traceback, message), self._state.changes()
            of_worker = {"worker": str(self._worker.address), **code}
        except Exception as failure:
            self._report_failure("modules and state of a worker's process", failure)
            return
        found = {
            "worker-code": of_worker if code["modules"] else None,
            "process-changed": {"changes": changes} if changes else None,
        }
        for kind, details in found.items():
            if details is not None:
                row = [time.time(), kind, key, json.dumps(details)]
                with self._lock:
                    self._keep("event", row)
        # At once: other workers are asked for these modules while they are there.
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._ship)

    def _look_for(self, key: str, path: str) -> None:
        """Report where a file should have been (in a thread: the file system may block)."""
        try:
            row = missing_file_row(key, path, self._drivers_directory)
        except (OSError, ValueError):
            return
        with self._lock:
            self._keep("event", row)

    def _keep_acts(self) -> None:
        rows = [] if self._acts is None else self._acts.taken()
        rows += self._actor_methods.rows()
        if rows:
            with self._lock:
                for row in rows:
                    self._keep("event", row)

    def _report_opened(self, *, now: bool = False) -> None:
        for row in self._opened.reports(now=now):
            with self._lock:
                self._keep("event", row)

    # Last words

    def _new_ring(self, worker: Worker) -> Ring | None:
        folder = ring_folder(self._recording)
        identity = {
            "pid": os.getpid(),
            "started": process_started(os.getpid()),
            "worker": str(worker.address),
            "name": str(worker.name),
            "nanny": None if worker.nanny is None else str(worker.nanny),
        }
        # Two workers can share one process; each has a ring of its own.
        path = os.path.join(folder, f"{os.getpid()}-{id(worker):x}.ring")
        remove_old_rings(folder)
        for _ in range(2):  # another one may just have left, and taken the folder along
            try:
                make_ring_folder(folder)
                return Ring(path, identity, self._ring_bytes)
            except OSError:
                pass
        return None

    def _watch_faults(self) -> str | None:
        """Have Python's stacks written at a fault or a signal of the nanny's; return the file."""
        if self._ring is None or self._worker.address.startswith("inproc://"):
            return None
        path = f"{self._ring.path}.stack"
        try:
            write_stacks_to(path, at_signals=not _is_the_drivers_process())
        except (OSError, RuntimeError, ValueError):
            return None
        return path

    def _ignore_faults(self) -> None:
        if self._faults is not None:
            stop_writing_stacks_to(self._faults)
            self._faults = None

    def _take_memory_sample(self, load: ProcessLoad, memory: ProcessMemory) -> int:
        """Append the memory in use to the ring, and return it; 0 where it is unknown."""
        rss = memory.now()
        if rss:
            load.memory(rss)
            with self._lock:
                if self._ring is not None:
                    self._ring.sample(time.time(), rss)
        return rss

    def _sample_periodically(self, load: ProcessLoad, memory: ProcessMemory) -> None:
        rss, failed = 0, False
        try:
            while not self._stopped:
                try:
                    rss = self._look(load, memory, rss)
                except Exception as error:  # what waits must be shipped all the same
                    if not failed:
                        failed = True
                        self._report_failure("samples of a worker", error)
        finally:
            memory.close()

    def _look(self, load: ProcessLoad, memory: ProcessMemory, before: int) -> int:
        """Sleep, and sample; return the memory, of which the last was `before`."""
        self._sleep(load)
        if self._stopped:
            return before
        if self._executing:
            self._sample_threads()
        self._keep_acts()
        self._report_opened()
        if self._printed is not None:
            self._printed.flush()
        if self._going and not self._worker.active_threads:
            self._hand_over()
        if load.due():
            self._report_load(load)
        rss = self._take_memory_sample(load, memory)
        if self._ships:
            self._ask_to_ship()
        # Before looking whether there is something: who begins something looks after that.
        self._idle = abs(rss - before) < _STEADY
        if self._has_work():
            self._idle = False
        return rss

    def _has_work(self) -> bool:
        busy = self._executing or self._worker.active_threads
        if self._printed is not None and self._printed.floods:
            return True
        return bool(busy or self._waiting or self._dropped or self._going)

    def _sleep(self, load: ProcessLoad) -> None:
        """Sleep until the next sample is due, or until woken before."""
        pause, asleep = _IDLE_PAUSE if self._idle else _PAUSE, time.perf_counter()
        if self._wake.wait(pause):
            self._wake.clear()
        else:
            load.woke(time.perf_counter() - asleep, pause)

    def _wake_up(self) -> None:
        """Wake the sampling thread if it sleeps for long."""
        if self._idle:
            self._idle = False
            self._wake.set()

    def _report_failure(self, doing: str, error: Exception) -> None:
        failed = json.dumps({"doing": doing, "error": repr(error)})
        row = [time.time(), "capture-failed", str(self._worker.address), failed]
        with self._lock:
            self._keep("event", row)

    def _report_load(self, load: ProcessLoad) -> None:
        try:
            fields = json.dumps({**load.fields(), **_disk_of(self._worker)})
        except Exception:
            return
        row = ["event", time.time(), "process-load", str(self._worker.address), fields]
        with self._lock:
            self._waiting.append(row)

    def _key_of_thread(self, thread: int) -> str | None:
        key = self._worker.active_threads.get(thread)
        return None if key is None else str(key)


def _disk_of(worker: Worker) -> dict[str, object]:
    """Return how much room a worker's disk has; only of one that has spilled, and so writes there."""
    spilled = getattr(worker.data, "spilled_total", None)
    if not getattr(spilled, "disk", 0):
        return {}
    disk = os.statvfs(worker.local_directory)
    return {"disk_free": disk.f_bavail * disk.f_frsize}


def _is_last(stream: Any, message: object) -> bool:
    """Return whether the batch with a message is the last one that was sent."""
    kept = stream.recent_message_log
    return any(
        isinstance(each, dict) and each.get("msg") is message
        for each in (kept[-1] if kept else ())
    )


def _is_the_drivers_process() -> bool:
    """Return whether a client or a scheduler shares the process of a worker.

    Its SIGTERM is the driver's then, which must not end of what we do at it: writing the
    stacks of threads that go on meanwhile may crash Python.
    """
    client = sys.modules.get("distributed.client")
    scheduler = sys.modules.get("distributed.scheduler")
    return bool(getattr(client, "_global_clients", None)) or bool(
        getattr(getattr(scheduler, "Scheduler", None), "_instances", None)
    )


def _process_of(worker: Worker) -> dict[str, object]:
    lifetime = getattr(worker, "lifetime", None)
    monitor = getattr(worker, "monitor", None)
    device = getattr(monitor, "gpu_name", None)  # by `distributed.diagnostics.nvml`
    return {
        **ancestry(),
        "machine": platform.node(),
        "gpu": str(device or ""),
        "gpu_memory": getattr(monitor, "gpu_memory_total", None) if device else None,
        "lifetime": lifetime,
        "units": named_units(os.environ),
        "limits": memory_limits(),
        "begun": _begun(worker),
    }


def _begun(worker: Worker) -> int | None:
    """Return how many tasks a worker has begun; None if its Dask does not say it."""
    ended = getattr(worker.state, "executed_count", None)
    return None if ended is None else ended + len(worker.state.executing)
