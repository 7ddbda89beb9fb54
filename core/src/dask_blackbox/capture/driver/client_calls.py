"""What calls to Dask raised in the driver, and what the driver did to its cluster: with times.

A process ends later than its work.  So the moment is noted at which an exception leaves a call
to Dask, and at which the script signals a process or closes a client or a cluster; with each
stands the identity of the exception that was being handled then.  Nothing is done for a task
or for a call that succeeds but one more function call; no frame of ours stays in a traceback.
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
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..classes import bases_of, qualified
from ..logs import cut, words_of
from .patches import Patches

__all__ = ["DriverCalls", "identity_of", "key_of", "users_frame"]

_MOST, _KEPT = 100, 20
_LONGEST = 2_000
_ADDRESS = re.compile(r"(?:tcp|tls|ws|wss|ucx)://[^\s@]+$")
_DEEPEST = 200
_MOST_FUTURES = 100_000
_FOREIGN = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python", "<frozen")
_OURS = f"{os.sep}dask_blackbox{os.sep}"
_DASKS = f"{os.sep}distributed{os.sep}"
_PROCESSES = f"{os.sep}multiprocessing{os.sep}"
_CLOSING = ("_close", "_shutdown", "__aexit__")
_MODULES = ("distributed.utils", "distributed.client", "distributed.actor")

Sink = Callable[[str, list[object]], None]

_lock = threading.Lock()
_listeners: list[DriverCalls] = []
_audited = False
_patches = Patches()
# The newest by identity, whether reported or not: the last one decides.
_raised: deque[tuple[str, str | None]] = deque(maxlen=_KEPT)


class DriverCalls:
    """Tells of failed calls and of what the driver ends, from `start` to `stop`.

    Args:
        sink: Takes a kind and a row; must not block.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._left = _MOST
        self._held: deque[list[object]] = deque(maxlen=_KEPT)
        self._pid = os.getpid()

    def start(self) -> None:
        """Begin to listen; again, once there is a client, if there was none before."""
        with _lock:
            if self not in _listeners:
                _listeners.append(self)
            _install()

    def stop(self) -> None:
        """Stop listening; tell what was held back."""
        with _lock:
            if self in _listeners:
                _listeners.remove(self)
            if not _listeners:
                _patches.restore()
        self.flush_held()

    def flush_held(self) -> None:
        """Tell of the newest failures, which were held back because there were many."""
        while self._held:
            self._sink("event", self._held.popleft())

    def take_row(self, row: list[object]) -> None:
        """Take an event; of very many, only the newest are reported, at the end."""
        if os.getpid() != self._pid:
            return  # a forked child: what it does is not the driver's
        if self._left > 0:
            self._left -= 1
            self._sink("event", row)
        else:
            self._held.append(row)


def identity_of(error: BaseException | None) -> str | None:
    """Return what tells an exception object from others of this process that live."""
    return None if error is None else f"{id(error):x}"


def key_of(error: BaseException) -> str | None:
    """Return the key of the task whose exception a call to Dask raised, if it is known."""
    identity = identity_of(error)
    return next((key for each, key in reversed(_raised) if each == identity), None)


def users_frame(frame: FrameType | None, stop: str = "") -> FrameType | None:
    """Return the innermost frame of the user's own; None if Dask's own code comes before.

    Args:
        frame: Where to begin.
        stop: A part of the names of files at which to give up.
    """
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        name = frame.f_code.co_filename
        if stop and stop in name:
            return None
        if _OURS not in name and not any(part in name for part in _FOREIGN):
            return frame
        frame = frame.f_back
    return None


def _note(kind: str, detail: dict[str, object]) -> None:
    text = json.dumps({**detail, "pid": os.getpid()})
    for listener in tuple(_listeners):
        listener.take_row([time.time(), kind, "driver", text])


def _place(frame: FrameType | None) -> dict[str, object]:
    if frame is None:
        return {"file": None, "line": None, "function": None}
    code = frame.f_code
    return {"file": code.co_filename, "line": frame.f_lineno, "function": code.co_name}


