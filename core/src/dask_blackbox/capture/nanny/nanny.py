"""The nanny's part: see a worker's process end, and report it.

Dask has no hook for that, so attributes of the nanny and of its process are wrapped; they have
been there, under these names, through all versions that we support.  Where they are missing
the worker's death is recorded without an exit report, and that is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable

from distributed.diagnostics.plugin import NannyPlugin

from ..logs import LogTap, closing_signal
from ..process import waiting_of
from ..rpc_handlers import Handler
from ..worker.fault_stacks import FROZEN
from .native_stacks import native_stack
from .worker_exit import (
    cpu_of_threads,
    executing_in,
    exit_report,
    forget_ring,
    leave_rings,
    oom_counts,
    oom_kills_since,
    ring_folder,
    rings_of_dead_processes,
    save_exit_report,
    state_of_process,
)

if TYPE_CHECKING:
    from distributed import Nanny

_CLOSING_STATES = ("closing", "closed", "failed", "stopping", "stopped")
_SAYING, _CLOSE_TIMEOUT = 5.0, 1.0  # seconds
_LISTENERS = "_dask_blackbox_listeners"
_FIRST_LOOK, _MOST_LOOKS = (
    10.0,
    8,
)  # seconds; each look is twice as late as the one before
_LOOKING = 0.4  # seconds for which a worker's process is watched
_CRASHES = (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT)
_WRITING = 0.1  # seconds: a worker that is about to be killed writes its stacks
_WRAPPED = ("_on_worker_exit_sync", "instantiate", "kill")


class NannyCapture(NannyPlugin):
    """Listens inside a nanny; ships to the topic of one recording."""

    restart = False

    def __init__(
        self, name: str, recording: str, *, native_stacks: bool = False
    ) -> None:
        self.name = name
        self.native_stacks = native_stacks
        self._recording = recording

    def setup(self, nanny: Nanny) -> None:
        self._nanny = nanny
        self._folder = ring_folder(self._recording)
        self._reasons: list[str] = []
        self._killed: dict[str, object] | None = None
        self._sending: set[Any] = set()
        self._read: set[str] = set()
        self._oom_counts = oom_counts()
        self._tap = LogTap(
            self._recording, "nanny", lambda role: str(nanny.address), self._take_line
        )
        self._tap.attach("distributed", "tornado.application")
        nanny.handlers[f"{self.name}-process"] = Handler(self.worker_process)
        _listen(nanny, self)

    async def worker_process(self) -> dict[str, object]:
        """Return the state of the worker's process, which does not answer (a handler)."""
        pid = self._nanny.process.pid if self._nanny.process is not None else None
        if pid is None:
            return {}
        watched = _Watched()
        watched.begin(pid)
        await asyncio.sleep(_LOOKING)
        facts = await _with_native_stack(watched.state_of(pid), pid, [self])
        loop = asyncio.get_running_loop()
        executing = await loop.run_in_executor(
            None, executing_in, self._folder, str(self._nanny.address)
        )
        return {**facts, "executing": executing}

    def teardown(self, nanny: Nanny) -> object:
        process = getattr(nanny, "process", None)
        alive = process is not None and process.is_alive()
        if nanny.status.name in _CLOSING_STATES and alive:
            # A nanny takes off its plugins before it ends its worker: we see that too.
            self._wrap_last_kill(nanny)
            return None
        return self._finish_sending(nanny)

    async def _finish_sending(self, nanny: Nanny) -> None:
        """Send pending reports for a moment, then remove everything of ours."""
        if self._sending:
            _, late = await asyncio.wait(tuple(self._sending), timeout=_CLOSE_TIMEOUT)
            for each in late:
                each.cancel()
            if late:
                await asyncio.wait(late, timeout=_CLOSE_TIMEOUT)
        self._tap.detach()
        nanny.handlers.pop(f"{self.name}-process", None)
        leave_rings(self._recording)
        _stop_listening(nanny, self)

    def _wrap_last_kill(self, nanny: Nanny) -> None:
        inner: Callable[..., Awaitable[object]] = nanny.kill

        async def kill(*args: object, **kwargs: object) -> object:
            try:
                return await inner(*args, **kwargs)
            finally:
                await self._finish_sending(nanny)

        nanny.__dict__["kill"] = kill

    def worker_exited(self, exitcode: int) -> None:
        """Report that the nanny's worker has ended."""
        try:
            self._report_exit(exitcode)
        except Exception as error:
            self.failed("exit report", error)

    def failed(self, doing: str, error: Exception) -> None:
        """Report a failure of our own."""
        self._send({"failed": f"{doing}: {error!r}"})

    def worker_starting(self, facts: dict[str, object]) -> None:
        """Report that the nanny's worker has not started yet."""
        self._send({"starting": facts})

    def worker_killed(self, reason: str) -> None:
        """Note that the nanny itself ends its worker: then its exit is no death."""
        self._reasons.append(reason)

    def unresponsive_killed(self, facts: dict[str, object]) -> None:
        """Note in what state its worker was, which did not end when the nanny asked it to."""
        self._killed = facts

    def _report_exit(self, exitcode: int) -> None:
        reasons, self._reasons = self._reasons, []
        killed, self._killed = self._killed, None
        if killed is not None and exitcode in _CRASHES:
            # Stacks are written without a lock: that can fail, and it was about to be killed.
            exitcode = -signal.SIGKILL
        new_kills = oom_kills_since(self._oom_counts)
        self._oom_counts = oom_counts()
        facts: dict[str, Any] = {
            "asked_to_close": bool(reasons),
            "close_reason": reasons[0] if reasons else None,
            **new_kills,
            "when_killed": killed,
            "nanny": str(self._nanny.address),
            "observed_at": time.time(),
        }
        # Whose end this is must be clear now: the next one may follow at once.
        dead = rings_of_dead_processes(self._folder, facts["nanny"])
        rings = [ring for ring in dead if ring not in self._read]
        self._read.update(rings)
        # Aside: in a LocalCluster this is the scheduler's event loop, too.
        self._later(self._send_exit_reports(rings, exitcode, facts))

    async def _send_exit_reports(
        self, rings: list[str], exitcode: int, facts: dict[str, object]
    ) -> None:
        def read() -> list[tuple[str, dict[str, object]]]:
            made = [(ring, exit_report(ring, exitcode, **facts)) for ring in rings]
            for ring, report in made:
                # If no scheduler listens any more, a recorder on this host reads it.
                save_exit_report(ring, report)
            return made

        found = await asyncio.get_running_loop().run_in_executor(None, read)
        if not found:
            facts |= {"exit_code": exitcode, "pid": None, "worker": None}
            await self._log_event({"exit_report": facts})
        for ring, report in found:
            await self._log_event({"exit_report": report})
            forget_ring(ring)

    def _take_line(self, row: list[Any]) -> None:
        if signalled := closing_signal(row):
            # `dask spec` closes then without sending why.
            self._reasons.insert(0, signalled)
        self._send({"rows": {"log": [row]}, "dropped": 0})

    def _send(self, message: dict[str, object]) -> None:
        # From whichever thread: the nanny's loop is the only one that may talk.
        loop = self._nanny.loop
        try:
            loop.add_callback(self._send_later, message)
        except Exception:  # the loop is closed; the ring's file stays for the recorder
            pass

    def _send_later(self, message: dict[str, object]) -> None:
        self._later(self._log_event(message))

    def _later(self, work: Any) -> None:
        sending = asyncio.ensure_future(work)
        self._sending.add(sending)
        sending.add_done_callback(self._message_sent)

    def _message_sent(self, sending: Any) -> None:
        self._sending.discard(sending)
        if not sending.cancelled():
            sending.exception()  # noted nowhere: the scheduler is gone

    async def _log_event(self, message: dict[str, Any]) -> None:
        logged = self._nanny.scheduler.log_event(topic=self.name, msg=message)
        await asyncio.wait_for(logged, _SAYING)


