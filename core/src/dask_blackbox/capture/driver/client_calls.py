"""What calls to Dask raised in the driver, and what the driver did to its cluster: with times.

A process ends later than its work.  So the moment is noted at which an exception leaves a call
to Dask, and at which the script signals a process or closes a client or a cluster; with each
stands the identity of the exception that was being handled then.  Programs that the script
starts are noted where they exit with an error, files that it removes where an error names them.
Nothing is done for a task or for a call that succeeds but one more function call; no frame of
ours stays in a traceback.
"""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, TypeGuard

from .. import os_calls, programs
from ..exceptions import bases_of, message_of, qualified, remove_own_frame
from ..files import EVENTS as REMOVALS
from ..files import (
    RemovedFiles,
    missing_file_facts,
    missing_file_of,
    note_directory_change,
    remember_directory,
)
from ..logs import cut, cut_within, plain
from ..own_modules import missing_there
from ..user_frames import innermost_user_frame, is_foreign, is_ours, place_of
from .graph_data import GraphData
from .handled_errors import forget, received_below, remember
from .merged_calls import MergedCalls
from .ordered_ends import OrderedEnds, scheduler_that_ends
from .patches import Patches
from .ray_tasks import RayTasks
from .reused_keys import ReusedKeys
from .yarn_containers import YarnContainers

_MOST, _KEPT = 100, 20
_MOST_OF = {
    "workers-ended-by-cluster": 5_000,
    "units-named": 5_000,
    "unit-state": 1_000,
}
"""Each of these is a fact about other workers."""
_LONGEST, _LONGEST_TRACE = 2_000, 10_000
_ADDRESS = re.compile(r"(?:tcp|tls|ws|wss|ucx)://[^\s@]+$")
_MOST_FUTURES = 100_000
_MOST_CHAINED = 20
_DASKS = f"{os.sep}distributed{os.sep}"
_PROCESSES = f"{os.sep}multiprocessing{os.sep}"
_CLOSED_AS = {
    "_close": "close",
    "_shutdown": "shutdown",
    "__aexit__": "close",
    "_stop_internal": "close",  # of a `GatewayCluster`
    "_stop_cluster": "stop_cluster",  # of a `Gateway`
}
"""What people call the functions that end a client or a cluster."""
_RESTARTING = "_restart"
_CANCELLING, _SENDING = "_cancel", "_graph_to_futures"
_LONGEST_REASON = 200
_WITHOUT_RESULT = ("error", "cancelled", "lost")
REASONS_OF_DASK = (
    "scheduler-connection-lost",
    "lost dependencies",
    "already forgotten",
)
"""Why Dask cancels a future itself, as its exception says."""
_MOST_SKIPPED = 10
_MOST_SEEN = 10_000
_MODULES = ("distributed.utils", "distributed.client", "distributed.actor")

Sink = Callable[[str, list[object]], None]

_lock = threading.Lock()
_listeners: list[DriverCalls] = []
_patches = Patches()
_gateway_patches = Patches()  # its library may be imported later
_yarn_patches = Patches()  # so may be dask-yarn
_on_ray: list[RayTasks] = []  # so may be Ray's: one, or none
_sees_forks = False
# The newest by identity, whether reported or not: the last one decides.
_raised: deque[tuple[str, str | None]] = deque(maxlen=_KEPT)
_removed = RemovedFiles()
_seen = set[str]()  # keys of failed futures of which the status was read


