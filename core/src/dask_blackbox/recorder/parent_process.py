"""The process that started the recorder, other processes of its command, and OOM kills.

A recorder runs in its parent's container and exits a moment after the parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import select
import socket
import stat
import struct
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec

from dask_blackbox.capture.nanny.worker_exit import oom_kills, process_started
from dask_blackbox.capture.nanny.worker_watcher import exit_code_of, handle_of
from dask_blackbox.events import EventRow
from dask_blackbox.formatting import signal_number
from dask_blackbox.protocol.liveness import BEAT
from dask_blackbox.protocol.messages import (
    ALIVE,
    LONGEST_LINE,
    Answer,
    End,
    Reply,
    encode,
)
from dask_blackbox.recorder.redact import MaskConfirmations

_POLL_INTERVAL = 0.5
_PIPE_BYTES = 65_536
_ENDING = 1.0  # seconds from the end of its pipes to the end of the process


class OtherProcess:
    """A process that the recorder watches.

    Args:
        pid: Its id.
        handle: Of it (a pidfd); None: one is opened, where the system has them.
    """

    def __init__(self, pid: int, handle: int | None = None) -> None:
        self.pid, self._born = pid, process_started(pid)
        self._handle = handle_of(pid) if handle is None else handle

    async def wait_until_exit(self) -> None:
        """Wait until it has ended, however long that takes."""
        while self.is_alive():  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(_POLL_INTERVAL)

    async def exit_code(self) -> int | None:
        """Return its exit code, negative for a signal; None if it is unknown."""
        handle = self._handle
        if handle is None:
            return None

        def ended() -> bool:
            return bool(select.select([handle], [], [], _ENDING)[0])

        return (
            exit_code_of(self.pid, handle) if await asyncio.to_thread(ended) else None
        )

    def is_alive(self) -> bool:
        """Return whether it has not ended."""
        if self._handle is not None:
            return not select.select([self._handle], [], [], 0)[0]
        # None on systems without /proc: there the end of file has to do.
        return self._born is None or process_started(self.pid) == self._born

    @property
    def can_be_watched(self) -> bool:
        """Whether its end can be noticed."""
        return self._handle is not None or self._born is not None


class ParentProcess(OtherProcess):
    """The process that started the recorder; its requests arrive on standard input.

    End of file means that the parent is gone.  A process that it forked keeps the pipe open,
    so the recorder also watches the parent's process.

    Args:
        handle: Of the parent's process, if it has given us one.

    Attributes:
        masks_values: Whether it is a driver, which knows of values to mask.
    """

    masks_values = True

    def __init__(self, pid: int, handle: int | None = None) -> None:
        super().__init__(pid, handle)
        self.exit_text = ""

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the parent's messages until it is gone."""
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while True:
            reading = asyncio.ensure_future(reader.readline())
            while not reading.done():
                # What it wrote is read to its end: this process may have been too busy
                # to read it before the parent went.
                gone = not self.is_alive()
                await asyncio.wait([reading], timeout=_POLL_INTERVAL)
                if gone and not reading.done():
                    reading.cancel()
                    self.exit_text = "its process is gone"
                    return
            line = reading.result()
            if not line:
                self.exit_text = "its pipe was closed"
                return
            yield line

    async def report_alive(self) -> None:
        """Report every second that this process works; cancel to stop."""
        while True:
            # A parent that is suspended reads nothing: what it must get has to fit.
            if select.select([], [sys.stdout], [], 0)[1]:
                self.send(Reply(what=ALIVE))
            await asyncio.sleep(BEAT)

    def send(self, reply: Reply) -> None:
        """Send a message to the parent, if it still exists."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.buffer.write(encode(reply))
            sys.stdout.buffer.flush()


class CommandErrors:
    """The pipe that `dask blackbox run` has for the standard error of its command.

    As long as this process has it open as well, the command does not fail because
    that process was killed and nobody reads any more.

    Args:
        wrapper: Process id of `dask blackbox run`.
        command: Process id of the command.
    """

    def __init__(self, wrapper: int, command: int) -> None:
        self._pipe: int | None = None
        with contextlib.suppress(OSError):
            pipe = os.open(f"/proc/{command}/fd/2", os.O_RDONLY | os.O_NONBLOCK)
            if _is_read_by(wrapper, os.fstat(pipe)):
                self._pipe = pipe
            else:  # a terminal, a file, or a pipe of another process
                os.close(pipe)

    def discard(self) -> None:
        """Read from now on what the command writes, as nobody else does."""
        if self._pipe is not None:
            asyncio.get_running_loop().add_reader(self._pipe, self._read, self._pipe)

    def _read(self, pipe: int) -> None:
        try:
            got = os.read(pipe, _PIPE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        if not got:
            asyncio.get_running_loop().remove_reader(pipe)
            os.close(pipe)
            self._pipe = None


def _is_read_by(pid: int, status: os.stat_result) -> bool:
    """Return whether a process has the reading end of a pipe."""
    if not stat.S_ISFIFO(status.st_mode):
        return False
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            there = each.stat()
            same = (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino)
            # As for any file that it has open: who may read it and who may write it.
            if same and each.lstat().st_mode & stat.S_IRUSR:
                return True
    return False


logger = logging.getLogger("dask_blackbox.recorder")

_CREDENTIALS = struct.Struct("3i")  # process, user and group


def _is_own_process(connection: socket.socket) -> bool:
    """Return whether the other end is a process of this user, or of the superuser.

    Where the system does not say, the mode of the socket has to do.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    found = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in (os.getuid(), 0)


