"""The border to the host: our failure becomes one log line and a fact, never its exception.

All our code in a host's process runs inside `guard`.
What was swallowed is kept (bounded) so that the recording can state it, and so that
our own tests can raise it.  What a signal handler of the host raises while our code runs,
a time limit for one, is not our failure.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from traceback import walk_tb
from types import CodeType

logger = logging.getLogger("dask_blackbox")

kept: deque[tuple[str, BaseException]] = deque(maxlen=100)
"""What the guard swallowed: (what we were doing, the exception), newest last."""


class ReportedError(Exception):
    """A failure that was reported when it began: the guard keeps it, and logs no other line."""


@contextmanager
def guard(
    doing: str, *, on_error: Callable[[str, Exception], None] | None = None
) -> Iterator[None]:
    """Run our code inside the host; record its failure and continue.

    Args:
        doing: What is being done, in the words of the log line
            ("dask-blackbox continued without <doing>: …").
        on_error: Takes the same and the failure, so that the recording can state it.
    """
    try:
        yield
    except Exception as error:
        if (of_host := raised_by_signal_handler(error)) is not None:
            if of_host is error:
                raise
            raise of_host from None
        kept.append((doing, error))
        if not isinstance(error, ReportedError):
            _log(doing, error)
        if on_error is not None:
            on_error(doing, error)


def _log(doing: str, error: Exception) -> None:
    with suppress(Exception):  # its text cannot be had, or standard error is closed
        logger.warning(
            "dask-blackbox continued without %s: %s: %s",
            doing,
            type(error).__name__,
            error,
        )


def raised_by_signal_handler(error: BaseException) -> BaseException | None:
    """Return what a signal handler raised while the main thread ran our code.

    Args:
        error: That, or what our code made of it.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    handlers = {_code_of(signal.getsignal(each)) for each in signal.valid_signals()}
    seen: list[BaseException] = []
    now: BaseException | None = error
    while now is not None and now not in seen:
        frames = walk_tb(now.__traceback__)
        if any(frame.f_code in handlers for frame, _ in frames):
            return now
        seen.append(now)
        now = now.__cause__ or now.__context__
    return None


def _code_of(handler: object) -> CodeType | None:
    """Return the code of a signal handler; None: Python's own, or none."""
    while isinstance(handler, partial):
        handler = handler.func
    if not hasattr(handler, "__code__") and callable(handler):
        # A method has the code of its function; of other objects, `__call__` has.
        handler = getattr(handler, "__func__", getattr(handler, "__call__", None))  # noqa: B004
    code = getattr(handler, "__code__", None)
    return code if isinstance(code, CodeType) else None
