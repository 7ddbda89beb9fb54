"""A process of a recorded command: joins its clients to the command's recording."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from dask_blackbox.bootstrap import CONTROL, RECORDING
from dask_blackbox.capture.driver import (
    DriverTap,
    as_json,
    describe_driver,
)
from dask_blackbox.capture.surroundings import cluster_facts
from dask_blackbox.errors import RecorderError
from dask_blackbox.flight.found_modules import described
from dask_blackbox.flight.joining import install
from dask_blackbox.flight.own_code import OwnCode
from dask_blackbox.flight.standing import Standing
from dask_blackbox.guard import guard
from dask_blackbox.record.link import Link, call_recorder
from dask_blackbox.record.orders import Attach, Drain
from dask_blackbox.settings import setting_seconds

__all__ = ["joined", "left", "report", "report_exit", "watch"]

_CALLING = 5.0
_FINDING = 30.0
_LAST_WORDS = 5.0

_lock = threading.Lock()
_link: tuple[int, Link] | None = None
_tap: DriverTap | None = None
_attached: dict[str, Attach] = {}
_standing: tuple[int, Standing] | None = None


def _the_link() -> Link:
    """Return this process's line to the recorder; a forked child gets one of its own."""
    global _link  # noqa: PLW0603 - one line per process is the point
    with _lock:
        if _link is None or _link[0] != os.getpid() or _link[1].closed:
            _link = (os.getpid(), call_recorder(os.environ[CONTROL], _CALLING, _lost))
            _introduce(_link[1])
        return _link[1]


def _introduce(link: Link) -> None:
    for order in list(_attached.values()):  # to a recorder that took over
        link.order(order)
    if not _is_a_worker():
        _listen(link)
        threading.Thread(target=_describe, args=(link,), daemon=True).start()


def _lost() -> None:
    """Find the recorder that takes over, and tell it of our clusters (in a thread)."""
    global _link  # noqa: PLW0603 - as above
    with guard("another recorder"), contextlib.suppress(RecorderError):
        link = call_recorder(os.environ[CONTROL], _FINDING, _lost)
        with _lock:
            if _link is None or _link[0] != os.getpid() or not _link[1].closed:
                link.close()
                return
            _link = (os.getpid(), link)
            _introduce(link)


def _listen(link: Link) -> None:
    global _tap  # noqa: PLW0603 - as above
    if _tap is not None:  # it speaks to a recorder that is gone
        _tap.stop()
    _tap = DriverTap(os.environ[RECORDING], link.row)
    _tap.start()


def _is_a_worker() -> bool:
    """Say whether this is a worker's process, in which a task has made a client."""
    from distributed import Worker

    # Without a nanny a worker may share its process with the driver.
    return any(worker.nanny for worker in Worker._instances)  # noqa: SLF001


def _describe(link: Link) -> None:
    with guard("what the driver is"):
        _say(link, "driver-attached", describe_driver())
        OwnCode(lambda told: _say(link, "driver-code", told)).look()


def _say(link: Link, kind: str, detail: dict[str, Any]) -> None:
    link.row("event", [time.time(), kind, "driver", as_json(detail)])


def _failed(doing: str, error: BaseException) -> None:
    if _link is not None:
        _say(_link[1], "capture-failed", {"doing": doing, "error": repr(error)})


def watch() -> None:
    """Tell where this process stands, should it stand for long; a client is being made."""
    global _standing  # noqa: PLW0603 - one for each process
    with guard("where the driver stands"):
        if _standing is None or _standing[0] != os.getpid():
            thread = threading.get_ident()
            _standing = (
                os.getpid(),
                Standing(thread, setting_seconds("stall.after"), _stood),
            )
            _standing[1].start()


def _stood(kind: str, detail: dict[str, Any]) -> None:
    if not _is_a_worker():
        _say(_the_link(), kind, detail)


async def joined(client: Any) -> None:
    """Record the cluster of a client that has just connected."""
    with guard("a client of the command", tell=_failed):
        link = await asyncio.to_thread(_the_link)
        order = await install(client, os.environ[RECORDING])
        _attached[client.id] = order
        link.order(order)
        facts = {"pid": os.getpid(), "client": client.id}
        _say(link, "driver-attached", facts | {"cluster": cluster_facts(client)})


async def left(client: Any) -> None:
    """Let the recorder pull what is left before the client, and its cluster, close."""
    with guard("the last words of a cluster"):
        order = _attached.get(client.id)
        if order is not None:
            if _tap is not None:
                _tap.tell_time()
            await asyncio.to_thread(_drain, order.address)
            _attached.pop(client.id, None)


def _drain(address: str) -> None:
    link = _the_link()
    link.forget("drained")
    link.order(Drain(address=address))
    link.wait_for("drained", _LAST_WORDS)


def report(error: BaseException) -> None:
    """Tell of the exception that ends this process, while its clusters still stand."""
    with guard("the driver's exception"):
        link = _the_link()
        _say(link, "driver-exception", described(error))
        for address in {order.address for order in _attached.values()}:
            _drain(address)
        if not _attached:
            _drain(
                ""
            )  # nothing to pull: the answer says that the exception has arrived


def report_exit(message: object, frame: FrameType | None) -> None:
    """Tell of a `sys.exit` with a message, called in `frame`."""
    if threading.current_thread() is not threading.main_thread():
        return  # only that thread ends
    trace: TracebackType | None = None
    while frame is not None:
        trace = TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    error = SystemExit(message).with_traceback(trace)
    error.__context__ = sys.exception()  # what it was called for, in an `except`
    report(error)
