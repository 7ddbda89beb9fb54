"""Errors that the driver received from Dask, or logged: where, and no more of them.

`error_flow` looks which of them led to the driver's end, where that is asked for.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import NamedTuple

from ..user_frames import innermost_user_frame, is_foreign, is_ours
from .awaiting_tasks import frames_of_waiting, is_event_loop

_FIRST, _NEWEST = 40, 60  # errors that are remembered
_FRAMES, _DEEPEST = 10, 200  # of the user's, and in all


class Place(NamedTuple):
    """A line of the user's that is being executed."""

    file: str
    line: int


class Handled(NamedTuple):
    """An error that a call to Dask raised or returned, or that the driver logged.

    Attributes:
        id: As its event has it.
        classes: Names of its class and of the bases of that.
        returned: Whether a call returned it (`Future.exception`) instead of raising it.
        stack: The user's lines that were being executed, the innermost first.
        function: File and first line of the user's function that received it.
    """

    id: str
    classes: tuple[str, ...]
    returned: bool
    stack: tuple[Place, ...]
    function: tuple[str, int] | None = None


_first: list[Handled] = []
_newest: deque[Handled] = deque(maxlen=_NEWEST)
_number = 0


def remember(error: BaseException, frame: FrameType | None, *, returned: bool) -> str:
    """Remember where the driver received an error, and return its id.

    Args:
        error: The error; no reference to it is kept.
        frame: The innermost frame that it has not left.
        returned: Whether a call returned it (`Future.exception`) instead of raising it.
    """
    user = innermost_user_frame(frame)
    function = None if user is None else _function_of(user)
    return _remember(error, stack_of(frame), returned=returned, function=function)


def remember_raised(error: BaseException) -> str:
    """Remember where an exception came from that the driver has handled, and return its id."""
    trace = error.__traceback__
    outer = None if trace is None else trace.tb_frame.f_back
    stack = (*stack_of_traceback(trace), *stack_of(outer))[:_FRAMES]
    return _remember(error, stack, returned=False)


def _remember(
    error: BaseException,
    stack: tuple[Place, ...],
    *,
    returned: bool,
    function: tuple[str, int] | None = None,
) -> str:
    global _number  # noqa: PLW0603 - one count for the process
    _number += 1
    classes = tuple(each.__name__ for each in type(error).__mro__)
    identity = f"{os.getpid():x}.{_number}"
    handled = Handled(identity, classes, returned, stack, function)
    if len(_first) < _FIRST:
        _first.append(handled)
    else:
        _newest.append(handled)
    return identity


def forget() -> None:
    """Forget all errors, at the beginning of a recording: earlier ones do not count against its limit."""
    _first.clear()
    _newest.clear()


def remembered() -> Iterator[Handled]:
    """Yield the errors that are remembered, the oldest first."""
    yield from (*_first, *_newest)


def received_below(frame: FrameType | None) -> str | None:
    """Return the newest error that a function which has not returned yet had received.

    Args:
        frame: The innermost one.
    """
    now = {
        _function_of(each) for each in itertools.islice(_frames_from(frame), _DEEPEST)
    }
    newest_first = (*reversed(_newest), *reversed(_first))
    return next((each.id for each in newest_first if each.function in now), None)


def _function_of(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_code.co_firstlineno


def stack_of(frame: FrameType | None) -> tuple[Place, ...]:
    """Return the user's frames, the innermost first, and those of tasks that wait for them."""
    places = list[Place]()
    for each in itertools.islice(_frames_from(frame), _DEEPEST):
        _add(places, each, each.f_lineno)
        if len(places) == _FRAMES:
            break
    return tuple(places)


def _frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        if is_event_loop(frame):
            yield from frames_of_waiting()
        frame = frame.f_back


def stack_of_traceback(trace: TracebackType | None) -> tuple[Place, ...]:
    """Return the user's lines of a traceback, the innermost first."""
    places = list[Place]()
    while trace is not None:
        _add(places, trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return tuple(reversed(places[-_FRAMES:]))


def _add(places: list[Place], frame: FrameType, line: int | None) -> None:
    name = frame.f_code.co_filename
    if line is not None and not is_ours(name) and not is_foreign(name):
        places.append(Place(name, line))