def _listen(nanny: Nanny, capture: NannyCapture) -> None:
    """Report the exits of a nanny's workers to all recordings."""
    listeners = nanny.__dict__.get(_LISTENERS)
    if listeners is None:
        listeners = nanny.__dict__[_LISTENERS] = []
        _wrap(nanny, listeners)
    listeners.append(capture)


def _stop_listening(nanny: Nanny, capture: NannyCapture) -> None:
    listeners = nanny.__dict__.get(_LISTENERS) or []
    if capture in listeners:
        listeners.remove(capture)
    if listeners:
        return
    for name in (_LISTENERS, *_WRAPPED):
        nanny.__dict__.pop(name, None)
    process = getattr(nanny, "process", None)
    if process is not None:
        process.on_exit = nanny._on_worker_exit_sync
        process.__dict__.pop("kill", None)
        getattr(process.process, "__dict__", {}).pop("kill", None)


def _wrap(nanny: Nanny, listeners: list[NannyCapture]) -> None:
    exited: Callable[[int], object] = nanny._on_worker_exit_sync
    instantiated: Callable[..., Awaitable[object]] = nanny.instantiate

    def on_exit(exitcode: int) -> object:
        for each in tuple(listeners):
            each.worker_exited(exitcode)
        return exited(exitcode)

    async def instantiate(*args: object, **kwargs: object) -> object:
        watching = asyncio.ensure_future(_watch_start(nanny, listeners))
        try:
            result = await instantiated(*args, **kwargs)
        finally:
            watching.cancel()
        _wrap_kill(getattr(nanny, "process", None), listeners)
        return result

    nanny.__dict__["_on_worker_exit_sync"] = on_exit
    nanny.__dict__["instantiate"] = instantiate
    process = getattr(nanny, "process", None)
    if process is not None:
        process.on_exit = on_exit
    _wrap_kill(process, listeners)


