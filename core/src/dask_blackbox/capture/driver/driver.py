"""The driver's part of capture: its description, log lines, warnings and exceptions."""

from __future__ import annotations

import ast
import json
import logging
import os
import platform
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from ..bytecode import code_hash, signed
from ..exceptions import bases_of, message_of, own_frame, qualified
from ..files import working_directory
from ..logs import LogTap, cut, cut_within, plain
from ..printed_lines import DriverPrintedLines
from ..process import ancestry, image_variables, installed
from ..user_frames import is_foreign
from .cells import cells_of_notebook, in_cells, parsed, place_in
from .client_calls import identity_of, key_of
from .driver_environment import folder_of_code, function_of
from .logged_errors import LoggedErrors
from .patches import Patches

_LONGEST = 20_000
_SHORT = 2_000
_WARNING_FRAMES = 10  # from what shows a warning to what warns
_MOST_THREADS, _LINES = 20, 190  # threads that exceptions end, and lines of each
_REGISTERING = ("register_plugin", "register_worker_plugin")
_ABOUT = "dask_blackbox_about"
"""Attribute of an integration's exception: the user's function that it is about."""
_CLIENT = os.path.join("distributed", "client.py")


def describe_driver(
    *,
    parameters: Mapping[str, object] | None = None,
    function: Callable[..., object] | None = None,
    client: str | None = None,
) -> dict[str, object]:
    """Return what this process is: the particulars of `driver-attached`."""
    import dask.config

    return {
        **ancestry(),
        "argv": sys.argv,
        "cwd": working_directory(),
        "machine": platform.node(),
        "python": platform.python_version(),
        "packages": _packages(),
        "config": dask.config.config,
        "code_folder": folder_of_code(function),
        "callable": None if function is None else code_of(function),
        "parameters": None if parameters is None else dict(parameters),
        "client": client,
        "image": image_variables(),
        "unguarded": _unguarded(),
    }


def _unguarded() -> str | None:
    """Return file and line of a call that is made whenever the main module is imported.

    Processes that are spawned import the main module, too, and make that call again.
    """
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
    try:
        if frame is None or frame.f_globals.get("__name__") != "__main__":
            return None
        name, line = frame.f_code.co_filename, frame.f_lineno
        if is_foreign(name):
            return None
        with open(name, "rb") as file:
            body = parsed(file.read()).body
    except (OSError, ValueError):
        return None
    for part in body:
        if part.lineno <= line <= (part.end_lineno or part.lineno):
            guarded = isinstance(part, ast.If) and "__name__" in ast.dump(part.test)
            return None if guarded else f"{name}:{line}"
    return None


def as_json(value: object, *, depth: int = 6) -> str:
    """Return a value of the user's as JSON text, whatever it holds."""
    try:
        return json.dumps(value, default=str)
    except Exception:  # a key that is no string, a circle, a `__str__` that raises
        if depth and isinstance(value, Mapping):
            parts = (
                f"{json.dumps(plain(str(k)))}: {as_json(v, depth=depth - 1)}"
                for k, v in value.items()
            )
            return f"{{{', '.join(parts)}}}"
        return json.dumps(f"<{type(value).__name__}>")


def _packages() -> dict[str, str]:
    found = {name.lower(): version for name, version in installed()}
    return dict(sorted(found.items()))


def code_of(function: Callable[..., object]) -> dict[str, object]:
    """Return name and place of a function, and a hash of what it does; not its source."""
    inner = function_of(function)
    code = getattr(inner, "__code__", None)
    digest = None if code is None else signed(code_hash(code))
    return {
        "name": getattr(inner, "__qualname__", repr(inner)),
        "module": getattr(inner, "__module__", None),
        "file": None if code is None else code.co_filename,
        "line": None if code is None else code.co_firstlineno,
        "hash": digest,
    }