class DriverCalls:
    """Reports failed calls and what the driver ends, from `start` to `stop`.

    Args:
        sink: Takes a kind and a row; must not block.
        exits: Takes the `SystemExit` for which the main thread closes a client or a cluster,
            before that is closed; must not raise.
        ends: Called before a signal of the driver's own ends its process at once; must not raise.
    """

    def __init__(
        self,
        sink: Sink,
        exits: Callable[[SystemExit], None] | None = None,
        ends: Callable[[], None] | None = None,
    ) -> None:
        self._sink, self._exits, self._ends = sink, exits, ends
        self._exiting: str | None = None  # what has been handed to `exits`
        self._reported = Counter[str]()
        self._held: deque[list[object]] = deque(maxlen=_KEPT)
        self._pid = os.getpid()
        self.data = GraphData(self._note_data)

    def start(self) -> None:
        """Start to watch calls; call it again once there is a client, if there was none before."""
        with _lock:
            if not _listeners:  # no other recording of this process needs them
                forget()
                _seen.clear()
            if self not in _listeners:
                _listeners.append(self)
            _install()
        remember_directory()
        programs.report_to(_note_program)
        os_calls.listen(_heard)

    def stop(self) -> None:
        """Stop watching calls, and report what was held back."""
        programs.report_unreaped()
        if _listeners == [self]:
            while _on_ray:
                _on_ray.pop().stop()
        with _lock:
            if self in _listeners:
                _listeners.remove(self)
            if not _listeners:
                _patches.restore()
                _gateway_patches.restore()
                _yarn_patches.restore()
                _yarn.forget()
                programs.report_to(None)
                os_calls.listen(None)
        self.flush_held()

    def flush_held(self) -> None:
        """Report the newest failures, which were held back because there were many."""
        programs.report_unreaped()
        while self._held:
            self._sink("event", self._held.popleft())

    def _note_data(self, found: dict[str, object]) -> None:
        text = json.dumps({**found, "pid": os.getpid()})
        self.take_row([time.time(), "data-named", "driver", text])

    def exiting(self, error: SystemExit) -> None:
        """Report that the process is about to exit, once: it closes clients and clusters."""
        identity = identity_of(error)
        if self._exits is None or os.getpid() != self._pid or identity == self._exiting:
            return
        self._exiting = identity
        self._exits(error)

    def ending(self) -> None:
        """Report that the process is about to be ended by a signal of its own."""
        if self._ends is not None and os.getpid() == self._pid:
            self._ends()

    def send(self, kind: str, row: list[object]) -> None:
        """Take a row of another kind, of which there are few enough."""
        if os.getpid() == self._pid:
            self._sink(kind, row)

    def take_row(self, row: list[object]) -> None:
        """Take an event; of very many of a kind, only the newest are reported, at the end."""
        if os.getpid() != self._pid:
            return  # a forked child: what it does is not the driver's
        kind = str(row[1])
        if self._reported[kind] < _MOST_OF.get(kind, _MOST):
            self._reported[kind] += 1
            self._sink("event", row)
        else:
            self._held.append(row)


def identity_of(error: BaseException | None) -> str | None:
    """Return what distinguishes an exception object from others of this process."""
    return None if error is None else f"{id(error):x}"


def key_of(error: BaseException) -> str | None:
    """Return the key of the task whose exception a call to Dask raised, if it is known."""
    identity = identity_of(error)
    return next((key for each, key in reversed(_raised) if each == identity), None)


def note_causes(error: BaseException) -> None:
    """Report what the driver's own code did to the files that an exception names."""
    texts = list[str]()
    current: BaseException | None = error
    for _ in range(_MOST_CHAINED):
        if current is None:
            break
        texts.append(message_of(current))
        current = current.__cause__ or current.__context__
    for each in _removed.named_in("\n".join(texts)):
        at, _, detail = each.row()
        _note("file-removed", detail, at)
    path = None if _is_of_dask(error) else missing_file_of(error)
    if path is not None:  # what a task did not find, its worker reports
        try:
            _note("missing-file", missing_file_facts(path))
        except (OSError, ValueError):
            pass


def comes_from_dask(error: BaseException) -> bool:
    """Return whether a call to Dask raised, or returned, an exception or one in its chain."""
    current: BaseException | None = error
    for _ in range(_MOST_CHAINED):
        if current is None:
            break
        if _is_of_dask(current) or _passed_through_dask(current.__traceback__):
            return True
        current = current.__cause__ or current.__context__
    return False


def _passed_through_dask(trace: TracebackType | None) -> bool:
    while trace is not None:
        if _DASKS in trace.tb_frame.f_code.co_filename:
            return True
        trace = trace.tb_next
    return False


