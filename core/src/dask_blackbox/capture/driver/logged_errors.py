"""Exceptions that the driver's own code handled and logged: a job may still exit because of them.

Of an exception that no call to Dask raised, only its log record is seen, by `logging.exception`
or as an argument of another call.  It is described as what ends a driver is, and remembered with
what Dask raised, so that the driver's source shows which one led to its end.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter

from ..exceptions import bases_of, message_of, own_frame, qualified
from ..logs import cut, plain
from ..user_frames import is_foreign, is_ours
from .client_calls import comes_from_dask, identity_of, trace_of
from .handled_errors import remember_raised

_MOST, _MOST_ALIKE = 60, 5
_LONGEST = 2_000
_OF_TASKS = "Dask-"  # in the names of the threads that run them


class LoggedErrors:
    """Describes the exceptions in the log records of one recording."""

    def __init__(self) -> None:
        self._alike = Counter[tuple[str, str, int]]()
        self._described = 0

    def of(self, record: logging.LogRecord) -> dict[str, object] | None:
        """Return the fields of `DriverErrorLogged`; None: the record has no such exception.

        The first few are described that one line logs of one class: more are alike.
        """
        error = _error_of(record)
        if error is None or self._described >= _MOST:
            return None
        kind = (type(error).__name__, record.pathname, record.lineno)
        self._alike[kind] += 1
        if self._alike[kind] > _MOST_ALIKE or comes_from_dask(error):
            return None
        self._described += 1
        frame = own_frame(error)
        return {
            "pid": os.getpid(),
            "exception": qualified(type(error)),
            "bases": bases_of(error),
            "message": cut(plain(message_of(error)), _LONGEST),
            "traceback": trace_of(error),
            "identity": identity_of(error),
            "id": remember_raised(error),
            "file": None if frame is None else frame.filename,
            "line": None if frame is None else frame.lineno,
            "function": None if frame is None else frame.name,
        }


def _error_of(record: logging.LogRecord) -> BaseException | None:
    """Return the exception that a line of the user's own logs in the driver, or None."""
    if record.levelno < logging.WARNING:
        return None
    if is_foreign(record.pathname) or is_ours(record.pathname):
        return None
    if _OF_TASKS in threading.current_thread().name:
        return None
    info, args = record.exc_info, record.args
    given = info[1] if isinstance(info, tuple) else None
    values = args if isinstance(args, tuple) else ()
    errors = (each for each in (given, *values) if isinstance(each, Exception))
    return next((each for each in errors if each.__traceback__ is not None), None)