def describe_exception(error: BaseException) -> dict[str, Any]:
    """Return an exception as the fields of `manifest.DriverException`, but for what its source shows."""
    chain, seen = [], {}
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen[id(each)] = identity_of(each)
        chain.append(qualified(type(each)))
        each = each.__cause__ or (
            None if each.__suppress_context__ else each.__context__
        )
    text = in_cells(plain("".join(traceback.format_exception(error))))
    where = _place_of(error)
    handled = [
        f"{qualified(type(e))}: {message_of(e)}"[:_SHORT] for e in _hidden(error)
    ]
    return {
        "exception": qualified(type(error)),
        "bases": bases_of(error),
        "message": cut(message_of(error), _LONGEST),
        "traceback": cut_within(text, _LONGEST),
        "chain": chain,
        "chain_ids": list(seen.values()),
        "handled": handled,
        **where,
        "key": _key_of(error),
        "plugin": _plugin_of(error),
    }


def _plugin_of(error: BaseException) -> str | None:
    """Return the class of the plugin that the driver was registering, if it was.

    The traceback does not show it: it names the method, not its class.
    """
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if code.co_name in _REGISTERING and code.co_filename.endswith(_CLIENT):
            plugin = frame.f_locals.get("plugin")
            return None if plugin is None else qualified(type(plugin))
    return None


def _hidden(error: BaseException) -> Iterator[BaseException]:
    """Yield what was being handled when it was raised `from None`: no traceback shows it."""
    seen: set[int] = set()
    each: BaseException | None = error
    hidden = False
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        if hidden:
            yield each
        hidden = hidden or (each.__suppress_context__ and each.__cause__ is None)
        each = each.__cause__ or each.__context__


def _place_of(error: BaseException) -> dict[str, object]:
    """Return the place to look at: the user's function, where it is about one as a whole.

    What an integration raises of a function that has returned was raised elsewhere.
    """
    about = getattr(error, _ABOUT, None)
    code = getattr(function_of(about), "__code__", None) if callable(about) else None
    if code is not None:
        name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
        return {
            "file": code.co_filename,
            "line": code.co_firstlineno,
            "function": name.rpartition("<locals>.")[2],
        }
    frame = own_frame(error)
    place = frame and place_in(
        cells_of_notebook(), frame.filename, frame.lineno or 0, frame.name
    )
    return {
        "file": place[0] if place else None if frame is None else frame.filename,
        "line": None if frame is None else frame.lineno,
        "function": None if frame is None else frame.name,
    }


def _key_of(error: BaseException) -> str | None:
    if key := key_of(error):
        return key
    # KilledWorker names the task that it gave up.
    task = getattr(error, "task", None)
    return str(task) if type(error).__name__ == "KilledWorker" and task else None


