"""The process that started the recorder, other processes of its command, and OOM kills.

A recorder runs in its parent's container and exits a moment after the parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from dask_blackbox.capture.nanny.worker_exit import oom_kills, process_started
from dask_blackbox.capture.nanny.worker_watcher import exit_code_of, handle_of
from dask_blackbox.events import EventRow
from dask_blackbox.formatting import signal_number
from dask_blackbox.protocol.messages import LONGEST_LINE, Answer, End, Reply, encode
from dask_blackbox.recorder.redact import MaskConfirmations

_POLL_INTERVAL = 0.5
_ENDING = 1.0  # seconds from the end of its pipes to the end of the process


class ParentProcess:
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
        self._pid, self._born = pid, process_started(pid)
        self.exit_text = ""
        self._handle = handle_of(pid) if handle is None else handle

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
                gone = not self._is_alive()
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

    async def wait_until_exit(self) -> None:
        """Wait until its process has ended, however long that takes."""
        while self._is_alive():  # noqa: ASYNC110 - another process sets no event
            await asyncio.sleep(_POLL_INTERVAL)

    async def exit_code(self) -> int | None:
        """Return the exit code of its process, negative for a signal; None if it is unknown."""
        handle = self._handle
        if handle is None:
            return None

        def ended() -> bool:
            return bool(select.select([handle], [], [], _ENDING)[0])

        return (
            exit_code_of(self._pid, handle) if await asyncio.to_thread(ended) else None
        )

    def _is_alive(self) -> bool:
        if self._handle is not None:
            return not select.select([self._handle], [], [], 0)[0]
        # None on systems without /proc: there the end of file has to do.
        return self._born is None or process_started(self._pid) == self._born

    def send(self, reply: Reply) -> None:
        """Send a message to the parent, if it still exists."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.buffer.write(encode(reply))
            sys.stdout.buffer.flush()


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
