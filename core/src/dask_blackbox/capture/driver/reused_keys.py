"""Keys that the driver gives to a second task while the first one's result is still held.

`Client.submit` and `Client.map` return the first result then, whatever the new arguments are,
and log nothing; the scheduler never receives the second task.  Of another client of the same
scheduler, or of a delayed function that is called with `dask_key_name=`, it receives it, and
ignores it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import pathlib
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..exceptions import remove_own_frame
from ..user_frames import innermost_user_frame, place_of
from .merged_calls import MergedCalls
from .patches import Patches

if TYPE_CHECKING:
    from distributed import Client

_MOST = 10_000
_LONGEST, _DEEPEST, _MOST_PARTS = 1_000, 3, 20
_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), dt.date, dt.time,
    dt.timedelta, decimal.Decimal, pathlib.PurePath,
)  # fmt: skip

_OF_DASK = frozenset({
    "key", "workers", "resources", "retries", "priority", "fifo_timeout",
    "allow_other_workers", "actor", "actors", "pure", "batch_size", "dask_key_name",
})  # fmt: skip
"""Arguments of `submit`, `map` and delayed functions that are not the task's."""

_DELAYED = "call_function"
"""The function of `dask.delayed` that makes a task of each call."""

Note = Callable[[dict[str, object]], None]
"""Takes the fields of an `events.KeyReused`."""


class ReusedKeys:
    """Compares the tasks to which a driver gives the same key.

    Only hashes of their functions and arguments are held, of the newest keys.

    Args:
        note: Is called for each key that was given to a different task.
        merged: Is asked about each call that was given no key.
    """

    def __init__(self, note: Note, merged: MergedCalls | None = None) -> None:
        self._note, self._merged = note, merged
        self._tasks: OrderedDict[tuple[Hashable, Hashable], int] = OrderedDict()
        self._clients: dict[Hashable, weakref.WeakSet[Client]] = {}

    def watch(self, client: Any, patches: Patches) -> None:
        """Compare what `submit` and `map` of the class of clients are given from now on."""
        for name, tasks_of in (("submit", _submitted), ("map", _mapped)):
            inner = getattr(client, name)
            patches.replace(client, name, inner, self._watched(inner, tasks_of))

    def watch_delayed(self, module: Any, client: Any, patches: Patches) -> None:
        """Compare what calls of delayed functions with `dask_key_name=` are given from now on.

        Args:
            module: `dask.delayed`.
            client: The class of clients, which knows those that there are.
            patches: Where the replaced function is remembered.
        """
        inner = getattr(module, _DELAYED, None)
        if inner is not None:
            patches.replace(
                module, _DELAYED, inner, self._watched_delayed(inner, client)
            )

    def _watched_delayed(self, inner: Any, client: Any) -> Any:
        @functools.wraps(inner)
        def call_function(
            func: Any, token: Any, args: Any, kwargs: Any, *more: Any, **options: Any
        ) -> Any:
            if kwargs.get("dask_key_name") is not None:
                self._compare_delayed(client, func, args, kwargs)
            try:
                return inner(func, token, args, kwargs, *more, **options)
            except BaseException as error:
                remove_own_frame(error)
                raise

        return call_function

    def _compare_delayed(
        self, client: Any, func: object, args: Any, kwargs: dict[str, object]
    ) -> None:
        try:
            key: Any = kwargs["dask_key_name"]
            definition = _definition(func, tuple(args), kwargs)
            place, new = (_DELAYED, key), hash(definition)
            clients = list(getattr(client, "_instances", ()))
            held = any(key in each.futures for each in clients)
            if not held or place not in self._tasks:
                self._tasks[place] = new
                self._tasks.move_to_end(place)
            elif self._tasks[place] != new:
                self._note({**_reused(key, definition[0]), "delayed": True})
            while len(self._tasks) > _MOST:
                self._tasks.popitem(last=False)
        except Exception:  # the user's own call reports wrong arguments
            pass

    def _watched(self, inner: Any, tasks_of: _TasksOf) -> Any:
        @functools.wraps(inner)
        def call(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("key") is not None and args:
                self._compare(self_, tasks_of(args, kwargs))
            try:
                given = inner(self_, *args, **kwargs)
            except BaseException as error:
                remove_own_frame(error)
                raise
            if kwargs.get("key") is None and args and self._merged is not None:
                try:
                    self._merged.called(self_, args[0], given)
                except Exception:  # of an unusual client or function
                    pass
            return given

        return call

    def _compare(self, client: Client, tasks: Iterable[_Task]) -> None:
        try:
            scheduler = _scheduler_of(client)
            clients = self._clients.setdefault(scheduler, weakref.WeakSet())
            clients.add(client)
            for key, definition in islice(tasks, _MOST):
                place = (scheduler, key)
                new = hash(definition)
                if not any(key in each.futures for each in clients):
                    self._tasks[place] = new
                    self._tasks.move_to_end(place)
                elif self._tasks.get(place, new) != new:
                    self._note(_reused(key, definition[0]))
            while len(self._tasks) > _MOST:
                self._tasks.popitem(last=False)
        except Exception:  # the user's own call reports wrong arguments
            pass


def _scheduler_of(client: Client) -> Hashable:
    """Return what stands for the scheduler of a client: its address, if it is connected."""
    return getattr(getattr(client, "scheduler", None), "address", None) or id(client)


_Task = tuple[Hashable, tuple[str, Hashable, Hashable]]
"""A key, and the name of the function with what distinguishes its arguments."""

_TasksOf = Callable[[tuple[Any, ...], dict[str, Any]], Iterator[_Task]]


def _submitted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[_Task]:
    """Yield key and definition of the task of a `submit`."""
    yield kwargs["key"], _definition(args[0], args[1:], kwargs)


def _mapped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[_Task]:
    """Yield keys and definitions of the tasks of a `map` that is given a list of keys."""
    keys, columns = kwargs["key"], args[1:]
    # An iterator can be read only once, and a string is a prefix, to which Dask adds a token.
    if all(isinstance(each, list | tuple | range) for each in (keys, *columns)):
        for key, *values in zip(keys, *columns):
            yield key, _definition(args[0], tuple(values), kwargs)


def _definition(
    func: object, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[str, Hashable, Hashable]:
    name = getattr(func, "__qualname__", type(func).__name__)
    named = tuple(
        (each, _value(value)) for each, value in kwargs.items() if each not in _OF_DASK
    )
    return name, tuple(map(_value, args)), named


def _value(value: Any, depth: int = _DEEPEST) -> Hashable:
    """Return what distinguishes a value from others; only the type of a large one."""
    if isinstance(value, _PLAIN):
        large = isinstance(value, str | bytes) and len(value) > _LONGEST
        return (type(value).__name__, value[:_LONGEST] if large else value)  # type: ignore[index]
    if isinstance(value, dict):
        value = tuple(islice(value.items(), _MOST_PARTS))
    if isinstance(value, list | tuple) and depth:
        return tuple(_value(each, depth - 1) for each in value[:_MOST_PARTS])
    if type(value).__name__ in ("Future", "Delayed", "DelayedLeaf"):
        return str(value.key)
    return type(value).__name__


def _reused(key: object, function: str) -> dict[str, object]:
    frame = innermost_user_frame(sys._getframe(1))
    return {"key": str(key), "task": function, **place_of(frame)}
