"""What the graphs that a driver sends read and write: the paths that Dask's own calls were given.

`dd.read_parquet`, `dd.read_csv`, `to_parquet`, `to_csv`, `da.from_zarr`, `da.to_zarr` and their
kind leave them in the graph, in expressions of Dask, files of fsspec and arrays of Zarr.  Text
that a function of the user's is given is not taken for a path: nobody says that it is one.
Nothing is opened, computed or materialised, and graphs of `submit` and `map` are not looked at.
"""

from __future__ import annotations

import functools
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import FunctionType, MemberDescriptorType
from typing import Any

from ..scheduler.task_files import looks_like_a_file

_MOST_VISITED = 1_000  # parts of a graph
_MOST_ITEMS, _MOST_TASKS = 500, 50  # of a list in it, of a layer
_MOST_NAMES = 200  # of a recording, for reading and for writing
_LONGEST = 1.0  # seconds for all graphs of a recording
_LONGEST_NAME = 400
_NOT_LOOKED_AT = ("LLGExpr", "_MapExpr")
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type, FunctionType)
_STORES = ("load_store_chunk", "store_chunk")
_PARTS = (
    "operands",  # of an expression
    *("mapping", "task", "indices", "io_deps"),  # of a layer
    *("func", "args", "kwargs", "value"),  # of a task
)
_OF_XARRAY = ("array", "_array", "datastore")
_ARROWS = {"S3": "s3", "Gcs": "gs", "Azure": "abfs", "Hadoop": "hdfs"}
"""Arrow's file systems by the beginning of their classes' names."""

Note = Callable[[dict[str, object]], None]
"""Takes the fields of an `events.DataNamed`."""


