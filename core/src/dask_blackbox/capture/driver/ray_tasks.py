"""Tasks of Dask on Ray, as Ray itself has noted them.

`ray.util.dask` has each task of a graph run as a task of Ray, by the name `dask:KEY`, and Ray notes
of each when it ran, in which process, and how it ended.  That is read here, now and then, and a
last time before Ray is shut down; nothing of ours runs on Ray's workers.  Ray's notes cannot be
read in part, so those of a cluster that others use as well are left alone.
"""

from __future__ import annotations

import atexit
import functools
import json
import sys
import threading
import time
from typing import Any, Callable, Iterator

from dask.utils import key_split

from ..executions import short_key
from .patches import Patches

_MOST = 20_000
"""Tasks of one process that are read: all of their notes are, each time."""
_PAUSE, _LONGEST_PAUSE, _SHARE = 2.0, 60.0, 20
"""Seconds between two readings, and how much longer that is than a reading takes."""
_LAST, _POLLING = 1.5, 0.1
"""Seconds that the end waits for what Ray's workers report once a second."""
_PREFIX = "dask:"
_INPUT = "At least one of the input arguments for this task could not be computed"
_LOST = ("WORKER_DIED", "NODE_DIED", "OUT_OF_MEMORY", "LOCAL_RAYLET_DIED")
"""Errors of Ray's of which no task is the reason."""

Send = Callable[[str, "list[object]"], None]


class RayTasks:
    """Reports the executions of Dask's tasks on Ray, and the processes that they were in.

    Args:
        send: Takes a kind of row and the row; must not block.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._patches = Patches()
        self._added: Any = None
        self._lock = threading.Lock()
        self._keys: dict[str, object] = {}  # by Ray's names
        self._open = 0  # tasks that have not ended, as far as is known
        self._seen: set[tuple[bytes, int]] = set()  # Ray's ids, with the attempt
        self._workers: set[str] = set()
        self._left_out = 0
        self._stopped, self._done = threading.Event(), threading.Event()
        self._hurry = threading.Event()  # Ray is about to end
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Listen to what this process has Ray do for Dask, which it has imported."""
        ray = sys.modules["ray"]
        callbacks = sys.modules["ray.util.dask.callbacks"]
        # Not a `RayDaskCallback`: Ray would send its methods to the workers of each task.
        ours = {"ray_presubmit": self._submitted}
        callback = callbacks.RayCallback(*map(ours.get, callbacks.CBS))
        self._added = callbacks.add_ray_callbacks(callback)
        self._patches.replace(ray, "shutdown", ray.shutdown, self._before(ray.shutdown))
        atexit.register(self.finish)  # before Ray's own, which is older

    def stop(self) -> None:
        """Read a last time, and stop listening."""
        self.finish()
        self._stopped.set()
        self._hurry.set()
        atexit.unregister(self.finish)
        self._patches.restore()
        self._added.__exit__()  # while it is in use, it stays, and notes nothing

    def finish(self) -> None:
        """Have what Ray noted of the tasks that have ended read, and wait for that a moment."""
        if self._reader is None or not self._open:
            return
        self._done.clear()
        self._hurry.set()
        self._done.wait(_LAST)
        self._hurry.clear()

    def _before(self, inner: Any) -> object:
        @functools.wraps(inner)
        def shutdown(*args: object, **kwargs: object) -> object:
            self.finish()
            return inner(*args, **kwargs)

        return shutdown

    def _submitted(self, task: object, key: object, deps: object) -> None:
        """Note a task that is about to be given to Ray (called in threads of Ray's)."""
        try:
            # An alias is another name of a result.
            if not self._stopped.is_set() and type(task).__name__ != "Alias":
                self._note(key)
        except Exception as error:  # a failure of ours must not be one of the task
            self._failed(error)

    def _note(self, key: object) -> None:
        with self._lock:
            if self._open + len(self._seen) >= _MOST:
                self._left_out += 1
                return
            self._keys[f"{_PREFIX}{key!s}"] = key
            self._open += 1
            if self._reader is None:
                self._reader = threading.Thread(
                    target=self._run, name="dask-blackbox-ray", daemon=True
                )
                self._reader.start()

    def _run(self) -> None:
        pause = _PAUSE
        while not self._stopped.is_set():
            hurries = self._hurry.wait(pause)
            began = time.monotonic()
            try:
                if not self._read_once():
                    self._done.set()
            except Exception as error:
                if _is_own_cluster():  # else it has ended meanwhile
                    self._failed(error)
                    return
            took = time.monotonic() - began
            pause = min(max(_PAUSE, took * _SHARE), _LONGEST_PAUSE)
            if hurries:
                self._stopped.wait(_POLLING)

    def _failed(self, error: Exception) -> None:
        with self._lock:
            self._open = 0
        self._done.set()
        facts = {"doing": "tasks on Ray", "error": repr(error)[:400]}
        self._event("capture-failed", "", time.time(), facts)

    def _event(self, kind: str, subject: str, at: float, facts: object) -> None:
        self._send("event", [at, kind, subject, json.dumps(facts)])

    def _read_once(self) -> bool:
        """Report the tasks that have ended since the last time; returns whether others may yet."""
        if not self._open or not _is_own_cluster():
            return False
        # Without the lock: nothing that is being submitted may wait for this.
        notes = [each for each in _notes() if each.task_info.name in self._keys]
        attempts = {(each.task_id, each.attempt_number) for each in notes}
        hosts = _hosts() if notes else {}
        for note in notes:
            self._report(note, attempts, hosts)
        with self._lock:
            left_out, self._left_out = self._left_out, 0
        if left_out:
            error = f"{left_out} more tasks than the {_MOST} that are read"
            facts = {"doing": "tasks on Ray", "error": error}
            self._event("capture-failed", "", time.time(), facts)
        return self._open > 0

    def _report(
        self, note: Any, attempts: set[tuple[bytes, int]], hosts: dict[bytes, str]
    ) -> None:
        this = (note.task_id, note.attempt_number)
        moments = _moments(note.state_updates)
        ended = moments.get("FINISHED") or moments.get("FAILED")
        if ended is None or this in self._seen:
            return
        self._seen.add(this)
        retried = (note.task_id, note.attempt_number + 1) in attempts
        with self._lock:
            self._open -= not retried
        key = self._keys[note.task_info.name]
        # Who is killed cannot report when it began.
        began = moments.get("RUNNING") or moments.get("SUBMITTED_TO_WORKER")
        error = note.state_updates.error_info.error_message
        if began is None or _INPUT in error:  # it never ran: what it needs has failed
            return
        worker = self._worker(note.state_updates, hosts, began)
        group = str(key[0]) if isinstance(key, tuple) and key else str(key)
        outcome = "retried" if retried else _outcome(note, moments)
        self._send(
            "task",
            [
                short_key(str(key)), short_key(str(key_split(key))), short_key(group), worker,
                None, began, ended, max(ended - began, 0.0), None, None, None, None, None,
                outcome, None,
            ],
        )  # fmt: skip

    def _worker(self, update: Any, hosts: dict[bytes, str], at: float) -> str | None:
        """Return the address of one of Ray's workers as Dask would write it; report a new one."""
        if not update.worker_pid:
            return None
        host = hosts.get(update.node_id, "unknown")
        address = f"ray://{host}:{update.worker_pid}"
        if address not in self._workers:
            self._workers.add(address)
            facts = {
                "name": f"ray-{update.worker_pid}",
                "host": host,
                "pid": update.worker_pid,
                "nthreads": 1,
            }
            self._event("worker-added", address, at, facts)
        return address


