"""Log lines and printed lines of one process, as rows.

No handler is added to any logger: one on the root would silence `logging.basicConfig()`
and the last resort that prints warnings, and `LocalCluster` raises the level of stream
handlers while it exists.  Instead, this module reads each record just before the logger passes it to
its handlers.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from _thread import get_ident
from itertools import count
from typing import Any, Callable, Iterator

LONGEST = 32_768
_OURS = "dask_blackbox"
# A worker without file descriptors says the same 2,000 times a second.
_MAY_FLOOD = ("asyncio", "distributed", "tornado")
_A_SECOND = 50
_MOST_KINDS = 500
_MOST_THREADS = 1_000
_NUMBER = re.compile(r"[0-9]+")
_SIGNALLED = re.compile(r"Received signal \w+ \((\d+)\)")
# Seconds by which Dask's idea of the scheduler's clock may jump back between two lines of
# one process, which must not change places for it.
_JITTER = 1.0
TakePrinted = Callable[[str, int], None]
"""Takes what was printed, line by line, with the thread that printed it."""
# Several taps of one process (of several copies of this module, even) speak for the same
# source: together they count its lines, so that a gap is a loss.
_COUNTS: dict[tuple[str, str, int], Iterator[int]]
_COUNTS = vars(logging).setdefault("_dask_blackbox_counts", {})
_MOST_COUNTS = 500
# Schedulers of several clusters in one process (a flow and its subflow) use the same loggers,
# each in the thread of its own event loop.
_LOOPS: dict[int, tuple[threading.Thread, list[str]]]
_LOOPS = vars(logging).setdefault("_dask_blackbox_loop_threads", {})
"""Threads in which recorded schedulers and nannies run, and the marks of their recordings.

They stay when their recordings have ended: what a cluster logs as it closes is nobody else's.
"""
# To ask the system for it takes as long as everything else about a line but its writing.
PROCESS = [os.getpid()]
"""Id of this process, the only item: a call of the system for each line costs too much."""


def _forked() -> None:
    PROCESS[0] = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def plain(text: str) -> str:
    """Return `text` without lone surrogates, which cannot be encoded.

    One of them in a message would take down the worker's own stream to the scheduler.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_LONGEST_WORD = 4_096


def cut(text: str, longest: int) -> str:
    """Return the start of `text`, and how much of it that leaves out.

    It ends between words: nothing tells that a part of a secret is one.
    """
    if len(text) <= longest:
        return text
    kept = text[: _end_of_word(text, longest)]
    return f"{kept} … cut {len(text) - len(kept)} characters"