class GraphData:
    """Collects what the graphs of a recording read and write, each path once.

    Args:
        note: Is called with what no earlier graph had.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self._left = _LONGEST

    def sent(self, graph: object) -> None:
        """Look at a graph that was sent."""
        if type(graph).__name__ in _NOT_LOOKED_AT or self._left <= 0:
            return
        began = time.perf_counter()
        reads, writes, more = data_of(graph)
        self._left -= time.perf_counter() - began
        new = {
            "reads": _added(self.reads, reads),
            "writes": _added(self.writes, writes),
        }
        if new["reads"] or new["writes"]:
            self._note({**new, "more": more or self._left <= 0})


def _added(known: dict[str, None], found: Iterable[str]) -> list[str]:
    new = [each for each in found if each not in known]
    new = new[: max(0, _MOST_NAMES - len(known))]
    known.update(dict.fromkeys(new))
    return new


def data_of(graph: object) -> tuple[list[str], list[str], bool]:
    """Return what a graph reads, what it writes, and whether some of it was not looked at.

    Args:
        graph: As a client sends it: an expression of Dask, or a `HighLevelGraph`.
    """
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    waiting: list[tuple[Any, bool]] = [(graph, False)]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_VISITED:
        value, writing = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for path, written in _named_by(value, writing=writing):
            (writes if written else reads).setdefault(path)
        writing = writing or _is_storing(value)
        # The first one next, and all that is in it: files are deep inside.
        waiting.extend((each, writing) for each in reversed(_inside(value)))
    return list(reads), list(writes), bool(waiting)


def _named_by(value: Any, *, writing: bool) -> Iterator[tuple[str, bool]]:
    """Yield the paths that a part of a graph itself names, each with whether it is written."""
    kind = type(value)
    module = kind.__module__
    if kind.__name__ == "OpenFile" and module == "fsspec.core":
        path = looks_like_a_file(value)
        if path is not None:
            yield _absolute(path), "r" not in str(vars(value).get("mode"))
    elif module.startswith("zarr.") and kind.__name__ == "Array":
        yield from ((path, writing) for path in _of_zarr(value))
    elif module.startswith("xarray.") and isinstance(_held(value, "_filename"), str):
        yield from ((path, writing) for path in _paths(_held(value, "_filename"), None))
    elif "path" in _parameters(kind):
        fs = _operand(value, "fs") or _operand(value, "filesystem")
        written = kind.__name__.startswith("To")
        yield from ((path, written) for path in _paths(_operand(value, "path"), fs))


def _of_zarr(array: Any) -> Iterator[str]:
    """Yield where the store of an array is, as Zarr 3 and 2 have it."""
    store = array.store
    root = _held(store, "root") or _held(store, "path") or _held(store, "dir_path")
    yield from _paths(root, _held(store, "fs"))


def _inside(value: Any) -> list[Any]:
    """Return the parts of a part of a graph that may name paths in turn."""
    kind = type(value)
    found: Iterable[Any] = ()
    if kind is dict:
        found = islice(value.values(), _MOST_TASKS)
    elif kind in (list, tuple):
        found = islice(value, _MOST_ITEMS)
    elif kind is functools.partial:
        found = (value.args, value.keywords)
    elif kind.__module__.startswith("xarray."):
        found = (_held(value, name) for name in _OF_XARRAY)
    elif kind.__module__.startswith("dask."):
        found = _inside_of_dasks(value)
    return [each for each in found if type(each) not in _PLAIN]


def _inside_of_dasks(value: Any) -> Iterator[Any]:
    if _is_fused_storing(value):
        return
    layers = _held(value, "layers")  # of a graph
    if type(layers) is dict:
        yield from islice(layers.values(), _MOST_ITEMS)
    for name in _PARTS:
        yield _held(value, name)


def _is_storing(value: Any) -> bool:
    """Return whether a layer or a task writes into the arrays that it holds."""
    if not type(value).__module__.startswith("dask."):
        return False
    task = _held(value, "task")
    return _function_of(value if task is None else task) in _STORES


def _is_fused_storing(value: Any) -> bool:
    """Return whether a task is several in one that also write: which array is read, is open."""
    if _function_of(value) != "_execute_subgraph":
        return False
    inside = next(iter(_held(value, "args") or ()), None)
    tasks = islice(inside.values(), _MOST_TASKS) if type(inside) is dict else ()
    return any(_function_of(each) in _STORES for each in tasks)


def _function_of(task: Any) -> str:
    function = _held(task, "func")
    while type(function) is functools.partial:
        function = function.func
    return str(getattr(function, "__name__", ""))


def _parameters(kind: type) -> tuple[str, ...]:
    """Return the names of the operands of a class of expressions of Dask."""
    names = getattr(kind, "_parameters", ())
    is_named = kind.__module__.startswith("dask.") and isinstance(names, list | tuple)
    return tuple(names) if is_named else ()


def _operand(value: Any, name: str) -> Any:
    """Return an operand of an expression of Dask."""
    names = _parameters(type(value))
    operands = _held(value, "operands") or ()
    place = names.index(name) if name in names else len(operands)
    return operands[place] if place < len(operands) else None


def _held(value: object, name: str) -> Any:
    """Return an attribute that an object itself holds; nothing of its class is called."""
    try:
        own = object.__getattribute__(value, "__dict__")
        if name in own:
            return own[name]
    except AttributeError:
        pass  # it has slots only
    slot = getattr(type(value), name, None)
    try:
        return slot.__get__(value) if type(slot) is MemberDescriptorType else None
    except AttributeError:
        return None


def _paths(given: object, fs: object) -> Iterator[str]:
    """Yield a path, or the paths of a list, as URLs or absolute paths without secrets."""
    for each in given if isinstance(given, list | tuple) else [given]:
        text = os.fspath(each) if isinstance(each, os.PathLike) else each
        if isinstance(text, str) and len(text) <= _LONGEST_NAME:
            named = _named(text, _protocol(fs))
            if named is not None:
                yield named


def _named(text: str, protocol: str) -> str | None:
    if text.startswith(("file://", "local://")):
        text = text.partition("://")[2]
    if "://" in text:
        return looks_like_a_file(text)
    if protocol not in ("", "file", "local"):
        return looks_like_a_file(f"{protocol}://{text.lstrip('/')}")
    return looks_like_a_file(pathlib.PurePath(_absolute(text)))


def _protocol(fs: Any) -> str:
    """Return the protocol of a file system of fsspec or Arrow; empty: it is not known."""
    kind = type(fs)
    if kind.__module__.startswith("pyarrow."):
        found = (
            name for start, name in _ARROWS.items() if kind.__name__.startswith(start)
        )
        return next(found, "file")
    protocol = getattr(fs, "protocol", "")
    first = next(iter(protocol), "") if isinstance(protocol, list | tuple) else protocol
    return first if isinstance(first, str) else ""


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)
