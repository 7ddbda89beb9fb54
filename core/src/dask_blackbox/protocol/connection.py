"""The driver's end of the connection to the recorder: bounded and non-blocking.

Messages go into a bounded queue that a thread empties; when the recorder hangs or has
exited, rows are dropped and counted, and the run continues.  A batch is kept until the
recorder has it on its disk: if it dies before that, the next recorder gets the batch.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from dask_blackbox.errors import RecorderError
from dask_blackbox.guard import guard
from dask_blackbox.protocol.detached_process import DetachedProcess
from dask_blackbox.protocol.messages import (
    ALIVE,
    REACHED,
    RELAY,
    Mask,
    MasksSent,
    Order,
    Progress,
    Reply,
    Rows,
    decode_reply,
    encode,
)

logger = logging.getLogger("dask_blackbox")

_WAITING = 5_000
_LOOK = 0.005  # seconds
_ORDER_TIMEOUT = 2.0
_UNACKNOWLEDGED = 200
"""Batches that are kept for another recorder at most; a pipe holds fewer of most sizes."""
_QUESTIONS = 100
_BATCH_EVERY = 0.1
_LONGEST_BATCH = 500
_POLL_INTERVAL = 0.5
_MASK = Mask(values=())
"""Not sent itself: what is said of values to mask is sent before it."""

_connections = itertools.count(1)


class _Orders:
    """A bounded queue whose `put_nowait` takes no lock.

    When the interpreter ends, a daemon thread stops wherever it is, also with the lock of a
    `queue.Queue`: what is logged after that would wait for it forever.
    """

    def __init__(self, most: int) -> None:
        self._queue = queue.SimpleQueue[Order | tuple[str, list[object]] | None]()
        self._most = most

    def put_nowait(self, order: Order | tuple[str, list[object]] | None) -> None:
        if self._queue.qsize() >= self._most:
            raise queue.Full
        self._queue.put(order)

    def put(self, order: Order | None, *, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while self._queue.qsize() >= self._most:
            if time.monotonic() > deadline:
                raise queue.Full
            time.sleep(_LOOK)
        self._queue.put(order)

    def get(self, *, timeout: float) -> Order | tuple[str, list[object]] | None:
        return self._queue.get(timeout=timeout)

    def get_nowait(self) -> Order | tuple[str, list[object]] | None:
        return self._queue.get_nowait()


class Link:
    """A connection to a recorder.

    Args:
        outgoing: Messages to the recorder are written here.
        incoming: Its replies are read from here.
        process: The recorder, if this process started it.
        on_lost: Called, once and from a thread, when the recorder ends without being asked to.
        on_progress: Takes each report of progress, in a thread; must not block.
        on_reach: Takes what the recorder reports of whether it reaches a scheduler, in a
            thread; must not block.
        hang_up: Lets the recorder know that nothing more comes, if closing `outgoing` does not.
    """

    def __init__(
        self,
        outgoing: IO[bytes],
        incoming: IO[bytes],
        process: DetachedProcess | None = None,
        *,
        on_lost: Callable[[], None] = lambda: None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
        on_reach: Callable[[Reply], None] = lambda _reply: None,
        hang_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_progress, self._hang_up = on_progress, hang_up
        self._on_reach = on_reach
        self._outgoing, self._incoming, self.process = outgoing, incoming, process
        self._on_lost, self._leaving = on_lost, False
        self._orders = _Orders(_WAITING)
        self._replies: dict[str, Reply] = {}
        self._reply_arrived = threading.Condition()
        self._seq = 0
        self._dropped: dict[str, int] = {}
        self._masks: deque[str] = deque()
        self._asked: deque[int] = deque(maxlen=_QUESTIONS)
        """Questions whether all of them have been sent, by number."""
        self._unacknowledged: deque[Rows] = deque(maxlen=_UNACKNOWLEDGED)
        self._unsent: list[Order] = []
        self.closed = False
        self.messages = 0
        """How many messages of the recorder have arrived."""
        self.gave_way = False
        """Whether the recorder was ended because the driver waited for it."""
        self._blocked, self._next_look = False, 0.0
        # A second connection of the same process counts its batches from 1 again.
        number = next(_connections)
        self._source = f"driver {os.getpid()}" + (f"/{number}" if number > 1 else "")
        name = "dask-blackbox-link"
        self._sender = threading.Thread(
            target=self._send_orders, name=name, daemon=True
        )
        self._sender.start()
        threading.Thread(target=self._receive, name=name, daemon=True).start()

    def row(self, kind: str, row: list[object]) -> None:
        """Send a row; never blocks."""
        try:
            self._orders.put_nowait((kind, row))
        except queue.Full:
            self._dropped[kind] = self._dropped.get(kind, 0) + 1

    def order(self, order: Order) -> None:
        """Send a message that must not be dropped; waits two seconds at most."""
        with contextlib.suppress(queue.Full):
            self._orders.put(order, timeout=_ORDER_TIMEOUT)

    def forward(self, rows: Rows) -> bool:
        """Send rows of a scheduler, if there is a recorder to take them; never blocks."""
        if self.closed:
            return False
        try:
            self._orders.put_nowait(rows)
        except queue.Full:
            return False
        return True

    def mask(self, values: Iterable[str]) -> None:
        """Send values to mask before the next message; never blocks, never drops one."""
        self._masks.extend(values)
        self._wake_sender()

    def _wake_sender(self) -> None:
        with contextlib.suppress(queue.Full):  # it is awake
            self._orders.put_nowait(_MASK)

    def wait_for(self, what: str, timeout: float) -> Reply | None:
        """Return the recorder's reply about `what`, or None after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._reply_arrived:
            while what not in self._replies and not self.closed:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._reply_arrived.wait(left)
            return self._replies.get(what)

    def reported(self, what: str) -> Reply | None:
        """Return the recorder's reply about `what`, if it has sent one."""
        return self._replies.get(what)

    def take_over(self, before: Link) -> None:
        """Send what a recorder that has exited did not receive."""
        # This may be the thread that noticed the exit of the other recorder.
        if before._sender is not threading.current_thread():
            before._sender.join(2 * _POLL_INTERVAL)
        self._dropped.update(before._dropped)
        # Batches keep their numbers: one that the other recorder has spooled counts once.
        waiting: list[Any] = [*before._unacknowledged, *before._unsent]
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.append(before._orders.get_nowait())
        for each in waiting:
            if isinstance(each, tuple):
                self.row(*each)
            elif each is not None:
                self.order(each)

    def forget(self, what: str) -> None:
        """Forget the reply about `what`, to wait for the next one."""
        with self._reply_arrived:
            self._replies.pop(what, None)

    def close(self, timeout: float = 5.0) -> None:
        """Send nothing more, and wait for the recorder if it is about to exit."""
        self._leaving = True
        with contextlib.suppress(queue.Full):
            self._orders.put_nowait(None)
        if self.process is not None:
            self.process.wait(timeout)

    def kill(self) -> None:
        """End the recorder that this process started, and the connection."""
        self._leaving = True
        if self.process is not None:
            self.process.kill()
        self.close()

    def leave(self, timeout: float = 2.0) -> None:
        """Send the waiting messages and no others, because this process ends.

        Args:
            timeout: Seconds to wait for that at most.
        """
        self._leaving = True
        with contextlib.suppress(queue.Full):
            self._orders.put(None, timeout=timeout)
        self._sender.join(timeout)

    def _send_orders(self) -> None:
        while not self.closed:
            self._give_way()
            try:
                order = self._orders.get(timeout=_POLL_INTERVAL)
            except queue.Empty:
                continue
            if order is None:
                break
            rest: Order | None = None
            if isinstance(order, tuple):
                order, rest = self._gather(order)
            messages = [*self._masking(), order]
            if rest is not None:
                messages.append(rest)
            try:
                while messages:
                    self._write(messages[0])
                    del messages[0]
            except (OSError, ValueError):
                # For a recorder that takes over; rows are kept already.
                self._unsent += [
                    each for each in messages if not isinstance(each, Rows)
                ]
                self._connection_ended()
        with contextlib.suppress(OSError, ValueError):
            self._outgoing.close()
            self._hang_up()

    def _give_way(self) -> None:
        """End a recorder for which the driver waits, which it would do forever."""
        process, now = self.process, time.monotonic()
        if process is None or not process.attached or self._leaving:
            return
        if now < self._next_look:
            return
        self._next_look = now + _POLL_INTERVAL
        before, self._blocked = self._blocked, process.blocks()
        if before and self._blocked:
            logger.warning(
                "this process waits for all of its children, and the recorder is one"
            )
            self.gave_way = True
            process.kill()

    def _masking(self) -> Iterator[Order]:
        """Yield the messages about values to mask, which are sent first."""
        # Those that are added meanwhile belong to the next message.
        asked = [self._asked.popleft() for _ in range(len(self._asked))]
        if count := len(self._masks):
            yield Mask(values=tuple(self._masks.popleft() for _ in range(count)))
        for number in asked:
            yield MasksSent(number=number)

    def _write(self, order: Order) -> None:
        if order is _MASK:
            return
        try:
            line = encode(order)
        except (TypeError, ValueError) as error:  # what JSON cannot hold costs itself
            logger.warning("not recorded: %s", error)
            return
        if isinstance(order, Rows):
            self._unacknowledged.append(order)
        self._outgoing.write(line)
        self._outgoing.flush()

    def _gather(self, first: tuple[str, list[object]]) -> tuple[Rows, Order | None]:
        """Combine rows that arrive within a moment into one message."""
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
                self._orders.put(None, timeout=_ORDER_TIMEOUT)
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

    def _receive(self) -> None:
        if self.process is not None:
            self.process.read_pid()
        try:
            while line := self._incoming.readline():
                self.messages += 1
                with contextlib.suppress(msgspec.MsgspecError):
                    reply = decode_reply(line)
                    if reply.what == ALIVE:
                        continue
                    if reply.progress is not None:
                        self._progressed(reply.progress)
                        continue
                    if reply.what in (REACHED, RELAY):
                        self._note_reach(reply)
                        continue
                    if reply.spooled:
                        self._forget_rows(reply.spooled)
                        continue
                    if reply.number:
                        self._asked.append(reply.number)
                        self._wake_sender()
                        continue
                    with self._reply_arrived:
                        self._replies[reply.what] = reply
                        self._reply_arrived.notify_all()
        except (OSError, ValueError):
            pass
        with contextlib.suppress(OSError, ValueError):
            self._incoming.close()
        if self.process is not None:
            self.process.note_end()
        self._connection_ended()

    def _forget_rows(self, spooled: dict[str, int]) -> None:
        # The sending thread appends at the other end meanwhile.
        rows = self._unacknowledged
        while rows and rows[0].seq <= spooled.get(rows[0].source, 0):
            rows.popleft()

    def _progressed(self, progress: Progress) -> None:
        with guard("the progress of the run"):
            self._on_progress(progress)

    def _note_reach(self, reply: Reply) -> None:
        with guard("rows that only the driver can pull"):
            self._on_reach(reply)

    def _connection_ended(self) -> None:
        with self._reply_arrived:
            first, self.closed = not self.closed, True
            self._reply_arrived.notify_all()
        if first and not self._leaving and "final" not in self._replies:
            self._on_lost()