def cut_within(text: str, longest: int) -> str:
    """Return the beginning and the end of `text`, and how much between them that leaves out.

    A traceback begins with the user's own lines and ends with what was raised: that of functions
    which call each other endlessly has thousands of lines between.  What is kept are whole words
    and, of the end, whole lines.
    """
    if len(text) <= longest:
        return text
    place = _end_of_word(text, longest // 4)
    line = text.find("\n", len(text) - (longest - place))
    if line in (-1, len(text) - 1):  # no line begins there
        return cut(text, longest)
    return f"{text[:place]}\n… cut {line + 1 - place} characters\n{text[line + 1 :]}"


def _end_of_word(text: str, at: int) -> int:
    """Return where a word ends at or before a place; that place itself, within a very long word."""
    if text[at].isspace():
        return at
    begin = max(at - _LONGEST_WORD, 0)
    blank = max(text.rfind(each, begin, at) for each in " \n\t")
    return at if blank < 0 else blank


def role_of(logger: str, otherwise: str) -> str:
    """Return whose line it is where several roles share one process (LocalCluster)."""
    if logger.startswith("distributed.nanny"):
        return "nanny"
    if logger.startswith(("distributed.scheduler", "distributed.shuffle._scheduler")):
        return "scheduler"
    if logger.startswith("distributed.worker") and otherwise != "nanny":
        return "worker"
    return otherwise


_taps: list[LogTap] = []
_inner: Any = None


def closing_signal(row: list[Any]) -> str | None:
    """Return `signal-<number>` of a line in which Dask says that one made it close, or None."""
    found = _SIGNALLED.search(row[7]) if row[5] == "distributed._signals" else None
    return f"signal-{found[1]}" if found else None


def _is_installed() -> bool:
    """Return whether the hook of this module is in place, perhaps below that of another copy.

    The driver's and the one that a scheduler or worker in its process was sent end in any
    order: each would be wrapped again and again.
    """
    hook: Any = logging.Logger.callHandlers
    while hook is not None and getattr(hook, "_taps", None) is not _taps:
        hook = getattr(hook, "_below", None)
    return hook is not None


def _install() -> None:
    global _inner
    if _is_installed():
        return
    inner = logging.Logger.callHandlers

    def call_handlers(self: logging.Logger, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING or not _is_kept_back(self, record.levelno):
            for tap in tuple(_taps):
                tap.consider(record)
        inner(self, record)

    call_handlers._taps, call_handlers._below = _taps, inner  # type: ignore[attr-defined]
    _inner, logging.Logger.callHandlers = inner, call_handlers  # type: ignore[method-assign]


def _is_kept_back(logger: logging.Logger, level: int) -> bool:
    """Return whether a logger keeps its lines to handlers of which none takes this level.

    The kernel of a notebook logs each cell with its code like that, for nobody to see.
    """
    above: logging.Logger | None = logger
    handlers: list[logging.Handler] = []
    while above is not None and above.propagate:
        handlers += above.handlers
        above = above.parent
    if above is None:  # what comes to the root is the job's, whatever shows it
        return False
    handlers += above.handlers
    return bool(handlers) and all(level < each.level for each in handlers)


def _uninstall() -> None:
    # If ours has been wrapped since, it stays and passes everything on.
    ours = getattr(logging.Logger.callHandlers, "_taps", None) is _taps
    if not _taps and ours and _inner is not None:
        logging.Logger.callHandlers = _inner  # type: ignore[method-assign]


class LogTap:
    """Turns records into `log` rows and hands them to `sink`.

    Args:
        mark: Name of the recording: a record that another tap of the same recording has
            already taken (several roles in one process) is not taken twice.
        source: Returns its address, given the role that a line has.
        sink: Takes a row; must not block.
        key_of_thread: Returns the key of the task that a thread is running, or None.
        delay: Returns seconds to add to get the scheduler's clock.
        mask: Blanks out what only this process knows to be secret, given a text.
        records: Takes each record after its row.
    """

    def __init__(
        self,
        mark: str,
        role: str,
        source: Callable[[str], str],
        sink: Callable[[list[Any]], None],
        *,
        key_of_thread: Callable[[int], str | None] = lambda thread: None,
        delay: Callable[[], float] = lambda: 0.0,
        mask: Callable[[str], str] | None = None,
        records: Callable[[logging.LogRecord], None] | None = None,
    ) -> None:
        self._mark = "_dask_blackbox_" + mark
        self._role, self._source, self._sink = role, source, sink
        self._key_of_thread, self._delay = key_of_thread, delay
        self._mask, self._records = mask, records
        self._pid, self.at = os.getpid(), 0.0
        self._known: dict[str, tuple[str, Iterator[int]]] = {}
        self._busy = threading.local()
        self._names: tuple[str, ...] = ()
        self._streams: list[tuple[str, _Tee]] = []
        self._plain = logging.Formatter("%(message)s")
        self._floods: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._marks: list[str] = []  # of the recordings of this thread's event loop

    def attach(self, *names: str) -> None:
        """Listen to the loggers of these names and below (none: to all)."""
        self._names = names
        if self._role in ("scheduler", "nanny"):
            self._enter_loop()
        _taps.append(self)
        _install()

    def attach_streams(
        self,
        taking: Callable[[str, int], TakePrinted] | None = None,
        names: tuple[str, ...] = ("stdout", "stderr"),
    ) -> None:
        """Read what is printed, without changing it.

        Args:
            taking: Returns what takes the lines of a stream, given its name and the level
                of its lines; None: they are handed over as those of loggers are.
            names: Of the streams.
        """
        for name in names:
            if getattr(sys, name) is None:  # a daemon without any
                continue
            level = logging.INFO if name == "stdout" else logging.WARNING
            take = (taking or self._taking)(name, level)
            tee = _Tee(getattr(sys, name), take, self._role)
            setattr(sys, name, tee)
            self._streams.append((name, tee))

    def detach(self) -> None:
        """Stop listening."""
        if self in _taps:
            _taps.remove(self)
        self._leave_loop()
        for kind in list(self._floods):
            self._flood_is_over(kind, time.time())
        _uninstall()
        for name, tee in self._streams:
            if getattr(sys, name) is tee:  # else someone wrapped ours: leave theirs
                inner = tee.inner
                while getattr(inner, "muted", False) is True:
                    # One that a recording set, which ended while ours continued.
                    inner = inner.inner
                setattr(sys, name, inner)
            tee.mute()
        self._streams.clear()

    def consider(self, record: logging.LogRecord) -> None:
        """Record a log record, unless it was recorded already."""
        if self._names and not record.name.startswith(self._names):
            return
        if getattr(self._busy, "now", False) or record.__dict__.get(self._mark):
            return
        if record.name.startswith(_OURS) or self._is_of_another(record):
            return
        record.__dict__[self._mark] = True
        self._busy.now = True
        try:
            dasks = record.name.startswith(_MAY_FLOOD) and not self._is_of_task(record)
            if dasks and self._floods_us(record):
                return
            text = self._plain.format(record)
            role = role_of(record.name, self._role)
            self.take(
                record.created, role, record.name, record.levelno, text, record.thread
            )
            if self._records is not None:
                self._records(record)
        except Exception:  # a log line must never hurt the one who logs
            pass
        finally:
            self._busy.now = False

    def _is_of_task(self, record: logging.LogRecord) -> bool:
        """Return whether a task uses a logger of Dask's: then it is no line of Dask's."""
        thread = record.thread
        return thread is not None and self._key_of_thread(thread) is not None

    def _is_of_another(self, record: logging.LogRecord) -> bool:
        """Return whether it comes from a scheduler or nanny that only others record."""
        thread, marks = _LOOPS.get(record.thread or 0, (None, ()))
        # Of a thread that has ended, another one may have the number by now.
        if thread is None or self._mark in marks or not thread.is_alive():
            return False
        return bool(role_of(record.name, ""))

    def _enter_loop(self) -> None:
        for number, (thread, _) in list(_LOOPS.items()):
            if not thread.is_alive():
                _LOOPS.pop(number, None)
        own: tuple[threading.Thread, list[str]] = (threading.current_thread(), [])
        _, self._marks = _LOOPS.setdefault(get_ident(), own)
        self._marks.append(self._mark)

    def _leave_loop(self) -> None:
        if self._mark in self._marks:
            self._marks.remove(self._mark)

    def _floods_us(self, record: logging.LogRecord) -> bool:
        """Return whether Dask has logged similar lines too often within this second."""
        text = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
        kind = (record.name, _NUMBER.sub("#", text[:200]))
        second = int(record.created)
        since, count, left_out = self._floods.get(kind, (second, 0, 0))
        if second == since and count >= _A_SECOND:
            self._floods[kind] = (since, count, left_out + 1)
            return True
        if second != since:
            self._flood_is_over(kind, record.created)
            count = 0
        if len(self._floods) > _MOST_KINDS:
            self._floods.clear()
        self._floods[kind] = (second, count + 1, 0)
        return False

    def _flood_is_over(self, kind: tuple[str, str], at: float) -> None:
        _, _, left_out = self._floods.pop(kind, (0, 0, 0))
        if left_out:
            logger, message = kind
            text = f"… {left_out} more lines like this within a second: {message}"
            role = role_of(logger, self._role)
            self.take(at, role, logger, logging.WARNING, text, None)

    def take(  # noqa: PLR0917
        self,
        at: float,
        role: str,
        logger: str,
        level: int,
        text: str,
        thread: int | None,
    ) -> None:
        """Emit one line."""
        if self._pid != PROCESS[0]:  # a forked child speaks for itself
            return
        if len(text) > LONGEST or not text.isascii():
            text = plain(cut_within(text, LONGEST))
        source, numbers = self.numbered(role)
        if self._mask is not None:
            text = self._mask(text)
        key = None if thread is None else self._key_of_thread(thread)
        at = self.not_before_last(at + self._delay())
        self._sink(
            [at, role, source, self._pid, next(numbers), logger, level, text, key]
        )

    def not_before_last(self, at: float) -> float:
        """Return the moment of a line, which is not before the one before it."""
        if 0 < self.at - at < _JITTER:
            at = self.at
        self.at = at
        return at

    def numbered(self, role: str) -> tuple[str, Iterator[int]]:
        """Return the source of the lines of a role, and their numbers."""
        found = self._known.get(role)
        if found is None:
            source = self._source(role)
            who = (self._mark, source, self._pid)
            numbers = _COUNTS.get(who) or _COUNTS.setdefault(who, count(1))
            # The oldest are those of ended recordings.
            while len(_COUNTS) > _MOST_COUNTS:
                _COUNTS.pop(next(iter(_COUNTS)), None)
            found = self._known[role] = (source, numbers)
        return found

    def _taking(self, name: str, level: int) -> TakePrinted:
        def take(line: str, thread: int) -> None:
            if not line.isspace():
                self.take(time.time(), self._role, name, level, line, thread)

        return take


class _Begun(dict):  # type: ignore[type-arg]  # this runs on any Python
    """The part of its current line that each thread has written."""

    def go_on(self, text: str, thread: int) -> None:
        """Add a piece without an end of line."""
        if len(self) > _MOST_THREADS:  # some ended without ending their line
            self.clear()
        self[thread] = (self.get(thread, "") + text)[-LONGEST:]

    def ended(self, text: str, thread: int) -> list[str]:
        """Return the lines that a piece ends; keep the beginning of the next one."""
        *whole, rest = (self.pop(thread, "") + text).split("\n")
        self.go_on(rest, thread)
        return [line for line in whole if line]


def _writing(tee: _Tee, take: TakePrinted) -> Callable[[str], int]:
    """Return what writes to a stream: `print` calls it twice for each line, and waits."""
    begun, inner = _Begun(), tee.inner

    def write(text: str) -> int:
        written: int = inner.write(text)
        if tee.muted:
            return written
        try:
            thread = get_ident()
            if text == "\n":  # as `print` ends a line; logging writes whole lines
                line = begun.pop(thread, "")
                if line:
                    take(line, thread)
            elif "\n" not in text:
                if thread in begun or len(text) > LONGEST:
                    begun.go_on(text, thread)
                else:
                    begun[thread] = text
            elif not _inside_logging():  # what that prints has been taken as a record
                for line in begun.ended(text, thread):
                    take(line, thread)
        except Exception:
            pass
        return written

    return write


class _Tee:
    """A stream that passes everything on and hands over a copy of whole lines.

    Python looks up special methods on the class: those of a stream are here, as programs
    write `with open(path) if path else sys.stdout as out`.
    """

    def __init__(self, inner: Any, take: TakePrinted, role: str) -> None:
        self.inner, self.role = inner, role
        self.muted = False
        self.write = _writing(self, take)

    def mute(self) -> None:
        """Hand over nothing more.

        Threads and handlers that were made meanwhile hold this stream for as long as they
        live, and must not hold the recording.
        """
        self.muted = True
        self.write = self._pass_on

    def _pass_on(self, text: str) -> int:
        written: int = self.inner.write(text)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for `isinstance(sys.stdout, io.TextIOBase)`
        return self.inner.__class__  # type: ignore[no-any-return]

    def __enter__(self) -> Any:
        self.inner.__enter__()
        return self

    def __exit__(self, *error: object) -> object:
        return self.inner.__exit__(*error)

    def __iter__(self) -> Any:
        return iter(self.inner)

    def __next__(self) -> object:
        return next(self.inner)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # As cloudpickle does with the streams themselves: the process that loads it has its own.
        for name in ("stdout", "stderr"):
            if getattr(sys, name, None) is self:
                return getattr, (sys, name)
        return self.inner.__reduce_ex__(protocol)


def _inside_logging() -> bool:
    frame: Any = sys._getframe(2)
    for _ in range(4):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == "logging":
            return True
        frame = frame.f_back
    return False