# What a call raised


def _failed(owner: object, name: str, error: BaseException) -> None:
    if isinstance(error, GeneratorExit):
        return  # nobody waits any more
    try:
        key = _key(owner, error)
        _raised.append((f"{id(error):x}", key))
        kind = type(error)
        _note(
            "driver-call-failed",
            {
                "call": _call(owner, name),
                "exception": qualified(kind),
                "bases": bases_of(error),
                "message": cut(words_of(error), _LONGEST),
                "key": key,
                "identity": identity_of(error),
                "main": threading.current_thread() is threading.main_thread(),
                **_place(users_frame(sys._getframe(1))),
            },
        )
    except Exception:  # a failure of ours must not take the place of the user's
        pass


def _call(owner: object, name: str) -> str:
    name = name.lstrip("_")
    return name if owner is None else f"{type(owner).__name__}.{name}"


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


def _closes(function: object) -> None:
    try:
        name = getattr(function, "__name__", "")
        if name not in _CLOSING:
            return
        owner = type(getattr(function, "__self__", None)).__name__
        what = "close" if name == "__aexit__" else name.lstrip("_")
        frame = users_frame(sys._getframe(1))
        _note(
            "driver-closing",
            {
                "what": f"{owner}.{what}",
                "handling": identity_of(sys.exception()),
                **_place(frame),
            },
        )
    except Exception:
        pass


def _audit(event: str, args: tuple[Any, ...]) -> None:
    # (Python asks this at every import and `open`: the first line must be all.)
    if event != "os.kill" and event != "os.killpg":  # noqa: PLR1714 - the faster way
        return
    if not _listeners:
        return
    try:
        target, number = int(args[0]), int(args[1])
        # Nannies end their workers from this process, too: what they do is Dask's.
        frame = users_frame(sys._getframe(1), stop=_DASKS)
        if not number or target == os.getpid():
            return
        if frame is None and not _in_a_users_thread(sys._getframe(1)):
            return
        _note(
            "driver-signalled",
            {
                "target": target,
                "group": event == "os.killpg",
                "signal": signal.Signals(number).name,
                "scheduler": _scheduler_of(target),
                "handling": identity_of(sys.exception()),
                **_place(frame),
            },
        )
    except Exception:  # an error here would stop the user's own call
        pass


def _in_a_users_thread(frame: FrameType | None) -> bool:
    """Say whether a thread that Dask did not start called this (`Timer(9, process.kill)`)."""
    if threading.current_thread() is threading.main_thread():
        return False
    while frame is not None:
        name = frame.f_code.co_filename
        if _DASKS in name or _OURS in name or _PROCESSES in name:
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
    global _audited  # noqa: PLW0603 - once per process: it cannot be taken back
    if not _audited:
        _audited = True
        sys.addaudithook(_audit)
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
        Client, "_gather", Client._gather, _watched(Client._gather, _itself)
    )


def _watched_sync(inner: Any) -> object:
    @functools.wraps(inner)
    def sync(loop: object, func: object, *args: object, **kwargs: object) -> object:
        try:
            _closes(func)
            return inner(loop, func, *args, **kwargs)
        except BaseException as error:
            # A bare `raise` adds no frame: with ours taken off, none is left.
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next
            name = str(getattr(func, "__name__", "sync"))
            _failed(getattr(func, "__self__", None), name, error)
            raise

    return sync


def _watched(inner: Any, client_of: Callable[[Any], Any]) -> object:
    """Return a coroutine function of a client that tells of failures to asynchronous users."""

    @functools.wraps(inner)
    async def call(self: object, *args: object, **kwargs: object) -> object:
        try:
            return await inner(self, *args, **kwargs)
        except BaseException as error:
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next
            if getattr(client_of(self), "_asynchronous", False):
                _failed(self, inner.__name__, error)
            raise

    return call


def _client_of_future(future: object) -> object:
    return getattr(future, "client", None)


def _itself(client: object) -> object:
    return client
