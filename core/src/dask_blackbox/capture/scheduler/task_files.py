"""The files and URLs that a failed task names in its arguments, and those of its inputs.

The scheduler has the graph anyway.  Only strings that look like paths or URLs are read from
it, without user information and query, and only for tasks that failed.  Objects of libraries
are read by plain attributes; nothing is called, opened or unpickled.
"""

from __future__ import annotations

import functools
import pathlib
import re
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Iterator

from ..redaction import Redaction

if TYPE_CHECKING:
    from distributed.scheduler import TaskState

_MOST_TASKS = 200  # of a recording that are looked at
_MOST_OF_A_PREFIX = 20
_MOST_FILES = 5  # of a task; of its inputs
_MOST_NODES = 300
_MOST_ITEMS = 50
_MOST_INPUTS = 40
_DEEPEST = 10
_LONGEST = 400

_URL = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]{1,30})://(?P<rest>\S[^\n\r\t]*)")
_SERVICES = ("http", "https")
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
"""Azure's, where the container stands in the place of a user."""
_NOT_FILES = ("tcp", "tls", "ucx", "ucxx", "inproc", "ws", "wss")
_PATH = re.compile(r"(?:~|[A-Za-z]:)?/[^\s/:*?\"<>|]+(?:[/][^\n\r\t\0]+)")
_NAMED = re.compile(
    r"(?:\.{1,2}/|~/|/|[A-Za-z]:/)?(?:[\w.@=+-][\w .@=+-]*/)*[\w.@=+-][\w .@=+-]*\.(?:avro|csv|dat|db|feather|fits|geojson"
    r"|gpkg|grib2?|h5|hdf5?|ipc|arrow|jpe?g|jsonl?|las|laz|log|ndjson|nc|npy|npz|orc|parq|parquet"
    r"|pickle|pkl|png|shp|sqlite3?|tiff?|tsv|txt|xlsx?|xml|yaml|yml|zarr|zip)"
    r"(?:\.(?:bz2|gz|lz4|snappy|tar|xz|zip|zst))?/?"
)
_WRITES = re.compile(
    r"^(?:to|write|save|dump|store|upload|export|put)(?:_|-|$)|[Ww]rite"
)
_PARTS = ("func", "args", "kwargs", "dsk", "value")
_NODES = ("dask.", "distributed.")


