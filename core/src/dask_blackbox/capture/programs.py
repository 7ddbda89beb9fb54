"""Programs that the user's own code starts, in driver or tasks, and that exit with an error.

A job that ignores the exit code of a program fails later, because the program did not do its
work.  An exit code is recorded when the user's own code receives it, with the moment at which the
program was seen to have ended.  The exit codes of programs that no code waited for are recorded at
the end of the recording.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import time
import weakref
from asyncio import base_subprocess
from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, FrameType
from typing import Any, NamedTuple, Protocol

from .exceptions import remove_own_frame
from .logs import cut, plain
from .replacements import Replacements
from .user_frames import calling_frame, place_of

_MOST = 200
_LONGEST = 400
_SHOWN_BYTES = 4_000
_COMMUNICATE = ("communicate", "_communicate")
_THROUGH = tuple(
    os.sep + name.replace("/", os.sep)
    for name in (
        "subprocess.py",
        "os.py",
        "threading.py",
        "concurrent/futures/thread.py",
        "asyncio/base_events.py",
        "asyncio/events.py",
        "asyncio/base_subprocess.py",
        "asyncio/unix_events.py",
        "asyncio/subprocess.py",
        "asyncio/runners.py",
        "asyncio/threads.py",
    )
)


class _Process(Protocol):
    """A `subprocess.Popen`."""

    pid: int


class _Program(NamedTuple):
    """A program that was started: by which code, and when."""

    subject: str
    command: str
    place: dict[str, object]
    started: float | None


Sink = Callable[[float, str, dict[str, object]], None]
"""Takes when the exit code was known, and subject and fields of `events.ProgramFailed`."""

_lock = threading.RLock()  # a signal's handler may start a program, too
_running: weakref.WeakKeyDictionary[_Process, _Program] = weakref.WeakKeyDictionary()
_ended: weakref.WeakKeyDictionary[_Process, float] = weakref.WeakKeyDictionary()
_failed: deque[tuple[float, str, dict[str, object]]] = deque(maxlen=_MOST)
_sink: Sink | None = None
_patched = Replacements()


def _is_the_driver() -> str | None:
    return "driver"


_subject_of: Callable[[], str | None] = _is_the_driver


def report_to(
    sink: Sink | None, *, subject_of: Callable[[], str | None] = _is_the_driver
) -> None:
    """Report programs that exit with an error, those of before included; None: no more.

    Args:
        sink: Takes what is reported.
        subject_of: Returns what the calling thread runs: `driver`, or the key of a
            task; None: neither, and what it starts is not recorded.
    """
    global _sink, _subject_of
    with _lock:
        _sink, _subject_of = sink, subject_of
        _patch()
    while sink is not None and _failed:
        sink(*_failed.popleft())


def forget() -> None:
    """Put back what was replaced to watch programs, after `report_to(None)`."""
    with _lock:
        _patched.undo()


def report_unreaped() -> None:
    """Report programs that exited with an error and were not waited for."""
    with _lock:
        running = list(_running)
    for program in running if _sink is not None else ():
        _peek(program)


def note_ends() -> None:
    """Note the moment at which programs were seen to have ended; called periodically."""
    with _lock:
        running = [each for each in _running if each not in _ended]
    for program in running if _sink is not None else ():
        if _end_of(program) is not None:
            _ended[program] = time.time()


def started_by(process: Any, frame: FrameType | None) -> None:
    """Note a program that the user's code has started, or is starting.

    Args:
        process: Its `subprocess.Popen`.
        frame: Of the call, or below it.
    """
    own, subject = calling_frame(frame, _THROUGH), _subject_of()
    if own is None or subject is None:
        return
    with _lock:
        _patch()
        if process not in _running and len(_running) < _MOST:
            command = _text_of(process.args)
            _running[process] = _Program(subject, command, place_of(own), time.time())


def _text_of(args: object) -> str:
    """Return a command as one line."""
    if isinstance(args, bytes | str | os.PathLike):
        words: list[object] = [args]
    else:
        words = list(args) if isinstance(args, list | tuple) else [args]
    text = " ".join(
        os.fsdecode(word) if isinstance(word, bytes | str | os.PathLike) else str(word)
        for word in words
    )
    return cut(plain(" ".join(text.split())), _LONGEST)


def _patch() -> None:
    """Watch the exit codes that parents of programs receive, from the first program on."""
    if _patched:
        return
    for name in ("wait", "poll", "communicate"):
        watched = _watched(getattr(subprocess.Popen, name))
        _patched.replace(subprocess.Popen, name, watched)
    if isinstance(
        os.system, BuiltinFunctionType
    ):  # else a recorded command has done so
        _patched.replace(os, "system", _watched_shell(os.system))
    transport: Any = base_subprocess.BaseSubprocessTransport
    exited = _watched_exit(transport._process_exited)
    _patched.replace(transport, "_process_exited", exited)


def _watched(inner: Any) -> Any:
    @functools.wraps(inner)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = inner(self, *args, **kwargs)
        except BaseException as error:
            remove_own_frame(error)
            raise
        # Of what it reads, `communicate` returns the error itself, after it has waited.
        inside = sys._getframe(1).f_code.co_name in _COMMUNICATE
        if self.returncode and self in _running and not inside:
            errors = result[1] if isinstance(result, tuple) else None
            _exited(self, self.returncode, errors)
        return result

    return call


def _watched_exit(inner: Any) -> Any:
    @functools.wraps(inner)
    def call(self: Any, returncode: Any, *args: Any) -> Any:
        process = getattr(self, "_proc", None)
        if returncode and process is not None and process in _running:
            _exited(process, returncode)
        return inner(self, returncode, *args)

    return call


def _watched_shell(inner: Any) -> Any:
    @functools.wraps(inner)
    def system(command: object) -> int:
        status: int = inner(command)
        if status:
            try:
                shell_exited(command, status, sys._getframe(1))
            except Exception:  # the user's own call continues
                pass
        return status

    # Pickled by its name, as the wrapped function is, which calls itself `posix.system`.
    system.__module__ = "os"
    return system


def shell_exited(command: object, status: int, frame: FrameType) -> None:
    """Note a command of `os.system` that failed.

    Args:
        command: What was run.
        status: What `os.system` returned.
        frame: Of the call.
    """
    own, subject = calling_frame(frame, _THROUGH), _subject_of()
    if own is not None and subject is not None:
        program = _Program(subject, _text_of(command), place_of(own), None)
        _note(program, os.waitstatus_to_exitcode(status), None, None)


def _exited(process: _Process, code: int, errors: object = None) -> None:
    try:
        program = _running.pop(process, None)
        if program is not None:
            at = _ended.pop(process, None)
            _note(program, code, process.pid, errors, at=at)
    except Exception:  # the user's own call continues
        pass


def _peek(process: _Process) -> None:
    """Note the exit code of a program that was not waited for; its parent still can."""
    found = _end_of(process)
    if found is not None and found.si_status:
        killed = found.si_code != os.CLD_EXITED
        _exited(process, -found.si_status if killed else found.si_status)


def _end_of(process: _Process) -> os.waitid_result | None:
    """Return how a program ended, if it has; its parent still can wait for it."""
    try:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, options)
    except (AttributeError, OSError):
        return None  # another system, or another thread has waited for it by now


def _note(
    program: _Program,
    code: int,
    pid: int | None,
    errors: object,
    *,
    at: float | None = None,
) -> None:
    at = at or time.time()
    detail: dict[str, object] = {
        "pid": os.getpid(),
        "program_pid": pid,
        "command": program.command,
        "code": code,
        "started": program.started,
        "error": _last_line(errors),
        **program.place,
    }
    sink = _sink
    if sink is None:
        _failed.append((at, program.subject, detail))
    else:
        sink(at, program.subject, detail)


def _last_line(errors: object) -> str:
    """Return the last line that a program wrote to its standard error, if it was read."""
    if isinstance(errors, bytes):
        errors = errors[-_SHOWN_BYTES:].decode(errors="replace")
    if not isinstance(errors, str):
        return ""
    lines = errors[-_SHOWN_BYTES:].split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return cut(plain(last), _LONGEST)
