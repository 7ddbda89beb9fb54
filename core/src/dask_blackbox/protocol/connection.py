"""The driver's end of the line to the recorder: bounded, and never waited for unasked.

What the driver says goes into a bounded queue that a thread empties; when the recorder
hangs or is gone, rows are dropped and counted, and the run goes on.  A batch is kept until
the recorder has it on its disk: one that dies before that leaves it to its successor.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from dask_blackbox.capture.nanny.worker_watcher import handle_of
from dask_blackbox.errors import RecorderError
from dask_blackbox.guard import guard
from dask_blackbox.protocol.messages import (
    Config,
    Mask,
    Order,
    Progress,
    Reply,
    Rows,
    decode_reply,
    encode,
)

__all__ = ["Link", "call_recorder", "start_recorder"]

logger = logging.getLogger("dask_blackbox")

_WAITING = 5_000
_UNACKNOWLEDGED = 200
"""Batches that are kept for another recorder at most; a pipe holds fewer of most sizes."""
_BATCH_EVERY = 0.1
_LONGEST_BATCH = 500
_POLL_INTERVAL = 0.5
_MASK = Mask(values=())
"""Says nothing: values to mask are said before it."""

_lines = itertools.count(1)


class Link:
    """A conversation with a recorder.

    Args:
        said: Where what we say goes.
        heard: Where what it says comes from.
        process: The recorder, if we started it.
        on_lost: Called, once and from a thread, when the recorder is gone unasked.
        on_progress: Takes each report of progress, in a thread; must not block.
    """

    def __init__(
        self,
        text: IO[bytes],
        heard: IO[bytes],
        process: subprocess.Popen[bytes] | None = None,
        *,
        on_lost: Callable[[], None] = lambda: None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> None:
        self._on_progress = on_progress
        self._said, self._heard, self.process = text, heard, process
        self._on_lost, self._leaving = on_lost, False
        self._orders: queue.Queue[Order | tuple[str, list[object]] | None]
        self._orders = queue.Queue(_WAITING)
        self._replies: dict[str, Reply] = {}
        self._news = threading.Condition()
        self._seq = 0
        self._dropped: dict[str, int] = {}
        self._masks: deque[str] = deque()
        self._said_rows: deque[Rows] = deque(maxlen=_UNACKNOWLEDGED)
        self._unsaid: list[Order] = []
        self.closed = False
        # A second line of the same process counts its batches anew.
        number = next(_lines)
        self._source = f"driver {os.getpid()}" + (f"/{number}" if number > 1 else "")
        name = "dask-blackbox-link"
        self._speaking = threading.Thread(
            target=self._write_orders, name=name, daemon=True
        )
        self._speaking.start()
        threading.Thread(target=self._listen, name=name, daemon=True).start()

    def row(self, kind: str, row: list[object]) -> None:
        """Say that something happened; never blocks."""
        try:
            self._orders.put_nowait((kind, row))
        except queue.Full:
            self._dropped[kind] = self._dropped.get(kind, 0) + 1

    def order(self, order: Order, *, timeout: float = 2.0) -> None:
        """Say something that must not be dropped; waits `timeout` seconds at most."""
        with contextlib.suppress(queue.Full):
            self._orders.put(order, timeout=timeout)

    def mask(self, values: Iterable[str]) -> None:
        """Have values masked before anything else is said; never blocks, never dropped."""
        self._masks.extend(values)
        with contextlib.suppress(queue.Full):
            self._orders.put_nowait(_MASK)  # wakes the thread up

    def wait_for(self, what: str, timeout: float) -> Reply | None:
        """Return what the recorder says of `what`, or None after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._news:
            while what not in self._replies and not self.closed:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._news.wait(left)
            return self._replies.get(what)

    def reported(self, what: str) -> Reply | None:
        """Return what the recorder has said of `what` so far."""
        return self._replies.get(what)

    def take_over(self, before: Link) -> None:
        """Say what another recorder, which is gone, did not hear any more.

        Args:
            before: The line to it.
        """
        # It may be that very thread that has found the other recorder gone.
        if before._speaking is not threading.current_thread():
            before._speaking.join(2 * _POLL_INTERVAL)
        self._dropped.update(before._dropped)
        # Batches keep their numbers: one that the other recorder did spool counts once.
        waiting: list[Any] = [*before._said_rows, *before._unsaid]
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.append(before._orders.get_nowait())
        for each in waiting:
            if isinstance(each, tuple):
                self.row(*each)
            elif each is not None:
                self.order(each)

    def forget(self, what: str) -> None:
        """Forget what was said, to wait for it anew."""
        with self._news:
            self._replies.pop(what, None)

    def close(self, timeout: float = 5.0) -> None:
        """Say no more, and see the recorder off if it is about to go."""
        self._leaving = True
        with contextlib.suppress(queue.Full):
            self._orders.put_nowait(None)
        if self.process is not None:
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                # It goes on without us; that we don't wait for it is no news to anyone.
                self.process.returncode = 0

    def _write_orders(self) -> None:
        while not self.closed:
            try:
                order = self._orders.get(timeout=_POLL_INTERVAL)
            except queue.Empty:
                continue
            if order is None:
                break
            rest: Order | None = None
            if isinstance(order, tuple):
                order, rest = self._gather(order)
            messages = [order] if rest is None else [order, rest]
            if self._masks:
                messages.insert(0, self._values_to_mask())
            try:
                while messages:
                    self._write(messages[0])
                    del messages[0]
            except (OSError, ValueError):
                # For a recorder that takes over; rows are kept already.
                self._unsaid += [
                    each for each in messages if not isinstance(each, Rows)
                ]
                self._ended()
        with contextlib.suppress(OSError, ValueError):
            self._said.close()

    def _values_to_mask(self) -> Mask:
        # Those that come meanwhile are of the next one.
        return Mask(
            values=tuple(self._masks.popleft() for _ in range(len(self._masks)))
        )

    def _write(self, order: Order) -> None:
        if order is _MASK:
            return
        try:
            line = encode(order)
        except (TypeError, ValueError) as error:  # what JSON cannot hold costs itself
            logger.warning("not recorded: %s", error)
            return
        if isinstance(order, Rows):
            self._said_rows.append(order)
        self._said.write(line)
        self._said.flush()

    def _gather(self, first: tuple[str, list[object]]) -> tuple[Rows, Order | None]:
        """Put rows that come close together into one order."""
        rows: dict[str, list[list[object]]] = {first[0]: [first[1]]}
        rest: Order | None = None
        deadline = time.monotonic() + _BATCH_EVERY
        for _ in range(_LONGEST_BATCH):
            try:
                left = max(0.0, deadline - time.monotonic())
                order = self._orders.get(timeout=left)
            except queue.Empty:
                break
            if isinstance(order, tuple):
                rows.setdefault(order[0], []).append(order[1])
                continue
            if order is None:
                self._orders.put(None)
            rest = order
            break
        self._seq += 1
        batch = Rows(
            source=self._source,
            seq=self._seq,
            at=time.time(),
            rows=rows,
            dropped=dict(self._dropped),
        )
        return batch, rest

    def _listen(self) -> None:
        try:
            while line := self._heard.readline():
                with contextlib.suppress(msgspec.MsgspecError):
                    reply = decode_reply(line)
                    if reply.progress is not None:
                        self._progressed(reply.progress)
                        continue
                    if reply.spooled:
                        self._forget_rows(reply.spooled)
                        continue
                    with self._news:
                        self._replies[reply.what] = reply
                        self._news.notify_all()
        except (OSError, ValueError):
            pass
        with contextlib.suppress(OSError, ValueError):
            self._heard.close()
        self._ended()

    def _forget_rows(self, spooled: dict[str, int]) -> None:
        # The speaking thread appends at the other end meanwhile.
        rows = self._said_rows
        while rows and rows[0].seq <= spooled.get(rows[0].source, 0):
            rows.popleft()

    def _progressed(self, progress: Progress) -> None:
        with guard("the progress of the run"):
            self._on_progress(progress)

    def _ended(self) -> None:
        with self._news:
            first, self.closed = not self.closed, True
            self._news.notify_all()
        if first and not self._leaving and "final" not in self._replies:
            self._on_lost()