class TaskFiles:
    """Finds the files of failed tasks: of the first ones only."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._keys: set[str] = set()

    def of(self, ts: TaskState) -> dict[str, list[str]]:
        """Return what a failed task reads, writes, and what its inputs read.

        Args:
            ts: Its `TaskState` on the scheduler.
        """
        prefix, key = ts.prefix.name, str(ts.key)
        count = self._seen.get(prefix, 0)
        full = len(self._keys) >= _MOST_TASKS or count >= _MOST_OF_A_PREFIX
        if full or key in self._keys:
            return {}
        self._keys.add(key)
        self._seen[prefix] = count + 1
        try:
            return self._reported(ts)
        except Exception:  # a graph may hold anything
            return {}

    def _reported(self, ts: TaskState) -> dict[str, list[str]]:
        reads, writes = files_of(ts.run_spec)
        found = {"reads": reads, "writes": writes}
        if not reads:
            found["inputs"] = _read_before(ts)
        return {name: files for name, files in found.items() if files}


def _read_before(ts: TaskState) -> list[str]:
    """Return what the tasks read that a task depends on; nothing if that is much."""
    waiting, seen = deque(islice(ts.dependencies, _MOST_INPUTS)), set()
    found: dict[str, None] = {}
    while waiting:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if len(seen) > _MOST_INPUTS:
            return []
        found.update(dict.fromkeys(files_of(each.run_spec)[0]))
        if len(found) > _MOST_FILES:
            return []  # of a shuffle, all of them: that says nothing
        waiting.extend(islice(each.dependencies, _MOST_INPUTS))
    return list(found)


def files_of(spec: object) -> tuple[list[str], list[str]]:
    """Return the files that a part of a graph reads, and those that it writes.

    Args:
        spec: A task as the scheduler holds it.
    """
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for file, writing in islice(_walk(spec), _MOST_ITEMS):
        (writes if writing else reads).setdefault(file)
    return list(reads)[:_MOST_FILES], list(writes)[:_MOST_FILES]


def _walk(spec: object) -> Iterator[tuple[str, bool]]:
    """Yield the files in a part of a graph, each with whether it is for writing."""
    waiting: deque[tuple[object, bool, int]] = deque([(spec, False, 0)])
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_NODES:
        value, writing, depth = waiting.popleft()
        file = looks_like_a_file(value)
        if file is not None:
            yield file, writing
            continue
        if depth >= _DEEPEST or id(value) in seen:
            continue
        seen.add(id(value))
        inside, function = _inside(value)
        if function is not None:
            writing = _is_a_writer(function)
        for each in islice(inside, _MOST_ITEMS):
            waiting.append((each, writing, depth + 1))


def _inside(value: Any) -> tuple[Any, Any]:
    """Return what may name files in turn, and the function that it is given to, if any."""
    kind = type(value)
    if kind is dict:
        return value.values(), None
    if kind in (list, tuple, set, frozenset):
        # A tuple that begins with a function is a task of Dask before 2024.9.
        task = kind is tuple and value and callable(value[0])
        return value, value[0] if task else None
    if kind is functools.partial:
        return (value.args, value.keywords), value.func
    if kind.__module__.startswith(_NODES):
        return _inside_node(value)
    return (), None


def _inside_node(value: object) -> tuple[object, object]:
    if type(value).__name__ == "FragmentWrapper":
        # Arrow's fragment, packed: format, path, file system, expression, size.
        packed = getattr(value, "_fragment_packed", None)
        return (packed[1:2] if type(packed) is tuple else ()), None
    inside = [_plain(value, name) for name in _PARTS]
    return inside, inside[0]


def _plain(value: object, name: str) -> object:
    """Return an attribute of a node of the graph, without its class's `__getattr__`."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def _is_a_writer(function: object) -> bool:
    while type(function) is functools.partial:
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    return type(name) is str and _WRITES.search(name) is not None


def looks_like_a_file(value: object) -> str | None:
    """Return the path or URL that a value is, without secrets; None if it is none."""
    kind = type(value)
    if kind.__name__ == "OpenFile" and kind.__module__ == "fsspec.core":
        held = vars(value)
        return _fsspec_path(held.get("fs"), held.get("path"))
    if isinstance(value, pathlib.PurePath):
        value = str(value)
        return _SECRECY.text(value[:_LONGEST]) if "/" in value else _named(value)
    return _named(value) if type(value) is str and len(value) <= _LONGEST else None


def _named(text: str) -> str | None:
    url = _URL.fullmatch(text)
    if url is not None:
        return _without_secrets(url)
    if _PATH.fullmatch(text) or _NAMED.fullmatch(text):
        return _SECRECY.text(text)
    return None


def _without_secrets(url: re.Match[str]) -> str | None:
    if url["scheme"].lower() in _NOT_FILES:
        return None
    rest = re.split(r"[?#]", url["rest"], maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    if not path and url["scheme"].lower() in _SERVICES:
        return None  # an endpoint
    user, at, host = host.rpartition("@")
    if url["scheme"].lower() in _CONTAINERS and ":" not in user:
        host = f"{user}{at}{host}"
    return _SECRECY.text(f"{url['scheme']}://{host}{slash}{path}")


def _fsspec_path(fs: object, path: object) -> str | None:
    if type(path) is not str:
        return None
    protocol = getattr(type(fs), "protocol", "file")
    name = protocol if type(protocol) is str else next(iter(protocol), "file")
    if name in ("file", "local") or "://" in path:
        return _named(path[:_LONGEST])
    return _named(f"{name}://{path}"[:_LONGEST])


_SECRECY = Redaction()