def _outcome(note: Any, moments: dict[str, float]) -> str:
    if "FAILED" not in moments:
        return "finished"
    error = note.state_updates.error_info
    kinds = sys.modules["ray.core.generated.common_pb2"].ErrorType
    return "killed" if kinds.Name(error.error_type) in _LOST else "erred"


def _moments(update: Any) -> dict[str, float]:
    """Return when a task came into each state, epoch seconds."""
    states = sys.modules["ray.core.generated.common_pb2"].TaskStatus
    return {
        states.Name(state): nanoseconds / 1e9
        for state, nanoseconds in update.state_ts_ns.items()
    }


def _is_own_cluster() -> bool:
    """Return whether this process has started the Ray that it uses."""
    worker = sys.modules.get("ray._private.worker")
    node = getattr(worker, "_global_node", None)
    return node is not None and bool(node.is_head())


def _notes() -> Iterator[Any]:
    """Yield what Ray has noted of each attempt of each task."""
    state = sys.modules["ray._private.state"].state
    events = sys.modules["ray.core.generated.gcs_pb2"].TaskEvents
    for each in state._connect_and_get_accessor().get_task_events():
        yield events.FromString(each)


def _hosts() -> dict[bytes, str]:
    """Return the address of each of Ray's nodes, by its id."""
    nodes = sys.modules["ray"].nodes()
    return {bytes.fromhex(x["NodeID"]): str(x["NodeManagerAddress"]) for x in nodes}
