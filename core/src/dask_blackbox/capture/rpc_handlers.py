"""Operations that a recording adds to a scheduler or worker, and that end with it.

Dask asks of each handler whether it expects a connection, and keeps the answer for good,
together with the handler.  A bound method would keep the whole recording in memory.
"""

from __future__ import annotations

import weakref
from typing import Any, Awaitable, Callable


class Handler:
    """Calls a method without keeping its object.

    All are equal, so that Dask keeps one answer for all of them.

    Args:
        method: A coroutine method, whose first argument is not called `comm`.
    """

    def __init__(self, method: Callable[..., Awaitable[object]]) -> None:
        self._method = weakref.WeakMethod(method)
        self.__name__ = method.__name__  # which Dask logs

    def __call__(self, **arguments: Any) -> Awaitable[object]:
        method = self._method()
        if method is None:
            raise LookupError(f"{self.__name__}: this recording has ended")
        return method(**arguments)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))