class DriverTap:
    """Log lines and warnings of the driver process, as rows.

    Args:
        recording: Id of the recording.
        sink: Takes a kind and a row; must not block.
        printed: Whether to take what is printed to standard output, too.
        threads: Whether to take the exceptions that end threads, which Python prints, as
            the lines of standard error that they are.
    """

    def __init__(
        self,
        recording: str,
        sink: Callable[[str, list[object]], None],
        *,
        printed: bool = False,
        threads: bool = False,
    ) -> None:
        self._sink, self._prints, self._threads = sink, printed, threads
        self._pid = os.getpid()
        self._errors = LoggedErrors()
        self._tap = LogTap(
            recording,
            "driver",
            lambda role: role,
            lambda row: sink("log", row),
            records=self._report_error,
        )
        self._printed = DriverPrintedLines(self._tap)
        self._showwarning: Any = None
        self._hooked = Patches()
        self._ended_threads = 0
        self._begun = (time.monotonic(), _main_thread())

    def start(self) -> None:
        """Begin to listen."""
        self._tap.attach()
        if self._prints:
            self._printed.attach()
        self._showwarning = inner = warnings.showwarning

        def show(
            message: Any, category: Any, filename: str, lineno: int, *more: Any
        ) -> None:
            try:
                # That of a worker's `warn`, which warns there, too, goes to each client.
                if not _is_called_by("_handle_warn"):
                    self._warned(message, category, filename, lineno)
            finally:
                inner(message, category, filename, lineno, *more)

        self._shown = show
        hook: Any = show
        warnings.showwarning = hook
        if self._threads:
            self._watch_threads()

    def _report_error(self, record: logging.LogRecord) -> None:
        """Report an exception that the user's code has handled and logs."""
        if os.getpid() != self._pid:
            return  # a forked child: what it handles is not the driver's
        found = self._errors.of(record)
        if found is not None:
            row = [record.created, "driver-error-logged", "driver", json.dumps(found)]
            self._sink("event", row)

    def _watch_threads(self) -> None:
        before = threading.excepthook

        def excepthook(args: threading.ExceptHookArgs, /) -> None:
            try:
                if self._hooked:  # else a later hook still calls this one
                    self._thread_ended(args)
            except Exception:  # it would hide the user's
                pass
            before(args)

        self._hooked.replace(threading, "excepthook", before, excepthook)

    def _thread_ended(self, args: threading.ExceptHookArgs) -> None:
        error, thread = args.exc_value, args.thread
        if error is None or isinstance(error, SystemExit):
            return
        self._ended_threads += 1
        if self._ended_threads > _MOST_THREADS:
            return
        name = threading.get_ident() if thread is None else thread.name
        first, *lines = "".join(traceback.format_exception(error)).splitlines()
        if (left_out := len(lines) - _LINES) > 0:
            lines[:left_out] = [f"  … {left_out:,} lines are left out here"]
        for line in (f"Exception in thread {name}:", first, *lines):
            if line.strip():
                self._threads_line(line)

    def _threads_line(self, line: str) -> None:
        self._tap.take(time.time(), "driver", "stderr", logging.INFO, line, None)

    def stop(self) -> None:
        """Stop listening."""
        self.report_times()
        self._printed.flush()
        self._hooked.restore()
        if (more := self._ended_threads - _MOST_THREADS) > 0:
            self._threads_line(f"dask-blackbox: exceptions ended {more} more threads")
        self._tap.detach()
        if warnings.showwarning is self._shown:
            warnings.showwarning = self._showwarning

    def flush(self) -> None:
        """Hand over what is held back of a flood of printed lines."""
        self._printed.flush()

    def report_times(self) -> None:
        """Report what the main thread did since the beginning, where the system measures it."""
        now, (begun, before) = _main_thread(), self._begun
        if now is None or before is None:
            return
        seconds = round(time.monotonic() - begun, 3)
        cpu, delayed = (round(b - a, 3) for a, b in zip(before, now, strict=True))
        reported = {
            "pid": os.getpid(),
            "seconds": seconds,
            "cpu": cpu,
            "delayed": delayed,
        }
        self._sink(
            "event", [time.time(), "driver-load", "driver", json.dumps(reported)]
        )

    def _warned(
        self, message: object, category: object, filename: str, lineno: int
    ) -> None:
        detail = {
            "category": getattr(category, "__name__", str(category)),
            "message": cut(str(message), _LONGEST),
            "filename": filename,
            "lineno": lineno,
        }
        self._sink(
            "event", [time.time(), "driver-warning", "driver", json.dumps(detail)]
        )
        self._tap.take(
            time.time(), "driver", "py.warnings", logging.WARNING,
            f"{detail['category']}: {detail['message']} ({filename}:{lineno})", None,
        )  # fmt: skip


def _is_called_by(name: str) -> bool:
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_WARNING_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_name == name:
            return True
        frame = frame.f_back
    return False


def _main_thread() -> tuple[float, float] | None:
    """Return the seconds that the main thread had a core, and waited for one (Linux)."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            cpu, delayed, *_ = file.read().split()
        return int(cpu) / 1e9, int(delayed) / 1e9
    except (OSError, ValueError):
        return None