class CommandProcesses:
    """Serves the connections of other processes of a recorded command.

    Args:
        handle: Takes a line, and what answers it.
        masks: Asks them which values they mask.
    """

    def __init__(
        self,
        handle: Callable[[bytes, Answer], Awaitable[None]],
        masks: MaskConfirmations,
    ) -> None:
        self._handle_order, self._masks = handle, masks
        self._reading: set[asyncio.Task[None]] = set()

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Handle the requests of one process until it closes its connection."""
        if not _is_own_process(writer.get_extra_info("socket")):
            logger.warning("a process of another user was refused")
            writer.close()
            return

        def answer(reply: Reply) -> None:
            writer.write(msgspec.json.encode(reply) + b"\n")

        reading = asyncio.current_task()
        assert reading is not None  # noqa: S101 - this is a coroutine
        self._reading.add(reading)
        self._masks.connected(answer)
        try:
            with contextlib.suppress(OSError, ValueError):
                while line := await reader.readline():
                    await self._handle_order(line, answer)
                    await writer.drain()
        finally:
            self._reading.discard(reading)
            self._masks.left(answer)
            writer.close()

    async def wait_until_closed(self, seconds: float) -> None:
        """Wait until all connections are closed; those of exited processes close by themselves.

        Args:
            seconds: How long at most; some outlive the command.
        """
        if self._reading:
            await asyncio.wait(self._reading, timeout=seconds)


class KernelKills:
    """Counts the kernel's out-of-memory kills since it was created."""

    def __init__(self) -> None:
        self._before = oom_kills()

    def fields(self) -> dict[str, object]:
        """Return the number of out-of-memory kills since then, if the kernel counts them."""
        after = oom_kills()
        if self._before is None or after is None:
            return {}
        return {"oom_kills": after - self._before}

    def rows(self, end: End) -> dict[str, list[EventRow]]:
        """Return the rows about a command that a signal ended; empty for others."""
        signal = signal_number(end.exit_code)
        if signal is None:
            return {}
        detail = {"state": end.state, "exit_code": end.exit_code, "signal": signal}
        reported = json.dumps(detail | self.fields())
        return {"event": [(time.time(), "driver-ended", "driver", reported)]}
