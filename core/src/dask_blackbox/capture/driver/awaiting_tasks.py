"""Which asyncio tasks wait for the running one: the stack of an asynchronous driver.

A coroutine that awaits another one is found below it on the stack.  `asyncio.wait_for`, `gather`
and `TaskGroup` run what they are given in tasks of their own, whose stack ends at the event loop;
who waits for such a task is seen in its callbacks.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import Iterator
from types import CoroutineType, FrameType
from typing import Any

_MOST_TASKS, _MOST_WAITING, _DEEPEST = 1_000, 10, 100
_LONGEST = 0.5
"""Seconds that a process spends on this in all: it runs on the user's event loop."""
_spent = 0.0
_LOOP = (f"asyncio{os.sep}events.py", "_run")
"""File and function in which the event loop runs a step of a task."""


def is_event_loop(frame: FrameType) -> bool:
    """Return whether a frame is where the event loop calls what it runs."""
    code = frame.f_code
    return code.co_name == _LOOP[1] and code.co_filename.endswith(_LOOP[0])


def frames_of_waiting() -> Iterator[FrameType]:
    """Yield the frames of the tasks that wait for the running one, the innermost first."""
    global _spent  # noqa: PLW0603 - one for the process
    if _spent > _LONGEST:
        return
    begun, frames = time.perf_counter(), list[FrameType]()
    try:
        frames = _found()
    except Exception:  # the error itself matters more than who waits for it
        pass
    _spent += time.perf_counter() - begun
    yield from frames


def _found() -> list[FrameType]:
    task, frames = asyncio.current_task(), list[FrameType]()
    others = [] if task is None else [*asyncio.all_tasks()]
    for _ in range(_MOST_WAITING if len(others) <= _MOST_TASKS else 0):
        task = None if task is None else _waiting_for(task, others)
        if task is None:
            break
        others.remove(task)
        frames += reversed(_frames_of(task.get_coro()))
    return frames


def _waiting_for(task: asyncio.Task[Any], others: list[Any]) -> Any:
    """Return the task that waits for another one, or None."""
    known = [task, *_futures_of_callbacks(task)]
    for each in others:
        waits_for = getattr(each, "_fut_waiter", None)
        if each is task:
            continue
        if any(one is each or one is waits_for for one in known if one is not None):
            return each
    return None


def _futures_of_callbacks(task: Any) -> Iterator[object]:
    """Yield what the callbacks of a task refer to: futures to set, or the task that is waiting."""
    for callback, *_ in getattr(task, "_callbacks", None) or ():
        values: list[object] = []
        if isinstance(callback, functools.partial):  # of `wait_for`
            values += callback.args
        for cell in getattr(callback, "__closure__", None) or ():  # `gather`, `wait`
            values.append(_content(cell))
        owner = getattr(callback, "__self__", None)
        values.append(getattr(owner, "_parent_task", None))  # of a `TaskGroup`
        values.append(
            getattr(owner, "_done", None)
        )  # of `as_completed` since Python 3.13
        for value in values:
            yield value
            if isinstance(value, asyncio.Queue):
                yield from getattr(value, "_getters", ())


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _frames_of(coroutine: object) -> list[FrameType]:
    """Return the frames of a suspended coroutine and of those that it awaits, in this order."""
    frames = list[FrameType]()
    for _ in range(_DEEPEST):
        if not isinstance(coroutine, CoroutineType) or coroutine.cr_frame is None:
            break
        frames.append(coroutine.cr_frame)
        coroutine = coroutine.cr_await
    return frames
