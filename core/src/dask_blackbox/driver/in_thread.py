"""Blocking calls from an event loop, also while the interpreter exits."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar, cast

_T = TypeVar("_T")


async def in_thread(do: Callable[[], _T]) -> _T:
    """As `asyncio.to_thread`, in a thread of its own.

    A client may be made or closed by a handler of the interpreter's exit, as that of dask-mpi
    does; Python has closed its executors by then.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def settle(result: _T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast("_T", result))

    def work() -> None:
        result, failure = None, None
        try:
            result = do()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="dask-blackbox-call", daemon=True).start()
    return await future