def _is_of_dask(error: BaseException) -> bool:
    """Return whether a call to Dask had raised this exception."""
    identity = identity_of(error)
    return any(each == identity for each, _ in _raised)


def _note(kind: str, detail: dict[str, object], at: float | None = None) -> None:
    text = json.dumps({**detail, "pid": os.getpid()})
    for listener in tuple(_listeners):
        listener.take_row([time.time() if at is None else at, kind, "driver", text])


def _note_of_yarn(kind: str, subject: str, detail: dict[str, object]) -> None:
    text = json.dumps(detail)
    for listener in tuple(_listeners):
        listener.take_row([time.time(), kind, subject, text])


_yarn = YarnContainers(_note_of_yarn)


def _note_program(at: float, _: str, detail: dict[str, object]) -> None:
    _note("program-failed", detail, at)


# What a call raised


def _failed(owner: object, name: str, error: BaseException) -> None:
    if isinstance(error, GeneratorExit):
        return  # nobody waits any more
    try:
        programs.report_unreaped()  # a service of the job's that has ended may be why
        key = _key(owner, error)
        _raised.append((f"{id(error):x}", key))
        kind = type(error)
        _note(
            "driver-call-failed",
            {
                "call": _call(owner, name),
                "exception": qualified(kind),
                "bases": bases_of(error),
                "message": cut(message_of(error), _LONGEST),
                "key": key,
                "identity": identity_of(error),
                "id": remember(
                    error, sys._getframe(1), returned=name in ("exception", "status")
                ),
                "main": threading.current_thread() is threading.main_thread(),
                "address": _address_of(owner),
                "scheduler_file": scheduler_file_of(owner),
                "found": missing_there(error),
                "traceback": trace_of(error) if name == _SENDING else "",
                **place_of(innermost_user_frame(sys._getframe(1))),
            },
        )
        note_causes(error)
    except Exception:  # a failure of ours must not take the place of the user's
        pass


def trace_of(error: BaseException) -> str:
    """Return a traceback, with what the exception was raised from."""
    text = plain("".join(traceback.format_exception(error)))
    return cut_within(text, _LONGEST_TRACE)


def _call(owner: object, name: str) -> str:
    name = name.lstrip("_")
    return name if owner is None else f"{type(owner).__name__}.{name}"


def scheduler_file_of(client: object) -> dict[str, object] | None:
    """Return where a client that was never connected looks for its scheduler's address.

    Returns:
        Path of the file, and when it was written (epoch seconds; None: it does not exist).
    """
    path = getattr(client, "scheduler_file", None)
    known = getattr(client, "_scheduler_identity", None)
    if known or not isinstance(path, (str, os.PathLike)):
        return None
    try:
        written = os.stat(path).st_mtime
    except OSError:
        written = None
    return {"path": os.path.abspath(path), "written": written}


def _address_of(client: object) -> str | None:
    """Return the address that a client was still trying to reach."""
    if getattr(client, "status", "") not in ("newly-created", "connecting"):
        return None
    address = getattr(client, "_start_arg", None)
    return address if isinstance(address, str) else None


def _key(owner: object, error: BaseException) -> str | None:
    """Return the key of the failed task, as the client holds its exception."""
    key = getattr(owner, "key", None)
    if key is not None and type(owner).__name__ == "Future":
        return str(key)
    futures = getattr(owner, "futures", None)
    if not isinstance(futures, dict) or len(futures) > _MOST_FUTURES:
        return None
    for key, state in list(futures.items()):
        if getattr(state, "exception", None) is error:
            return str(key)
    return None


# What the driver ends


