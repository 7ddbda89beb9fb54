"""The end of a recording in a fork of the recorder, with limits that the kernel enforces.

A rule or a text that takes for ever ends that process and not the recorder, which can then
say why there is no diagnosis.  A fork has all that the recorder has loaded: a new process
would have to import it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from dask_blackbox.capture.process import stat_fields
from dask_blackbox.formatting import duration
from dask_blackbox.protocol.messages import Limits, Reply, decode_reply, encode
from dask_blackbox.recorder.process_limits import limited

logger = logging.getLogger("dask_blackbox.recorder")

Send = Callable[[Reply], None]

_SIGNAL_AT_PARENTS_END = 1  # `PR_SET_PDEATHSIG`, from linux/prctl.h
_THREADS_ENDING = 0.3
"""Seconds; one that is busy, with the files of another recording, takes longer."""
_STUCK, _LOOKING = 30.0, 1.0
"""Seconds without CPU time after which a fork is taken to wait for ever, and between looks."""
_OF_POLARS = re.compile(r"polars-\d|tokio-rt|async-executor")
_POLLING = 0.005
_CPU = slice(11, 13)  # user and system time in what follows a process's name


class OwnThreads:
    """The threads of this process's event loop, which have to end before a fork.

    A lock that one of them holds would stay locked in the fork.
    """

    def __init__(self) -> None:
        self._pool = self._new_pool()

    @staticmethod
    def _new_pool() -> ThreadPoolExecutor:
        pool = ThreadPoolExecutor(thread_name_prefix="dask-blackbox")
        asyncio.get_running_loop().set_default_executor(pool)
        return pool

    async def ended(self) -> bool:
        """End them; return whether this process can be forked now.

        It cannot if Python has another thread, or if polars has computed something: the
        fork would wait for ever for threads of polars that only this process has.
        """
        pool, self._pool = self._pool, self._new_pool()
        pool.shutdown(wait=False)
        deadline = time.monotonic() + _THREADS_ENDING
        while threading.active_count() > 1:
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLLING)
        return sys.platform == "linux" and not _polars_computes()


def _polars_computes() -> bool:
    names = []
    for each in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # it has just ended
            names.append(each.read_text())
    return any(_OF_POLARS.match(name) for name in names)


class Ended(NamedTuple):
    """How the work in a fork ended.

    Attributes:
        done: It was done.
        limit: Which limit it exceeded, as a sentence without its end; None: none.
    """

    done: bool
    limit: str | None


async def work_in_fork(
    work: Callable[[Send], object], limits: Limits, send: Send
) -> Ended:
    """Do something in a fork of this process, which has one thread.

    Args:
        work: Given a function that sends messages; what else it changes is lost.
        limits: Of the fork.
        send: Takes its messages, in a thread.

    Returns:
        Whether it was done, and why not.
    """
    reads, writes = os.pipe()
    this_process = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads of C libraries
        fork = os.fork()
    if not fork:
        _work(work, limits, writes, this_process)
    os.close(writes)

    def relay() -> int:
        with os.fdopen(reads, "rb") as messages:
            for line in messages:
                send(decode_reply(line))
        return os.waitpid(fork, 0)[1]

    relaying = asyncio.ensure_future(asyncio.to_thread(relay))
    await _until_done(relaying, fork)
    code = os.waitstatus_to_exitcode(await relaying)
    if code:
        logger.warning("the process that finishes the recording ended with %d", code)
    return Ended(done=not code, limit=_limit(code, limits))


async def _until_done(relaying: asyncio.Future[int], fork: int) -> None:
    """Wait for the end of a fork; kill one that waits for a thread that it has not.

    What waits for a store tries again, which takes some CPU time.
    """
    used, since = "", time.monotonic()
    while not relaying.done():
        await asyncio.wait((relaying,), timeout=_LOOKING)
        now, fields = time.monotonic(), stat_fields(fork)
        if (cpu := " ".join(fields[_CPU])) != used:
            used, since = cpu, now
        elif now - since > _STUCK and not relaying.done():
            logger.warning("the process that finishes the recording no longer works")
            with contextlib.suppress(ProcessLookupError):
                os.kill(fork, signal.SIGKILL)
            return


def _work(
    work: Callable[[Send], object], limits: Limits, writes: int, parent: int
) -> None:
    """Be the fork; does not return."""
    code = 1
    try:
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(_SIGNAL_AT_PARENTS_END, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(code)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with os.fdopen(writes, "wb") as out, limited(limits):

            def send(reply: Reply) -> None:
                out.write(encode(reply))
                out.flush()

            work(send)
        code = 0
    except BaseException:
        logger.exception("the recording could not be finished")
    finally:
        os._exit(code)


def _limit(code: int, limits: Limits) -> str | None:
    if code == -signal.SIGXCPU:
        return f"it took more than {duration(limits.cpu)} of CPU time"
    if code == -signal.SIGALRM:
        return f"it took more than {duration(limits.time)}"
    return None
