"""The pipes to the process that started the recorder, and whether it still lives."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from dask_blackbox.capture.certificate import process_started
from dask_blackbox.record.orders import Telling, encode

__all__ = ["Owner"]

_LINE = 64 * 2**20
_LOOKING = 0.5


class Owner:
    """Standard input as orders, standard output as tellings.

    The end of file says that the owner is gone; but a process that it has forked holds
    the pipe open for it, so the recorder also looks for the owner itself.

    Args:
        pid: Of the owner.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._born = pid, process_started(pid)
        self.how_it_went = ""

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield what the owner says, until it is gone."""
        reader = asyncio.StreamReader(limit=_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while True:
            reading = asyncio.ensure_future(reader.readline())
            while not reading.done():
                await asyncio.wait([reading], timeout=_LOOKING)
                if not reading.done() and not self._lives():
                    reading.cancel()
                    self.how_it_went = "its process is gone"
                    return
            line = reading.result()
            if not line:
                self.how_it_went = "its pipe was closed"
                return
            yield line

    def _lives(self) -> bool:
        # None on systems without /proc: there the end of file has to do.
        return self._born is None or process_started(self._pid) == self._born

    def tell(self, telling: Telling) -> None:
        """Say something to the owner, if it is still there."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.buffer.write(encode(telling))
            sys.stdout.buffer.flush()