def _closes(
    function: object, args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    try:
        name = getattr(function, "__name__", "")
        if name == _RESTARTING:
            _note("driver-restart", place_of(innermost_user_frame(sys._getframe(1))))
        if name == _CANCELLING:
            _note_cancel(args, kwargs)
        if name not in _CLOSED_AS:
            return
        closed = getattr(function, "__self__", None)
        owner = type(closed).__name__
        frame = innermost_user_frame(sys._getframe(1))
        handled = sys.exception()
        _note(
            "driver-closing",
            {
                "what": f"{owner}.{_CLOSED_AS[name]}",
                "handling": identity_of(handled),
                "exiting": _exiting(handled),
                "ends_workers_of": scheduler_that_ends(closed, name, kwargs),
                **place_of(frame),
            },
        )
        _yarn.ask(getattr(closed, "cluster", None))
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and _fails(handled):
            for listener in tuple(_listeners):
                listener.exiting(handled)
    except Exception:
        pass


def _note_cancel(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    """Note a call of `Client.cancel`, or of `Future.cancel`, which calls it."""
    reason = kwargs.get("reason")
    futures = args[0] if args else ()
    _note(
        "driver-cancel",
        {
            "futures": len(futures) if isinstance(futures, (list, tuple, set)) else 1,
            "reason": cut(reason, _LONGEST_REASON) if isinstance(reason, str) else None,
            **place_of(innermost_user_frame(sys._getframe(2))),
        },
    )


def _note_skipped(args: tuple[object, ...], frame: FrameType | None) -> None:
    """Note which results a call of `Client.gather` left out, as it was asked to."""
    try:
        futures = args[0] if args else ()
        given = futures if isinstance(futures, (list, tuple, set)) else ()
        left_out = [
            str(each.key)
            for each in given
            if getattr(each, "status", "finished") in _WITHOUT_RESULT
        ]
        if left_out:
            detail: dict[str, object] = {
                "futures": len(given),
                "skipped": len(left_out),
                "keys": left_out[:_MOST_SKIPPED],
            }
            _note("driver-skipped", {**detail, **place_of(innermost_user_frame(frame))})
    except Exception:
        pass


def _fails(error: BaseException | None) -> TypeGuard[SystemExit]:
    return isinstance(error, SystemExit) and error.code not in (None, 0)


def _exiting(handled: BaseException | None) -> list[str]:
    """Return the exceptions for which a process exits, the first one last.

    `SystemExit` that leaves a `with` ends the process; what was being handled where it was
    raised is why.
    """
    chain = list[str]()
    if not _fails(handled):
        return chain
    error: BaseException | None = handled.__cause__ or handled.__context__
    while error is not None and len(chain) < _MOST_CHAINED:
        chain.append(f"{id(error):x}")
        error = error.__cause__ or error.__context__
    return chain


def _heard(event: str, args: tuple[Any, ...], frame: FrameType) -> None:
    try:
        if event == os_calls.STARTED:
            programs.started_by(args[0], frame)
        elif event in REMOVALS:
            _removed.take(event, args, frame)
        elif event == os_calls.MOVED:
            note_directory_change(frame, "driver")
        else:
            _signalled(event, args, frame)
    except Exception:  # an error here would stop the user's own call
        pass


def _signalled(event: str, args: tuple[Any, ...], own: FrameType) -> None:
    target, number = int(args[0]), int(args[1])
    # Nannies end their workers from this process, too: what they do is Dask's.
    frame = innermost_user_frame(own, stop=_DASKS)
    if not number:
        return
    if frame is None and not _in_a_users_thread(own):
        return
    _note(
        "driver-signalled",
        {
            "target": target,
            "group": event == "os.killpg",
            "signal": signal.Signals(number).name,
            "scheduler": _scheduler_of(target),
            "handling": identity_of(sys.exception()),
            "received": received_below(own),
            **place_of(frame),
        },
    )
    if target in {os.getpid(), 0, -1, os.getpgrp(), -os.getpgrp()} and _ends(number):
        for listener in tuple(_listeners):
            listener.ending()


def _ends(number: int) -> bool:
    """Return whether a signal ends this process at once: no handler, no hook learns of it."""
    harmless = (signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT)
    stops = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
    by_default = signal.getsignal(number) is signal.SIG_DFL
    return by_default and number not in {*harmless, *stops}


def _forked() -> None:
    """Note that the driver has forked a process while it had a client (in the driver)."""
    try:
        client = sys.modules.get("distributed.client")
        if _listeners and getattr(client, "_global_clients", None):
            _note("driver-forked", place_of(innermost_user_frame(sys._getframe(1))))
    except Exception:
        pass


def _in_a_users_thread(frame: FrameType | None) -> bool:
    """Return whether a thread that Dask did not start called this (`Timer(9, process.kill)`)."""
    if threading.current_thread() is threading.main_thread():
        return False
    while frame is not None:
        name = frame.f_code.co_filename
        if _DASKS in name or is_ours(name) or _PROCESSES in name:
            return False
        frame = frame.f_back
    return True


def _scheduler_of(pid: int) -> str | None:
    """Return the address of a scheduler that a `dask worker` was started with, or None."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(_LONGEST).decode(errors="replace").split("\0")
    except OSError:
        return None
    if not any(
        word in ("worker", "distributed.cli.dask_worker") for word in words
    ) and not any(word.endswith("dask-worker") for word in words):
        return None
    return next((word for word in words if _ADDRESS.match(word)), None)


# Wrapping


def _install() -> None:
    global _sees_forks  # noqa: PLW0603 - one for each process
    if not _sees_forks and hasattr(os, "register_at_fork"):
        _sees_forks = True  # this cannot be taken back
        os.register_at_fork(after_in_parent=_forked)
    _install_in_gateway()
    _install_on_ray()
    if not _yarn_patches:
        _yarn.watch(_yarn_patches)
    if _patches:
        return
    if "distributed.client" not in sys.modules:
        return  # of a driver without a client there is nothing to hear
    inner = getattr(sys.modules.get("distributed.utils"), "sync", None)
    if inner is None:
        return  # another thread is importing it
    ours = _watched_sync(inner)
    for name in _MODULES:
        module = sys.modules.get(name)
        if getattr(module, "sync", None) is inner:
            _patches.replace(module, "sync", inner, ours)
    from distributed.client import Client, Future

    _patches.replace(
        Future,
        "_result",
        Future._result,
        _watched(Future._result, _client_of_future),
    )
    _patches.replace(
        Future, "exception", Future.exception, _watched_exception(Future.exception)
    )
    _patches.replace(
        Client,
        _SENDING,
        getattr(Client, _SENDING),
        _watched_sending(getattr(Client, _SENDING)),
    )
    _patches.replace(Future, "status", Future.status, _watched_status(Future.status))
    _patches.replace(
        Future, "cancelled", Future.cancelled, _watched_cancelled(Future.cancelled)
    )
    _patches.replace(
        Client, "_gather", Client._gather, _watched(Client._gather, _itself)
    )
    _patches.replace(
        Client, "_reconnect", Client._reconnect, _watched_reconnect(Client._reconnect)
    )
    merged = MergedCalls(lambda found: _note("calls-merged", found))
    reused = ReusedKeys(lambda found: _note("key-reused", found), merged)
    reused.watch(Client, _patches)
    reused.watch_delayed(sys.modules.get("dask.delayed"), Client, _patches)
    OrderedEnds(_note).watch(_patches)


def _install_in_gateway() -> None:
    """Watch what dask-gateway's own way from a thread to its loop ends."""
    gateway = getattr(sys.modules.get("dask_gateway.client"), "Gateway", None)
    inner = getattr(gateway, "sync", None)
    if inner is not None and not _gateway_patches:
        _gateway_patches.replace(gateway, "sync", inner, _watched_sync(inner))


def _install_on_ray() -> None:
    """Report the tasks that Dask has Ray run."""
    if "ray.util.dask.scheduler" in sys.modules and not _on_ray:
        tasks = RayTasks(_send_of_ray)
        tasks.start()
        _on_ray.append(tasks)


def _send_of_ray(kind: str, row: list[object]) -> None:
    for listener in tuple(_listeners):
        listener.send(kind, row)


def _watched_sync(inner: Any) -> object:
    @functools.wraps(inner)
    def sync(loop: object, func: object, *args: object, **kwargs: object) -> object:
        try:
            _closes(func, args, kwargs)
            found = inner(loop, func, *args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            name = str(getattr(func, "__name__", "sync"))
            _failed(getattr(func, "__self__", None), name, error)
            raise
        if kwargs.get("errors") == "skip":
            _note_skipped(args, sys._getframe())
        return found

    return sync


def _watched_exception(inner: Any) -> object:
    """Return `Future.exception` that reports what it returns: the driver has received it."""

    @functools.wraps(inner)
    def exception(self: object, *args: object, **kwargs: object) -> object:
        try:
            found = inner(self, *args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            raise
        if isinstance(found, BaseException):
            _failed(self, "exception", found)
        return found

    return exception


def _watched_sending(inner: Any) -> object:
    """Return `Client._graph_to_futures` that reports what it could not send to the scheduler.

    And what the graphs read and write that it has sent.
    """

    @functools.wraps(inner)
    def send(self: object, *args: object, **kwargs: object) -> object:
        try:
            found = inner(self, *args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            _failed(self, inner.__name__, error)
            raise
        _note_data(next(iter(args), kwargs.get("expr")))
        return found

    return send


def _note_data(graph: object) -> None:
    """Note what a graph reads and writes."""
    try:
        for listener in tuple(_listeners):
            listener.data.sent(graph)
    except Exception:  # a graph may hold anything
        pass


def _watched_status(inner: Any) -> property:
    """Return `Future.status` that reports, once each, that the user's code saw a failed future.

    A future that Dask itself has cancelled counts as one: it raises that only if asked.
    """

    @functools.wraps(inner.fget)
    def status(self: object) -> object:
        found = inner.fget(self)
        if found == "error" or (found == "cancelled" and _cancelled_by_dask(self)):
            _saw_failure(self, sys._getframe(1))
        return found

    return property(status)


def _watched_cancelled(inner: Any) -> object:
    """Return `Future.cancelled` that reports what Dask itself has cancelled."""

    @functools.wraps(inner)
    def cancelled(self: object) -> object:
        found = inner(self)
        if found and _cancelled_by_dask(self):
            _saw_failure(self, sys._getframe(1))
        return found

    return cancelled


def _cancelled_by_dask(future: object) -> bool:
    error = getattr(getattr(future, "_state", None), "exception", None)
    return getattr(error, "reason", None) in REASONS_OF_DASK


def _saw_failure(future: object, caller: FrameType) -> None:
    try:
        name = caller.f_code.co_filename
        key = str(getattr(future, "key", ""))
        if is_ours(name) or is_foreign(name) or key in _seen:
            return
        error = getattr(getattr(future, "_state", None), "exception", None)
        if isinstance(error, BaseException):
            if len(_seen) < _MOST_SEEN:
                _seen.add(key)
            _failed(future, "status", error)
    except Exception:
        pass


def _watched(inner: Any, client_of: Callable[[Any], Any]) -> object:
    """Return a coroutine function of a client that reports failures of asynchronous users."""

    @functools.wraps(inner)
    async def call(self: object, *args: object, **kwargs: object) -> object:
        try:
            found = await inner(self, *args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            if getattr(client_of(self), "_asynchronous", False):
                _failed(self, inner.__name__, error)
            raise
        if kwargs.get("errors") == "skip" and getattr(self, "_asynchronous", False):
            _note_skipped(args, None)
        return found

    return call


def _watched_reconnect(inner: Any) -> object:
    """Return `Client._reconnect` that first reports what its client had not received."""

    @functools.wraps(inner)
    async def reconnect(self: object, *args: object, **kwargs: object) -> object:
        _note_disconnected(self)
        return await inner(self, *args, **kwargs)

    return reconnect


def _note_disconnected(client: Any) -> None:
    try:
        held = list(islice(client.futures.values(), _MOST_FUTURES))
        _note(
            "client-disconnected",
            {
                "scheduler": str(client._scheduler_identity.get("address", "")),
                "futures": len(held),
                "pending": sum(each.status == "pending" for each in held),
            },
        )
    except Exception:
        pass


def _client_of_future(future: object) -> object:
    return getattr(future, "client", None)


def _itself(client: object) -> object:
    return client
