"""One process for many recordings: `python -m dask_blackbox.recorder PARENT LOG TOPIC`.

The scheduler's preload starts it, instead of one process for each client's recording.
Each line of standard input names the recording that it belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec

from dask_blackbox.capture.nanny.worker_exit import ring_folder
from dask_blackbox.private_files import make_private_folder
from dask_blackbox.protocol.messages import (
    Config,
    Limits,
    Reply,
    ReplyOf,
    decode_parcel,
    encode,
)
from dask_blackbox.recorder import late_imports as loading
from dask_blackbox.recorder.parent_process import ParentProcess
from dask_blackbox.recorder.process_limits import offer_to_oom_killer
from dask_blackbox.recorder.recorder import Recorder
from dask_blackbox.recorder.run_ending import Outcome

logger = logging.getLogger("dask_blackbox.recorder")

_FINALISING_AT_ONCE = 2


class MultiRecorder:
    """All recordings of one scheduler's preload.

    Args:
        parent: The pipes to the process that started us.
        rings: Folder of the rings of all workers of this host, of all runs.
    """

    def __init__(self, parent: ParentProcess, rings: str) -> None:
        self._parent, self._rings = parent, rings
        self._opened = 0
        self._channels: dict[str, _Channel] = {}
        self._recording: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Semaphore(_FINALISING_AT_ONCE)

    async def run(self) -> None:
        """Record until the parent has exited and all recordings are finalised."""
        loaded = asyncio.create_task(asyncio.to_thread(loading.puller))
        # Of no recording: of the process.
        reporting = asyncio.create_task(_Channel("", self._parent).report_alive())
        async for line in self._parent.lines():
            try:
                parcel = decode_parcel(line)
            except msgspec.MsgspecError as error:
                logger.warning("unknown request: %s", error)
                continue
            if parcel.config is not None and parcel.run not in self._channels:
                self._open(parcel.run, parcel.config)
            elif parcel.config is None and parcel.run in self._channels:
                self._channels[parcel.run].received(bytes(parcel.order))
        for channel in self._channels.values():
            channel.parent_exited(self._parent.exit_text)
        while self._recording:
            await asyncio.wait(self._recording)
        await loaded
        reporting.cancel()

    def _open(self, run: str, config: Config) -> None:
        channel = _Channel(run, self._parent)
        self._channels[run] = channel
        self._opened += 1
        recording = asyncio.create_task(self._record(run, config, channel))
        self._recording.add(recording)
        recording.add_done_callback(self._recording.discard)

    async def _record(self, run: str, config: Config, channel: _Channel) -> None:
        recorder: _SharedRecorder | None = None
        try:
            recorder = _SharedRecorder(config, channel, self._turn, self._rings_of_one)
            await recorder.run()
        except Exception as error:
            logger.exception("recording %s", run)
            channel.send(Reply(what="final", error=repr(error)))
        finally:
            del self._channels[run]
            if recorder is not None:
                recorder.release()

    def _rings_of_one(self) -> str | None:
        """Return the folder of the rings; None if they also hold lines of other runs."""
        return self._rings if self._opened == 1 else None


class _Channel(ParentProcess):
    """The messages between the parent and one recording."""

    masks_values = False  # a scheduler

    def __init__(self, run: str, parent: ParentProcess) -> None:
        # Not the inherited one: it would watch the same process once for each.
        self._run, self._parent, self.exit_text = run, parent, ""
        self.pid = parent.pid
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

    def received(self, line: bytes) -> None:
        self._waiting.put_nowait(line)

    def parent_exited(self, how: str) -> None:
        self.exit_text = how
        self._waiting.put_nowait(None)

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self._waiting.get()) is not None:
            yield line

    async def exit_code(self) -> int | None:
        return await self._parent.exit_code()

    def send(self, reply: Reply) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.buffer.write(encode(ReplyOf(run=self._run, reply=reply)))
            sys.stdout.buffer.flush()


class _SharedRecorder(Recorder):
    """One of the recordings of this process."""

    def __init__(
        self,
        config: Config,
        parent: ParentProcess,
        turn: asyncio.Semaphore,
        rings: Callable[[], str | None],
    ) -> None:
        super().__init__(config, parent)
        self._turn, self._rings = turn, rings

    def release(self) -> None:
        """Release the spool folder to other recorders, although this process continues."""
        if self._claim is not None:
            self._claim.release()

    def _ring_folder_of_host(self) -> str | None:
        return self._rings()

    def _ring_folder(self) -> str | None:
        # While the scheduler runs, the rings are also used by later runs.
        return self._rings() if self._lost_scheduler() else None

    async def _yield_when_alone(self) -> None:
        pass  # the process has the other recordings, too

    @contextlib.contextmanager
    def _limited(self, limits: Limits) -> Iterator[None]:
        # The kernel would end the process, with the other recordings.
        yield

    async def _finalise(self, outcome: Outcome) -> None:
        async with self._turn:
            await super()._finalise(outcome)


def record_all(parent: int, log: Path, topic: str) -> None:
    """Record until standard input ends.

    Args:
        parent: Process id of the scheduler.
        log: File for warnings.
        topic: Of the workers' plugins, whose rings lie under that name.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    offer_to_oom_killer()
    make_private_folder(log.parent)
    logging.basicConfig(
        filename=log,
        level=logging.WARNING,
        format="%(asctime)s %(name)s %(levelname)s %(message)s",
    )
    rings = ring_folder(topic)
    asyncio.run(MultiRecorder(ParentProcess(parent), rings).run())
    # A scheduler that was killed has not removed its workers' rings from this host.
    shutil.rmtree(rings, ignore_errors=True)
    if not log.stat().st_size:
        log.unlink()