async def _watch_start(nanny: Nanny, listeners: list[NannyCapture]) -> None:
    """Report what a worker waits for that does not start: a preload may not return."""
    began, pause = time.monotonic(), _FIRST_LOOK
    loop = asyncio.get_running_loop()
    for _ in range(_MOST_LOOKS):
        await asyncio.sleep(began + pause - time.monotonic())
        pause *= 2
        pid = getattr(getattr(nanny, "process", None), "pid", None)
        if pid is None:
            continue
        try:
            facts = await loop.run_in_executor(None, waiting_of, pid)
        except Exception as error:  # nobody waits for this task, who would receive it
            for each in tuple(listeners):
                each.failed("what a worker that starts waits for", error)
            return
        facts |= {"pid": pid, "lasted": round(time.monotonic() - began, 3)}
        for each in tuple(listeners):
            each.worker_starting({**facts, "nanny": str(nanny.address)})


def _wrap_kill(worker: Any, listeners: list[NannyCapture]) -> None:
    """Note why a nanny ends its worker, and in what state a worker is that it has to kill.

    Args:
        worker: The nanny's `WorkerProcess`.
    """
    if worker is None or "kill" in worker.__dict__:
        return
    inner, watched = worker.kill, _Watched()

    async def kill(*args: object, **kwargs: object) -> object:
        for each in tuple(listeners):
            each.worker_killed(str(kwargs.get("reason", "asked")))
        watched.begin(worker.pid)
        return await inner(*args, **kwargs)

    worker.kill = kill
    process: Any = getattr(worker, "process", None)
    kill_process: Callable[[], Awaitable[object]] | None
    kill_process = getattr(process, "kill", None)
    if FROZEN is None or kill_process is None:
        return

    async def look_and_kill() -> object:
        try:
            seen = watched.state_of(process.pid)
            facts = await _with_native_stack(seen, process.pid, listeners)
            for each in tuple(listeners):
                each.unresponsive_killed(facts)
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(process.pid, FROZEN)
                await asyncio.sleep(_WRITING)
        except Exception as error:
            for each in tuple(listeners):
                each.failed("the state of a worker that is killed", error)
        return await kill_process()

    def kill_later() -> object:
        # A task and no coroutine, and held here: Dask does not always wait for it.
        watched.killing = asyncio.ensure_future(look_and_kill())
        return watched.killing

    process.kill = kill_later


async def _with_native_stack(
    facts: dict[str, object], pid: int, listeners: list[NannyCapture]
) -> dict[str, object]:
    """Return the fields of `ProcessState` with what py-spy sees, if a recording wants it."""
    if not any(each.native_stacks for each in listeners):
        return facts
    loop, busy = asyncio.get_running_loop(), facts.get("busy_thread")
    return {**facts, **await loop.run_in_executor(None, native_stack, pid, busy)}


class _Watched:
    """Since when a process is watched, and how much CPU time its threads had used by then."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._cpu: dict[int, float] = {}
        self.killing: object = None

    def begin(self, pid: int | None) -> None:
        """Take this moment."""
        self._at, self._cpu = time.monotonic(), cpu_of_threads(pid)

    def state_of(self, pid: int) -> dict[str, object]:
        """Return the fields of `ProcessState`."""
        facts: dict[str, object] = {"state": state_of_process(pid)}
        used = {
            thread: seconds - self._cpu.get(thread, 0.0)
            for thread, seconds in cpu_of_threads(pid).items()
        }
        if self._at is not None and self._cpu and used:
            waited = time.monotonic() - self._at
            facts |= {"watched": round(waited, 3), "cpu": round(sum(used.values()), 3)}
            busiest = max(used, key=lambda thread: used[thread])
            if used[busiest] > waited / 2:
                facts["busy_thread"] = busiest
        return facts
