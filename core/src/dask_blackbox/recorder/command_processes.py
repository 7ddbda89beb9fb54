"""Other processes of a recorded command: each says what it has to say on its own line."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import msgspec

from dask_blackbox.protocol.messages import Reply

Answer = Callable[[Reply], None]
"""Takes what the recorder replies to one of the processes that talk to it."""


class CommandProcesses:
    """Serves them.

    Args:
        handle: Takes a line, and what answers it.
    """

    def __init__(self, handle: Callable[[bytes, Answer], Awaitable[None]]) -> None:
        self._handle_order = handle
        self._reading: set[asyncio.Task[None]] = set()

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Obey one of them until it hangs up."""

        def answer(reply: Reply) -> None:
            writer.write(msgspec.json.encode(reply) + b"\n")

        reading = asyncio.current_task()
        assert reading is not None  # noqa: S101 - this is a coroutine
        self._reading.add(reading)
        try:
            with contextlib.suppress(OSError, ValueError):
                while line := await reader.readline():
                    await self._handle_order(line, answer)
                    await writer.drain()
        finally:
            self._reading.discard(reading)
            writer.close()

    async def wait_until_closed(self, seconds: float) -> None:
        """Wait until all have hung up: those whose processes have ended have, or do now.

        Args:
            seconds: How long at most; some outlive the command.
        """
        if self._reading:
            await asyncio.wait(self._reading, timeout=seconds)
