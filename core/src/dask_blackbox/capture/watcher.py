"""The nanny's part where no nanny is: a small child process that outlives its worker.

It holds nothing but the standard library until the worker dies; then it reads the ring,
and says how it ended.  It is not the worker's parent, so the exit code is known only if
it looks before the parent does.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import time
from typing import IO, Any, cast

from .certificate import certify, forget_ring, keep_certificate, oom_kills

__all__ = ["Watcher", "watch"]

_START = """
import pickle, sys
boot, names, told = pickle.load(sys.stdin.buffer)
exec(boot, names)
names["make"](**told)
"""
_SAYING = 10.0


class Watcher:
    """The worker's end: starts the child, and tells it when nothing is to be watched.

    Args:
        package: The package that these modules make up where they run.
        worker: The worker.
        ring: Path of its ring.
        topic: Where a certificate goes.
    """

    def __init__(self, package: Any, worker: Any, ring: str, topic: str) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - our own text
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a signal to the worker's group is not for us
        )
        config = {
            "pid": os.getpid(),
            "ring": ring,
            "topic": topic,
            "scheduler": str(worker.scheduler.address),
            "security": _security_of(worker),
        }
        told = {
            **package.shipment,
            "module": "watcher",
            "name": "watch",
            "config": config,
        }
        self._pipe = cast("IO[bytes]", self._child.stdin)
        self._pipe.write(pickle.dumps((package.boot, {}, told)))
        self._pipe.flush()

    def dismiss(self) -> None:
        """End the child: the worker closes in good order, or lives on unrecorded."""
        try:
            self._pipe.write(b"bye")
            self._pipe.close()
            self._child.wait(2)
        except (OSError, subprocess.TimeoutExpired):
            self._child.kill()
            self._child.wait()


def _security_of(worker: Any) -> dict[str, Any]:
    names = ("tls_ca_file", "tls_worker_cert", "tls_worker_key", "require_encryption")
    values = ((name, getattr(worker.security, name, None)) for name in names)
    return {name: value for name, value in values if value}


def watch(
    pid: int, ring: str, topic: str, scheduler: str, security: dict[str, Any]
) -> None:
    """Wait for a process to die, and certify it (the child's main function)."""
    kills = oom_kills(pid) or 0
    if not _wait_for_the_end(pid):
        return
    exit_code = _exit_code_of_a_zombie(pid)
    facts = certify(
        ring,
        exit_code,
        by="watcher",
        at=time.time(),
        asked_to_close=False,
        oom_kills=(oom_kills() or 0) - kills,
    )
    import asyncio

    try:
        asyncio.run(_say(scheduler, security, topic, {"certificate": facts}))
    except Exception:
        keep_certificate(ring, facts)
        return
    forget_ring(ring)


def _wait_for_the_end(pid: int) -> bool:
    """Return true when the process has died, false when there is nothing to watch."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        # No such call here: the pipe's end of file has to do.
        return sys.stdin.buffer.read() != b"bye"
    while True:
        ready, _, _ = select.select([handle, sys.stdin.fileno()], [], [])
        if handle in ready:
            return True
        if os.read(sys.stdin.fileno(), 16) == b"bye":
            return False
        # The pipe is closed and the process not yet gone: the other one will tell.
        select.select([handle], [], [], 5.0)
        return True


def _exit_code_of_a_zombie(pid: int) -> int | None:
    """Return how a process ended, if its parent has not asked yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    if fields[0] != "Z":
        return None
    status = int(fields[49])
    return -(status & 0x7F) if status & 0x7F else status >> 8


async def _say(
    scheduler: str, security: dict[str, Any], topic: str, message: dict[str, Any]
) -> None:
    import asyncio

    from distributed.core import rpc
    from distributed.security import Security

    args = Security(**security).get_connection_args("worker")
    async with rpc(scheduler, connection_args=args) as remote:
        await asyncio.wait_for(remote.log_event(topic=topic, msg=message), _SAYING)