def start_recorder(
    config: Config,
    on_lost: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Link:
    """Start a recorder process that outlives us.

    Args:
        config: What to record, and where to.
        on_lost: Called, once and from a thread, when it is gone unasked.
        on_progress: Takes each report of progress, in a thread; must not block.

    Raises:
        RecorderError: if no process can be started.
    """
    handle = handle_of(os.getpid())
    try:
        with _complaints(Path(config.spool)) as complaints:
            process = subprocess.Popen(
                # -P: a module of the user's folder must not stand in for one of ours.
                [sys.executable, "-P", "-m", "dask_blackbox.recorder"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                start_new_session=True,
                env=_environment(),
                # Ours, made now: we may be gone before the recorder can ask for one.
                pass_fds=() if handle is None else (handle,),
            )
    except OSError as error:
        raise RecorderError(
            f"the recorder process could not be started: {error}"
        ) from error
    finally:
        if handle is not None:
            os.close(handle)
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(
            encode(msgspec.structs.replace(config, owner_handle=handle))
        )
        process.stdin.flush()
    except OSError as error:
        raise RecorderError(f"the recorder exited immediately: {error}") from error
    return Link(
        process.stdin,
        process.stdout,
        process,
        on_lost=on_lost,
        on_progress=on_progress,
    )


@contextlib.contextmanager
def _complaints(spool: Path) -> Iterator[IO[bytes]]:
    """Give a file for what a recorder says that cannot log."""
    path = spool / "recorder.err"
    try:
        spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        # It can record all the same, as long as the store takes everything.
        logger.warning("the spool cannot be used: %s", error)
        path = Path(os.devnull)
    with path.open("ab") as file:
        yield file


def _environment() -> dict[str, str]:
    """Return our environment without what would make the recorder record itself."""
    ours = ("DASK_BLACKBOX_CONTROL", "DASK_DISTRIBUTED__CLIENT__PRELOAD")
    kept = {k: v for k, v in os.environ.items() if k not in ours}
    # Each of its threads would get a heap of its own, 3 MB of it half empty.
    return {"MALLOC_ARENA_MAX": "1", **kept}


def call_recorder(
    path: str, timeout: float, on_lost: Callable[[], None] = lambda: None
) -> Link:
    """Return a guest's line to the recorder that listens at `path`.

    Args:
        path: Of its socket.
        timeout: Seconds that it may take to answer.
        on_lost: Called, once and from a thread, when it is gone unasked.

    Raises:
        RecorderError: if it does not answer in time.
    """
    deadline = time.monotonic() + timeout
    while True:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(path)
        except OSError as error:
            line.close()
            if time.monotonic() > deadline:
                raise RecorderError(
                    f"no recorder answers at {path}: {error}"
                ) from error
            time.sleep(0.02)
            continue
        return Link(line.makefile("wb"), line.makefile("rb"), on_lost=on_lost)
