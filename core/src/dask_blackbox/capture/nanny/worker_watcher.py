"""Watches a worker that has no nanny: a small child process that outlives the worker.

It holds nothing but the standard library until the worker dies; then it reads the ring,
and says how it ended.  It is not the worker's parent, so on older kernels the exit code is
known only if it looks before the parent does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import time
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Callable, cast

from ..process import stat_fields
from .worker_exit import (
    exit_report,
    forget_ring,
    leave_rings,
    oom_counts,
    oom_kills_since,
    save_exit_report,
    take_exit_report,
)

if TYPE_CHECKING:
    from distributed import Worker

_START = """
import pickle, sys
boot, names, config = pickle.load(sys.stdin.buffer)
exec(boot, names)
names["make"](**config)
"""
NEEDED = ("worker.ring", "process", "memory_limits", "nanny.worker_exit", "nanny.worker_watcher")  # fmt: skip
"""The modules of ours that the child consists of."""
_SAYING, _KNOCKING = 10.0, 3.0  # seconds
_GRACE = 0.5  # seconds that a process has to end after a signal, before it is reported
_LAST = ("dead", "gone")  # words after which nothing is to be watched any more
_STANDARD = 2  # the last file descriptor of a standard stream
# From linux/pidfd.h: struct pidfd_info, its first size, and what to ask it for.
_INFO_EXIT, _INFO_SIZE = 1 << 3, 64
_GET_INFO = (3 << 30) | (_INFO_SIZE << 16) | (0xFF << 8) | 11


class Watcher:
    """The worker's end: starts the child, and ends it when nothing is to be watched.

    Args:
        package: The package that these modules make up where they run.
    """

    def __init__(self, package: Any, worker: Worker, ring: str, topic: str) -> None:
        handle = handle_of(os.getpid())
        self._child = subprocess.Popen(  # noqa: S603 - our own text
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a signal to the worker's group is not for us
            # Ours, made now: we may be gone before the child can ask for one.
            pass_fds=() if handle is None else (handle,),
        )
        if handle is not None:
            os.close(handle)
        config = {
            "pid": os.getpid(),
            "handle": handle,
            "ring": ring,
            "topic": topic,
            "scheduler": str(worker.scheduler.address),
            "security": _security_of(worker),
        }
        sources = package.shipment["sources"]
        shipment = {
            **package.shipment,
            # Others import Dask: a second of CPU and 43 MB more for each worker.
            "sources": tuple(each for each in sources if each[0] in NEEDED),
            "module": "nanny.worker_watcher",
            "name": "watch",
            "config": config,
        }
        self._pipe = cast("IO[bytes]", self._child.stdin)
        self._pipe.write(pickle.dumps((package.boot, {}, shipment)))
        self._pipe.flush()

    def tell(self, word: str) -> None:
        """Report a signal (`signal-15`) or that the worker is `gone`; never waits."""
        try:
            self._pipe.write(f"{word}\n".encode())
            self._pipe.flush()
        except (OSError, ValueError):
            pass

    def dismiss(self) -> None:
        """End the child: the worker lives on, unrecorded."""
        try:
            self.tell("bye")
            self._pipe.close()
            self._child.wait(2)
        except (OSError, subprocess.TimeoutExpired):
            self._child.kill()
            self._child.wait()


def _security_of(worker: Worker) -> dict[str, object]:
    names = ("tls_ca_file", "tls_worker_cert", "tls_worker_key", "require_encryption")
    values = ((name, getattr(worker.security, name, None)) for name in names)
    return {name: value for name, value in values if value}


def watch(
    *,
    pid: int,
    handle: int | None,
    ring: str,
    topic: str,
    scheduler: str,
    security: dict[str, object],
) -> None:
    """Wait for a process to die, and report its exit (the child's main function)."""
    kills = oom_counts(pid)
    life = _Life(pid, handle)
    reason: str | None = None
    while True:
        word = life.wait()
        if word == "bye":
            return
        if word.startswith("signal-"):
            # A worker without a nanny leaves its cluster without a message, and may live
            # on for long: its threads are waited for.
            reason = word
            word = life.wait(_GRACE)
            if word == "bye":
                return
        facts = exit_report(
            ring,
            life.exit_code,
            by="watcher",
            observed_at=time.time(),
            asked_to_close=word == "gone",
            **oom_kills_since(kills),
        )
        # The signal's handler has written a stack, and yet it was no signal that ended it.
        mild = facts["exit_code"] is None or facts["exit_code"] >= 0
        if reason is None and mild and facts["stack"].startswith(("Thread", "Current")):
            reason = f"signal-{int(signal.SIGTERM)}"
        facts["close_reason"] = reason
        if word == "":
            facts["alive"] = True
        deliver = partial(
            _delivered, scheduler, security, topic, {"exit_report": facts}
        )
        if word in _LAST:
            _report_end(ring, facts, deliver)
            return
        deliver()


def _report_end(ring: str, facts: dict[str, Any], deliver: Callable[[], bool]) -> None:
    """Deliver the last report, unless the recorder takes it on this host before.

    A busy machine takes longer to import Dask than the recorder waits.
    """
    saved = save_exit_report(ring, facts)
    with contextlib.suppress(Exception):  # then it cannot be delivered
        import distributed.core  # noqa: F401
    if saved and take_exit_report(ring) is None:
        return
    if deliver():
        forget_ring(ring)
        leave_rings(os.path.basename(os.path.dirname(ring)))
    else:
        save_exit_report(ring, facts)


class _Life:
    """The life of another process, and what it sends through our standard input."""

    def __init__(self, pid: int, handle: int | None) -> None:
        self._pid, self._received = pid, b""
        self._listening = True
        self.exit_code: int | None = None
        self._handle = handle  # where there are none, the end of file has to do

    def wait(self, timeout: float | None = None) -> str:
        """Return the next word, `dead` at the end, or nothing after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            if b"\n" in self._received:
                word, _, self._received = self._received.partition(b"\n")
                return word.decode("ascii", "replace")
            sources: list[int] = [] if self._handle is None else [self._handle]
            if self._listening:
                sources.append(sys.stdin.fileno())
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            ready, _, _ = select.select(sources, [], [], left)
            if not ready:
                return ""
            if self._handle in ready:
                self.exit_code = exit_code_of(self._pid, self._handle)
                return "dead"
            data = os.read(sys.stdin.fileno(), 256)
            self._received += data
            if not data:
                self._listening = False
                if self._handle is None:
                    return "dead"


def handle_of(pid: int) -> int | None:
    """Return a handle of a process, which shows its end; None where there is none."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
    if handle > _STANDARD:
        return handle
    # Of a process whose standard streams are closed: a child that inherits the handle would
    # have its own standard streams in this place.
    import fcntl

    try:
        return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _STANDARD + 1)
    finally:
        os.close(handle)


