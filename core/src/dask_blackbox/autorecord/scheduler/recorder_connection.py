"""The line to the process that makes the recordings; the scheduler never waits for it."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from dask_blackbox.protocol.messages import (
    Attach,
    Config,
    Order,
    Parcel,
    Reply,
    decode_reply_of,
    encode,
)

logger = logging.getLogger("dask_blackbox")

_WAITING = 10_000
_RESTARTS, _WITHIN = 3, 3600.0


class RecorderConnection:
    """Starts the process when there is something to record, and again if it dies.

    Args:
        log: File for what the process has to complain of.
        topic: Of the workers' plugins, whose rings lie under that name.
        on_reply: Takes the id of a recording and what it says; called from a thread.
    """

    def __init__(
        self, log: Path, topic: str, on_reply: Callable[[str, Reply], None]
    ) -> None:
        self._log, self._topic, self._on_reply = log, topic, on_reply
        self._parcels: queue.Queue[Parcel | None] = queue.Queue(_WAITING)
        self._open: dict[str, list[Parcel]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._listening: threading.Thread | None = None
        self._started: list[float] = []
        self._ended = threading.Event()
        self._speaking = threading.Thread(
            target=self._write_orders, name="dask-blackbox-line", daemon=True
        )
        self._speaking.start()

    def wake(self) -> None:
        """Have the process ready: what comes before it is, dies with the scheduler."""
        if self._process is None:
            self._put(Parcel(run=""))

    def begin(self, run: str, config: Config, attach: Attach) -> bool:
        """Have a recording made; returns whether there is somebody to make it."""
        first = self._put(Parcel(run=run, config=config))
        return first and self.order(run, attach)

    def order(self, run: str, order: Order) -> bool:
        """Say something to a recording; returns whether there was room for it."""
        return self._put(Parcel(run=run, order=msgspec.Raw(encode(order).strip())))

    def _put(self, parcel: Parcel) -> bool:
        if self._ended.is_set():
            return False
        try:
            self._parcels.put_nowait(parcel)
        except queue.Full:
            return False
        return True

    def close(self, timeout: float) -> bool:
        """Say no more; return whether the process has ended within `timeout` seconds."""
        with contextlib.suppress(queue.Full):
            self._parcels.put_nowait(None)
        deadline = time.monotonic() + timeout
        self._speaking.join(timeout)
        while self._process is not None and self._listening is not None:
            self._listening.join(max(0.0, deadline - time.monotonic()))
            if self._listening.is_alive():
                self._process.returncode = 0  # it goes on without us
                return False
            # One that was killed while it finalised is replaced, as before.
            if not self._open or not self._restart(OSError("before it was done")):
                break
            self._close_pipe()
        return True

    # In a thread of its own

    def _write_orders(self) -> None:
        while (parcel := self._parcels.get()) is not None:
            if parcel.config is not None:
                self._open[parcel.run] = []
            reported = self._open.get(parcel.run)
            if reported is not None:  # a process that takes over gets all of it again
                reported.append(parcel)
            try:
                self._write(parcel)
            except OSError as error:
                if not self._restart(error):
                    break
        self._ended.set()
        self._close_pipe()

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _write(self, parcel: Parcel) -> None:
        if self._process is None:
            self._start()
        assert self._process is not None  # noqa: S101
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(encode(parcel))
        self._process.stdin.flush()

    def _start(self) -> None:
        self._started.append(time.monotonic())
        self._log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        command = [sys.executable, "-P", "-m", "dask_blackbox.recorder.many_recordings"]
        self._process = subprocess.Popen(  # noqa: S603 - our own
            [*command, str(self._log), self._topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env=_environment(),
        )
        self._listening = threading.Thread(
            target=self._listen,
            args=(self._process,),
            name="dask-blackbox-line",
            daemon=True,
        )
        self._listening.start()

    def _restart(self, error: OSError) -> bool:
        """Start another process in place of one that died; returns whether it lives."""
        recent = [at for at in self._started if time.monotonic() - at < _WITHIN]
        if len(recent) > _RESTARTS:
            logger.error(
                "runs on this scheduler are no longer recorded: the recorder process "
                "has died %d times; its log is %s",
                len(recent),
                self._log,
            )
            return False
        logger.warning("the recorder process died (%s); starting another one", error)
        self._process = None
        try:
            for reported in list(self._open.values()):
                for parcel in reported:
                    self._write(parcel)
        except OSError as worse:
            return self._restart(worse)
        return True

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(OSError, ValueError):
            while line := process.stdout.readline():
                with contextlib.suppress(msgspec.MsgspecError):
                    reported = decode_reply_of(line)
                    if reported.reply.what == "final":
                        self._open.pop(reported.run, None)
                    self._on_reply(reported.run, reported.reply)
        with contextlib.suppress(OSError):
            process.stdout.close()
        process.wait()
        self._put(Parcel(run=""))  # if it should still be there, this finds out


def _environment() -> dict[str, str]:
    """Return our environment without what would make the process record itself."""
    ours = (
        "DASK_BLACKBOX_CONTROL",
        "DASK_DISTRIBUTED__CLIENT__PRELOAD",
        "DASK_DISTRIBUTED__SCHEDULER__PRELOAD",
    )
    return {name: value for name, value in os.environ.items() if name not in ours}
