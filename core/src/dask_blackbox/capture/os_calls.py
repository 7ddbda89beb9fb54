"""Calls that start programs, end processes, open or remove files or change the working directory.

Python's audit events report these calls, too, but also forty other events for each task of a
worker (`id()` alone is called thirty times).  Therefore the functions themselves are wrapped.
A wrapper is pickled by its name, like the wrapped function, and is removed when nobody listens
any more; other code that holds a reference to it goes on calling the wrapped function.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .exceptions import remove_own_frame
from .replacements import Replacements

Listener = Callable[[str, tuple[Any, ...], FrameType], None]
"""Takes the name of an audit event, its arguments and the frame of the call; never raises.

Signals are reported before they are sent, as they may end this very process; all else once it
has succeeded: a failed call has changed nothing.
"""

OpenedListener = Callable[[Any], None]
"""Takes the file object of a file that was opened to be read; never raises."""

STARTED = "subprocess.Popen"
"""A program has been started; the argument is its `Popen`."""

MOVED = "os.chdir"
"""The working directory of the process has been changed."""

_WATCHED = (
    (os, "kill", "os.kill"),
    (os, "killpg", "os.killpg"),
    (os, "remove", "os.remove"),
    (os, "unlink", "os.remove"),
    (os, "rename", "os.rename"),
    (os, "replace", "os.rename"),
    (os, "rmdir", "os.rmdir"),
    (shutil, "rmtree", "shutil.rmtree"),
    (os, "chdir", MOVED),
    (os, "fchdir", MOVED),
)
_SENT = frozenset({"os.kill", "os.killpg"})
_CAPABILITIES = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks)

_listener: Listener | None = None
_opened: OpenedListener | None = None
_calls, _opening = Replacements(), Replacements()
_capable: list[tuple[set[Any], Any]] = []


def listen(listener: Listener | None) -> None:
    """Report calls to a listener from now on; None: stop."""
    global _listener  # noqa: PLW0603 - one for each process
    _listener = listener
    if listener is None:
        _calls.undo()
        while _capable:
            capable, call = _capable.pop()
            capable.discard(call)
    if _calls or listener is None:
        return
    for module, name, event in _WATCHED:
        if not hasattr(module, name):
            continue  # of another system
        _calls.replace(module, name, _watched(module, name, event))
    start = _watched_start(subprocess.Popen.__init__)
    _calls.replace(subprocess.Popen, "__init__", start)


def listen_to_opened(listener: OpenedListener | None) -> None:
    """Report the files that `open` and file systems of fsspec open to be read; None: stop."""
    global _opened  # noqa: PLW0603 - one for each process
    _opened = listener
    if listener is None:
        _opening.undo()
    if _opening or listener is None:
        return
    # `pathlib` and others call it by its other name.
    opening = _watched_open(builtins.open)
    for owner in (builtins, io):
        _opening.replace(owner, "open", opening)
    spec = sys.modules.get("fsspec.spec")  # Dask imports it
    if spec is not None:
        system = spec.AbstractFileSystem
        _opening.replace(system, "open", _watched_open(system.open, first=1))


def _watched_open(inner: Any, first: int = 0) -> Any:
    """Return a function that opens a file and reports it.

    Args:
        inner: What it calls.
        first: Position of the path among its arguments; the mode follows.
    """

    @functools.wraps(inner)
    def open(*args: Any, **kwargs: Any) -> Any:  # noqa: A001 - stands for it
        try:
            file = inner(*args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            raise
        listener = _opened
        if listener is not None:
            mode = args[first + 1] if len(args) > first + 1 else kwargs.get("mode", "r")
            if "r" in mode:
                listener(file)
        return file

    if not first:
        open.__module__, open.__qualname__ = "io", "open"
    return open


def _watched(module: Any, name: str, event: str) -> Any:
    inner = getattr(module, name)

    @functools.wraps(inner)
    def call(*args: Any, **kwargs: Any) -> Any:
        listener = _listener if args else None  # another thread may stop listening
        if listener is not None and event in _SENT:
            listener(event, args, sys._getframe(1))
        elif listener is not None and event == "shutil.rmtree" and _is_absent(args[0]):
            listener = None  # its errors may be ignored
        try:
            result = inner(*args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            raise
        if listener is not None and event not in _SENT:
            listener(event, args, sys._getframe(1))
        return result

    call.__module__, call.__qualname__ = module.__name__, name
    for capable in _CAPABILITIES:  # which libraries look the function up in
        if inner in capable:
            capable.add(call)
            _capable.append((capable, call))
    return call


def _watched_start(inner: Any) -> Any:
    @functools.wraps(inner)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            inner(self, *args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            raise
        if (listener := _listener) is not None:
            listener(STARTED, (self,), sys._getframe(1))

    return __init__


def _is_absent(path: Any) -> bool:
    try:
        return not os.path.lexists(path)
    except (TypeError, ValueError):
        return False  # the call itself reports what is wrong with it
