"""Whether a process that reports regularly still works, and the end of one that does not.

A process that is frozen (SIGSTOP, a cgroup freezer, a disk that does not answer) keeps its
connections open, so that its end is not seen.  Here it is seen by what it does: its messages,
its use of the processor, and its state in the kernel.  The time in which this process itself
did not run is not counted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from dask_blackbox.capture.process import stat_fields
from dask_blackbox.guard import guard
from dask_blackbox.protocol.detached_process import DetachedProcess

logger = logging.getLogger("dask_blackbox")

BEAT = 1.0
"""Seconds between two messages of a recorder that has nothing else to report."""
_LOOK_INTERVAL = 0.25
_STOPPED, _STOPPED_IF_AWAITED = 3.0, 1.0
_SILENT_IF_AWAITED = 5.0
_BUSY = 6  # times as long: it uses the processor, but does not get to report
_STOPPED_STATES = ("T", "t")
_RUNNABLE = "R"
_STATE, _CPU = 0, slice(11, 13)  # in what follows the name: state; user and system time


class _Look(NamedTuple):
    """What can be seen of a process: its state, ticks of CPU time, and messages so far."""

    state: str
    cpu: int
    messages: int


class Watched(NamedTuple):
    """A process that is watched.

    Attributes:
        process: It.
        messages: How many messages it has sent so far.
    """

    process: DetachedProcess
    messages: int


class LifeWatch(threading.Thread):
    """Kills a process that shows no sign of life, so that another one can replace it.

    A stopped process is given some seconds to be continued, one that neither reports nor uses
    the processor `silent_after`, and one that only uses the processor several times that.

    Args:
        watched: Returns the process at this moment; None: there is none.
        awaited: Returns whether something waits for it, which shortens the times.
        silent_after: Seconds without a sign of life.
        before_kill: Called with what is wrong, before the process is killed.
    """

    def __init__(
        self,
        watched: Callable[[], Watched | None],
        awaited: Callable[[], bool],
        silent_after: float,
        before_kill: Callable[[str], None] = lambda _why: None,
    ) -> None:
        super().__init__(name="dask-blackbox-watch", daemon=True)
        self._watched, self._awaited = watched, awaited
        self._silent_after, self._before_kill = silent_after, before_kill
        self._over = threading.Event()
        self._pid: int | None = None
        self._last: _Look | None = None
        self._starting = 0.0
        self._stopped = self._idle = self.unheard = 0.0
        """Seconds in which it was stopped, showed no sign of life, sent no message."""

    def end(self) -> None:
        """Watch no more."""
        self._over.set()

    def run(self) -> None:
        """Watch until `end`."""
        before = time.monotonic()
        while not self._over.wait(_LOOK_INTERVAL):
            now = time.monotonic()
            # More was a pause of this process, in which the other one may have worked.
            passed, before = min(now - before, 2 * _LOOK_INTERVAL), now
            with guard("the watch over the recorder"):
                self._look(passed)

    def _look(self, passed: float) -> None:
        watched = self._watched()
        if watched is None:
            self._pid = self._last = None
            return
        pid = watched.process.pid
        if pid is None:  # it starts
            self._starting += passed
            if self._starting >= self._silent_after:
                self._end(watched.process, "has not started")
            return
        self._starting = 0.0
        look = _look_at(pid, watched.messages)
        last = self._last if pid == self._pid else None
        self._pid, self._last = pid, look
        if last is None:
            self._stopped = self._idle = self.unheard = 0.0
            return
        heard = look.messages != last.messages
        lives = heard or look.cpu != last.cpu or look.state == _RUNNABLE
        is_stopped = look.state in _STOPPED_STATES
        self._stopped = self._stopped + passed if is_stopped else 0.0
        self._idle = 0.0 if lives else self._idle + passed
        self.unheard = 0.0 if heard else self.unheard + passed
        if (why := self._why()) is not None:
            self._end(watched.process, why)

    def _end(self, process: DetachedProcess, why: str) -> None:
        self._starting, self._last = 0.0, None
        if not self._over.is_set():
            logger.warning("the recorder %s; it is ended", why)
            self._before_kill(why)
            process.kill()

    def _why(self) -> str | None:
        """Return what is wrong with the process, if it is to be ended."""
        awaited, silent_after = self._awaited(), self._silent_after
        if self._stopped >= (_STOPPED_IF_AWAITED if awaited else _STOPPED):
            return f"has been stopped (SIGSTOP or a debugger) for {self._stopped:.0f} s"
        allowed = min(silent_after, _SILENT_IF_AWAITED) if awaited else silent_after
        if self._idle >= allowed:
            return f"has shown no sign of life for {self._idle:.0f} s"
        if self.unheard >= _BUSY * silent_after:
            return f"has reported nothing for {self.unheard:.0f} s"
        return None


def is_stopped(pid: int | None) -> bool:
    """Return whether a process is stopped, as by SIGSTOP."""
    return pid is not None and _look_at(pid, 0).state in _STOPPED_STATES


def _look_at(pid: int, messages: int) -> _Look:
    fields = stat_fields(pid)
    if not fields:  # another system: there, only messages count, and that it is busy
        return _Look(_RUNNABLE, 0, messages)
    return _Look(fields[_STATE], sum(map(int, fields[_CPU])), messages)
