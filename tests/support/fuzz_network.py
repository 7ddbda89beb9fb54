"""A network path that fails for the recorder alone, and a clock that jumps on one host.

Neither needs a privilege: the scheduler is reached by way of a proxy, which finds out whose
connection it carries; and `time.time` of the processes of a host adds what a file says.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["CLOCK", "Network", "free_port", "jumping_clock"]

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close by RST
_CHUNK = 2**16

CLOCK = """
import os, time
_real, _file, _known = time.time, os.environ["FUZZ_CLOCK"], [0.0, 0.0]
def _time():
    now = _real()
    if now - _known[0] > 0.05:
        try:
            _known[:] = now, float(open(_file).read() or 0)
        except (OSError, ValueError):
            _known[0] = now
    return now + _known[1]
time.time = _time
"""
"""A `sitecustomize` for Python processes of the host whose clock jumps."""


def jumping_clock(folder: Path) -> tuple[dict[str, str], Callable[[float], None]]:
    """Return the environment of processes whose clock jumps, and what has it jump.

    Args:
        folder: Where its files can be.
    """
    place, offset = folder / "clock", folder / "clock-offset"
    place.mkdir()
    (place / "sitecustomize.py").write_text(CLOCK)

    def jump(seconds: float) -> None:
        unfinished = offset.with_suffix(".new")
        unfinished.write_text(str(seconds))
        unfinished.replace(offset)

    jump(0.0)
    return {"PYTHONPATH": str(place), "FUZZ_CLOCK": str(offset)}, jump


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Network:
    """A proxy in front of a scheduler, with a loop in a thread of its own.

    Args:
        target: Port of the scheduler.
        concerned: Returns the processes whose connections fail.

    Attributes:
        target: Port of the scheduler.
        port: Where it listens.
    """

    def __init__(self, target: int, concerned: Callable[[], set[int]]) -> None:
        self.target, self._concerned = target, concerned
        self._until, self._how = 0.0, ""
        self._carried: dict[asyncio.StreamWriter, int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def fail(self, how: str, seconds: float) -> None:
        """Have the connections fail.

        Args:
            how: `cut`: those that there are, once; `refused`: those, and new ones for a
                time; `silent`: nothing is passed on for a time, without an end.
            seconds: That time.
        """
        self._how = how
        self._until = time.monotonic() + (0.0 if how == "cut" else seconds)
        if how != "silent":
            self._loop.call_soon_threadsafe(self._cut)

    def close(self) -> None:
        """End the proxy, with all connections."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _cut(self) -> None:
        concerned = self._concerned()
        for writer, port in list(self._carried.items()):
            if _owner(port, concerned) is not None:
                _reset(writer)

    def _fails(self, how: str, port: int) -> bool:
        if self._how != how or time.monotonic() > self._until:
            return False
        return _owner(port, self._concerned()) is not None

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        port = writer.get_extra_info("peername")[1]
        if self._fails("refused", port):
            _reset(writer)
            return
        self._carried[writer] = port
        with contextlib.suppress(OSError):
            theirs, ours = await asyncio.open_connection("127.0.0.1", self.target)
            try:
                await asyncio.wait(
                    [
                        asyncio.create_task(self._pass_on(reader, ours, port)),
                        asyncio.create_task(self._pass_on(theirs, writer, port)),
                    ],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                ours.close()
        self._carried.pop(writer, None)
        writer.close()

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, port: int
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(_CHUNK):
                if self._fails("silent", port):
                    await asyncio.sleep(self._until - time.monotonic())
                target.write(data)
                await target.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    handle = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def _owner(port: int, among: set[int]) -> int | None:
    """Return which of some processes holds the connection from a port of this host."""
    inode = None
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port:
            inode = f"socket:[{fields[9]}]"
            break
    for pid in among:
        with contextlib.suppress(OSError):
            for each in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(each.readlink()) == inode:
                        return pid
    return None
