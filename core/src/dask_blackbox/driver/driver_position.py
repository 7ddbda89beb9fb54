"""The line at which the driver is blocked, reported while it is, since it may be killed.

A driver that hangs in `Client(…)`, in `client.run` or in `Queue.get` raises nothing, and
a host's time limit that ends it leaves no traceback.  So a thread looks at the
user's own line now and then, and reports it when it has been there for long, with growing
intervals.  It reads frames and nothing else: no lock of the driver's, no I/O but its lines.
When the thread that drove the run has ended, such as that of an event loop, it looks at the
process's main thread, which may wait for it.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from dask_blackbox.capture import programs
from dask_blackbox.capture.driver.cells import in_cells
from dask_blackbox.capture.driver.client_calls import scheduler_file_of
from dask_blackbox.capture.user_frames import is_console_script, is_foreign, is_ours
from dask_blackbox.guard import guard

_OFTEN, _SELDOM = 0.5, 5.0
_DEEPEST = 400
_INNERMOST, _USERS = 12, 8
_CLIENT = f"distributed{os.sep}client.py"
_OF_A_THREAD = 0b110  # of Linux: per thread, and the time that it had a core
_CONNECTING = ("newly-created", "connecting")


class DriverPositionWatcher(threading.Thread):
    """Looks at a thread of this process until it is asked to stop.

    Args:
        thread: Identity of the thread that drives the run.
        after: Seconds at one line that are worth a report; 0 for never.
        report: Takes the kind of an event and its particulars; must not block.
    """

    def __init__(
        self,
        thread: int,
        after: float,
        report: Callable[[str, dict[str, object]], None],
    ) -> None:
        super().__init__(name="dask-blackbox-standing", daemon=True)
        self.thread, self._after, self._report = thread, after, report
        self._stopped = threading.Event()
        self._at: object = None
        self._since = time.monotonic()
        self._next = after
        self._connecting: dict[int, float] = {}
        self._object = _thread_of(thread)
        self._other_ended = False
        self._clock = _cpu_clock_of(thread)
        self._cpu = _read(self._clock)

    def start(self) -> None:
        """Start the thread, unless the setting disables it."""
        if self._after > 0:
            super().start()

    def stop(self) -> None:
        """Stop; does not wait for the thread."""
        self._stopped.set()

    def run(self) -> None:
        """Sample the driver's thread periodically."""
        pause = min(max(self._after / 4, _OFTEN), _SELDOM)
        with guard("where the driver is"):
            while not self._stopped.wait(pause):
                self.check(time.monotonic())
                programs.note_ends()

    def check(self, now: float) -> None:
        """Sample once.

        Args:
            now: Seconds on a clock that only goes forward.
        """
        self._look_at_the_living()
        frames = _frames_of(sys._current_frames().get(self.thread))  # noqa: SLF001
        connecting = self._clients(frames, now)
        own = [frame for frame in frames if _is_the_users(frame)]
        at = (
            [(f.f_code.co_filename, f.f_lineno) for f in own or frames],
            bool(connecting),
        )
        if at != self._at:
            if self._next > self._after:
                self._report("driver-unblocked", {"lasted": now - self._since})
            self._at, self._since, self._next = at, now, self._after
            self._cpu = _read(self._clock)
        lasted = now - self._since
        if lasted >= self._next:
            self._next = max(self._next, lasted) * 2
            reported = {
                "lasted": lasted,
                "stack": _stack(frames),
                "connecting": connecting,
                "cpu": self._cpu_meanwhile(),
                "other_ended": self._other_ended,
            }
            self._report("driver-blocked", reported)

    def _look_at_the_living(self) -> None:
        """Look at the main thread from now on, if the thread that drove the run has ended."""
        main = threading.main_thread()
        # The identity of a thread that has ended may be given to another one.
        ended = self._object is not None and _thread_of(self.thread) is not self._object
        if not ended or self._object is main or main.ident is None:
            return
        self.thread, self._object, self._other_ended = main.ident, main, True
        self._clock = _cpu_clock_of(main.ident)

    def _cpu_meanwhile(self) -> float | None:
        now = _read(self._clock)
        return None if now is None or self._cpu is None else now - self._cpu

    def _clients(self, frames: list[FrameType], now: float) -> list[dict[str, object]]:
        """Return the addresses that clients of this process are trying to reach."""
        module = sys.modules.get("distributed.client")
        clients: set[object] = set()
        # Another thread may be importing it at this moment.
        kind = getattr(module, "Client", None)
        if kind is not None:
            with contextlib.suppress(RuntimeError):  # one comes or goes just now
                clients.update(kind._instances)  # noqa: SLF001
        # A client that is being created is known only to the frame that creates it.
        clients.update(filter(None, map(_being_made, frames)))
        trying = [c for c in clients if getattr(c, "status", "") in _CONNECTING]
        since = {id(c): self._connecting.get(id(c), now) for c in trying}
        self._connecting = since
        return [
            {
                "address": _address(client),
                "lasted": now - since[id(client)],
                "scheduler_file": scheduler_file_of(client),
            }
            for client in trying
        ]


def _thread_of(ident: int) -> threading.Thread | None:
    """Return the living thread with an identity; None: there is none that Python knows."""
    # Not `enumerate`, which takes a lock.
    living: dict[int, threading.Thread] = getattr(threading, "_active", {})
    return living.get(ident)


def _cpu_clock_of(thread: int) -> int | None:
    """Return the id of the clock that measures a living thread's time on a core.

    None where there is none.  Not by `time.pthread_getcpuclockid`: for a thread that has
    ended since, the process could crash.  Reading this clock is an error then.
    """
    found = (each.native_id for each in threading.enumerate() if each.ident == thread)
    native = next(found, None)
    if native is None or not sys.platform.startswith("linux"):
        return None
    return (~native << 3) | _OF_A_THREAD


def _read(clock: int | None) -> float | None:
    """Return the seconds on a clock; None where there is none, or the thread has ended."""
    if clock is None:
        return None
    try:
        return time.clock_gettime(clock)
    except OSError:
        return None


def _being_made(frame: FrameType) -> object:
    code = frame.f_code
    if code.co_name != "__init__" or not code.co_filename.endswith(_CLIENT):
        return None
    client = frame.f_locals.get("self")
    return client if hasattr(client, "_start_arg") else None


def _address(client: object) -> str | None:
    """Return the address that a client was given, where it is one."""
    found = getattr(client, "_start_arg", None)
    if found is not None and not isinstance(found, str):  # a cluster
        found = getattr(found, "scheduler_address", None)
    return found if isinstance(found, str) else None


def _frames_of(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of a thread, the innermost last."""
    found: list[FrameType] = []
    while frame is not None and len(found) < _DEEPEST:
        found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _is_the_users(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if is_ours(name) or is_foreign(name):
        return False
    # Else every line of a host that has not called the job yet would be that one.
    line = linecache.getline(name, frame.f_lineno)
    return not is_console_script(name, frame.f_code.co_name, line)


def _stack(frames: list[FrameType]) -> list[str]:
    """Return the most informative frames, as Python prints them: innermost, and the user's."""
    deep, innermost = frames[:-_INNERMOST], frames[-_INNERMOST:]
    own = [frame for frame in deep if _is_the_users(frame)][-_USERS:]
    return [_text(frame) for frame in (*own, *innermost)]


def _text(frame: FrameType) -> str:
    code = frame.f_code
    line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
    where = f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}'
    return in_cells(f"{where}\n\t{line}")