def call_recorder(
    path: str,
    timeout: float,
    on_lost: Callable[[], None] = lambda: None,
    on_reach: Callable[[Reply], None] = lambda _reply: None,
) -> Link:
    """Connect to the recorder that listens at `path`.

    Args:
        timeout: Seconds that it may take to answer.
        on_lost: Called, once and from a thread, when it ends without being asked to.
        on_reach: As for `Link`.

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
        # Else the recorder would ask a connection that is left which values it masks.
        hang_up = partial(line.shutdown, socket.SHUT_WR)
        outgoing, incoming = line.makefile("wb"), line.makefile("rb")
        line.close()  # with the last of these
        return Link(
            outgoing, incoming, on_lost=on_lost, on_reach=on_reach, hang_up=hang_up
        )


def ask_for_recorder(path: str) -> bool:
    """Let the process that starts recorders know that one is needed now, not after its pause.

    Args:
        path: Of the socket that the last recorder left; the oldest time there is marks it.

    Returns:
        Whether one may come: a recorder that ends as it should leaves no socket, nor does the
        last one that may be started.
    """
    try:
        os.utime(path, (0, 0))
    except OSError:
        return False
    return True


def is_recorder_asked_for(path: str) -> bool:
    """Return whether a process needs a recorder now."""
    try:
        return Path(path).stat().st_mtime == 0
    except OSError:
        return False