def exit_code_of(pid: int, handle: int | None) -> int | None:
    """Return how a process ended: negative for a signal; None if unknown.

    Newer kernels report it to every holder of a handle; older ones only while its parent has not
    asked yet.
    """
    fields = stat_fields(pid)
    status = int(fields[49]) if fields and fields[0] == "Z" else None
    if status is None and handle is not None:
        status = _status_by_handle(handle)
    if status is None:
        return None
    return -(status & 0x7F) if status & 0x7F else (status >> 8) & 0xFF


def _status_by_handle(handle: int) -> int | None:
    """Query Linux 6.15 or later (`PIDFD_GET_INFO`)."""
    import fcntl

    asked = bytearray(_INFO_SIZE)
    struct.pack_into("<Q", asked, 0, _INFO_EXIT)
    # The parent has just been notified: the kernel is about to write it.
    for _ in range(20):
        try:
            fcntl.ioctl(handle, _GET_INFO, asked)
        except OSError:
            return None
        mask, status = struct.unpack_from("<Q52xi", asked)
        if mask & _INFO_EXIT:
            return int(status)
        time.sleep(0.005)
        struct.pack_into("<Q", asked, 0, _INFO_EXIT)
    return None


def _delivered(
    scheduler: str, security: dict[str, object], topic: str, message: dict[str, object]
) -> bool:
    """Send a message to the scheduler; return whether it arrived."""
    import asyncio

    if not _accepts_connections(scheduler):
        return False
    try:
        asyncio.run(_send(scheduler, security, topic, message))
    except Exception:
        return False
    return True


def _accepts_connections(address: str) -> bool:
    """Knock: Dask would try for half a minute where nothing listens any more."""
    import socket

    from distributed.comm import parse_host_port

    scheme, _, place = address.partition("://")
    if scheme != "tcp":  # with TLS, the other side would warn of a broken handshake
        return True
    try:
        socket.create_connection(parse_host_port(place), _KNOCKING).close()
    except OSError:
        return False
    return True


async def _send(
    scheduler: str, security: dict[str, object], topic: str, message: dict[str, object]
) -> None:
    import asyncio

    from distributed.core import rpc
    from distributed.security import Security

    args = Security(**security).get_connection_args("worker")
    async with rpc(scheduler, connection_args=args) as remote:
        await asyncio.wait_for(remote.log_event(topic=topic, msg=message), _SAYING)
