"""Limits of a process that finalises a recording, which the kernel enforces.

A recording can contain what takes for ever to diagnose: a text, a rule of a user, a table.
Whatever holds the interpreter then, the kernel ends the process: the recording remains in
the spool, where its attempts are counted, and the third one makes no diagnosis.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from dask_blackbox.errors import BlackboxError
from dask_blackbox.protocol.messages import Limits

MOST_ATTEMPTS = 2
"""Attempts to diagnose a recording; the next one only finishes it."""
EXPECTED = (BlackboxError, OSError, KeyboardInterrupt, SystemExit)
"""What ends an attempt without being the recording's fault."""
NICENESS = 10
_OOM_SCORE = 500
"""What is added to the score by which the kernel chooses a process when memory is short."""


@contextlib.contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Let the kernel end this process if the body exceeds a limit.

    In another thread than the main one, which cannot set what signals do, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGXCPU, signal.SIGALRM)
    }
    with contextlib.ExitStack() as lifted:
        # What the kernel would write of it to the disk holds secrets.
        _lower(lifted, resource.RLIMIT_CORE, 0)
        if limits.cpu:
            used = time.process_time()
            _lower(lifted, resource.RLIMIT_CPU, math.ceil(used + limits.cpu))
        if limits.memory and (there := _address_space()):
            _lower(lifted, resource.RLIMIT_AS, there + limits.memory)
        signal.setitimer(signal.ITIMER_REAL, limits.time)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)


def _lower(lifted: contextlib.ExitStack, kind: int, limit: int) -> None:
    soft, hard = resource.getrlimit(kind)
    known = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (min([limit, *known]), hard))
        lifted.callback(resource.setrlimit, kind, (soft, hard))


def _address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()


def lower_priority() -> None:
    """Let other processes go first."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)


def offer_to_oom_killer() -> None:
    """Let the kernel end this process before the driver when memory is short."""
    path = Path("/proc/self/oom_score_adj")
    with contextlib.suppress(OSError, ValueError):
        path.write_text(str(min(1000, int(path.read_text()) + _OOM_SCORE)))


def put_aside(attempts: int, limits: Limits) -> str | None:
    """Return why a recording is not diagnosed any more; None if it is.

    Args:
        attempts: How many have begun, this one included.
    """
    if attempts <= MOST_ATTEMPTS:
        return None
    return (
        f"{MOST_ATTEMPTS} attempts ended before they were done (limits of an attempt: "
        f"{limits.cpu:.0f} s of CPU time, {limits.time:.0f} s, "
        f"{limits.memory / 2**20:.0f} MiB)"
    )
