"""What code the tasks of a prefix run: one hash for each prefix, told with its graph.

The scheduler holds the functions of a graph anyway; only plain attributes of them are
read, nothing is unpickled or called.  Of a library's function, the name is enough, as its
version is told elsewhere; of the user's own, the bytecode counts, and that of the
functions that it calls.  File names, line numbers and docstrings do not.
"""

from __future__ import annotations

import functools
import hashlib
import time
import types
from itertools import islice
from typing import Any

__all__ = ["CodeMarks", "mark_of"]

_MOST_PREFIXES = 2_000
_SECONDS = 0.02  # of the event loop, for one graph
_MOST_PARTS = 120
_DEEPEST = 6
_MOST_ITEMS = 24
_DIGITS = 12
_FOREIGN = ("site-packages", "dist-packages", "/lib/python3", "\\lib\\", "<frozen")


class CodeMarks:
    """Tells the hash of each prefix once."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, firsts: dict[str, Any]) -> dict[str, str]:
        """Return the hashes of prefixes that are new, as far as a moment suffices.

        Args:
            firsts: A task's `TaskState` of each prefix of a graph.
        """
        found: dict[str, str] = {}
        if len(firsts) <= len(self._known) and firsts.keys() <= self._known:
            return found  # as of every graph but the first few of a kind
        deadline = time.perf_counter() + _SECONDS
        for name, ts in firsts.items():
            if name in self._known:
                continue
            if time.perf_counter() > deadline or len(self._known) > _MOST_PREFIXES:
                break
            self._known.add(name)
            try:
                mark = mark_of(ts.run_spec)
            except Exception:
                mark = None
            if mark:
                found[name] = mark
        return found


def mark_of(run_spec: Any) -> str | None:
    """Return a hash of the functions that a task runs; None if none is known."""
    parts: list[str] = []
    _walk(run_spec, parts, set(), 0)
    if not parts:
        return None
    # In their order: what calls what is part of it.
    text = "\n".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def _walk(value: Any, parts: list[str], seen: set[int], depth: int) -> None:
    """Add the functions that a value holds, as far as it is made of known things."""
    if depth > _DEEPEST or len(parts) >= _MOST_PARTS or id(value) in seen:
        return
    kind = type(value)
    if kind is types.FunctionType:
        seen.add(id(value))
        _function(value, parts, seen, depth)
    elif kind in (types.BuiltinFunctionType, types.MethodDescriptorType):
        parts.append(str(getattr(value, "__qualname__", "")))
    elif kind is type:
        parts.append(f"{value.__module__}.{value.__qualname__}")
    else:
        for each in _inside(value, kind, parts):
            seen.add(id(value))
            _walk(each, parts, seen, depth + 1)


def _inside(value: Any, kind: Any, parts: list[str]) -> Any:
    """Return what may hold functions in turn."""
    if kind is dict:
        return islice(value.values(), _MOST_ITEMS)
    if kind in (list, tuple):
        return islice(value, _MOST_ITEMS)
    if kind is types.MethodType:
        return (value.__func__,)
    if kind is functools.partial:
        return (value.func, value.args, value.keywords)
    if kind.__module__ not in ("dask._task_spec", "dask.optimization", "dask.utils"):
        return ()
    # Dask's own nodes: tasks, containers, subgraphs, callers of a method.
    method = getattr(value, "method", None)
    if type(method) is str:
        parts.append(method)
    return [getattr(value, name, None) for name in ("func", "args", "kwargs", "dsk")]


def _function(function: Any, parts: list[str], seen: set[int], depth: int) -> None:
    code = function.__code__
    name = f"{function.__module__}.{function.__qualname__}"
    if any(part in code.co_filename for part in _FOREIGN):
        parts.append(name)
        return
    parts.append(f"{function.__qualname__} {_bytecode(code, function.__doc__, 0)}")
    scope = function.__globals__
    for word in code.co_names[:_MOST_ITEMS]:
        used = scope.get(word)
        if type(used) is types.FunctionType:
            _walk(used, parts, seen, depth + 1)
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:
            continue
        if type(held) in (types.FunctionType, functools.partial):
            _walk(held, parts, seen, depth + 1)


def _bytecode(code: Any, doc: Any, depth: int) -> str:
    digest = hashlib.sha256(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames[: code.co_argcount])).encode())
    for each in code.co_consts:
        if type(each) is types.CodeType:
            if depth < _DEEPEST:
                digest.update(_bytecode(each, None, depth + 1).encode())
        elif type(each) is frozenset:
            digest.update(repr(sorted(map(repr, each))).encode("utf-8", "replace"))
        elif each is not doc and each != doc:
            digest.update(repr(each).encode("utf-8", "replace"))
    return digest.hexdigest()[:16]
