"""The code that the tasks of a prefix run: one hash for each prefix, reported with its graph.

The scheduler has the functions of a graph anyway; only plain attributes of them are read,
and nothing is unpickled or called.  For a library's function, the name is enough, because the
library's version is reported elsewhere.  For the user's own function, the hash covers what it
does (`bytecode`), the user's own functions that it calls, and the plain values that it was
given: defaults, closures, globals.
"""

from __future__ import annotations

import functools
import hashlib
import re
import time
import types
from itertools import islice
from typing import Iterable, Iterator, Mapping, TypedDict, cast

from ..bytecode import DIALECT, code_hash, signed
from ..user_frames import is_foreign

_MOST_PREFIXES = 2_000
_MOST_GRAPHS = 4  # lambdas of one prefix, for which each graph has another
_SECONDS = 0.02  # of the event loop, for one graph
_MOST_PARTS = 120
_DEEPEST = 6
_MOST_ITEMS = 24
_MOST_NAMES = 80
_NODES = ("dask._task_spec", "dask.optimization", "dask.utils")
# Moments, run numbers and seeds are no code: they are left out of the values.
_LARGEST = 1_000_000
# Separators are no part of words: otherwise there would be exponentially many ways to match.
_WORD = re.compile(r"_{0,2}[^\W\d_]{1,40}(?:[ _.-]{1,2}[^\W\d_]{1,40}){0,99}_{0,2}")
_MOST_REPORTED = 16  # names for one prefix
_INSIDE = 2  # levels down: of a tuple of defaults in a tuple
_HANDED = 2  # levels from a task down to what it was given by name
_OWN = "own "
_LIBRARY = "lib"  # the dialect of a mark that knows no code, only names of a library's
_class_dict: types.GetSetDescriptorType = type.__dict__["__dict__"]


class CodeOfPrefixes(TypedDict):
    """New code of each prefix: fields of a `graph-updated` event."""

    code: dict[str, str]
    functions: dict[str, list[str]]
    libraries: dict[str, list[str]]
    code_without_values: dict[str, str]
    values: dict[str, dict[str, str]]


class CodeMarks:
    """Reports the hashes of each prefix: of the first graphs that have it, once each."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}
        self._done: set[str] = set()

    def of(self, firsts: Mapping[str, object]) -> dict[str, str]:
        """Return the hashes that are new for their prefix, as far as a moment suffices.

        Args:
            firsts: A task's `TaskState` of each prefix of a graph.
        """
        return {name: each.mark for name, each in self._new(firsts).items()}

    def fields(self, firsts: Mapping[str, object]) -> CodeOfPrefixes:
        """Return the same as `code`, and the user's own functions that they represent.

        Args:
            firsts: A task's `TaskState` of each prefix of a graph.
        """
        new = self._new(firsts)
        return {
            "code": {name: each.mark for name, each in new.items()},
            "functions": {
                n: each.functions for n, each in new.items() if each.functions
            },
            "libraries": {
                n: each.libraries for n, each in new.items() if each.libraries
            },
            "code_without_values": {
                n: each.without_values for n, each in new.items() if each.without_values
            },
            "values": {name: each.values for name, each in new.items() if each.values},
        }

    def _new(self, firsts: Mapping[str, object]) -> dict[str, _Marked]:
        found: dict[str, _Marked] = {}
        if len(firsts) <= len(self._done) and firsts.keys() <= self._done:
            return found  # as of every graph but the first few of a kind
        deadline = time.perf_counter() + _SECONDS
        for name, ts in firsts.items():
            if name in self._done:
                continue
            if time.perf_counter() > deadline or len(self._known) > _MOST_PREFIXES:
                break
            known = self._known.setdefault(name, [])
            try:
                marked = _marked(getattr(ts, "run_spec", None))
            except Exception:
                marked = _Marked()
            if marked.mark and marked.mark not in known:
                found[name] = marked
            known.append(marked.mark)
            if len(known) >= _MOST_GRAPHS:
                self._done.add(name)
        return found


class _Marked:
    """The hashes of a task's functions, and what they represent.

    Attributes:
        mark: Hash of the functions and of the values that they were given; "": unknown.
        without_values: The same without the values.
        functions: The user's own functions, as `module:name`.
        libraries: Top-level modules of other functions that it calls.
        values: What was given to functions, by `module:function:name`: a number as it is,
            anything else as a digest.
    """

    def __init__(self) -> None:
        self.mark = self.without_values = ""
        self.functions: list[str] = []
        self.libraries: list[str] = []
        self.values: dict[str, str] = {}


class _Parts(list[str]):
    """What is hashed, and the names of what is the user's own in it, by module."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, None] = {}
        self.libraries: dict[str, None] = {}
        self.values: dict[str, str] = {}
        self.places: set[int] = set()
        """Where in the list values stand."""

    def given(self, name: str, value: object, depth: int = 0) -> bool:
        """Add a value that a function was given; return whether there is one to compare."""
        begin = len(self)
        _values(value, self, depth)
        added = self[begin:]
        if not added:
            return False
        self.places.update(range(begin, len(self)))
        if len(self.values) < _MOST_REPORTED:
            plain = len(added) == 1 and type(value) in (int, float, bool)
            digest = hashlib.sha256("\n".join(added).encode("utf-8", "replace"))
            self.values[name[:200]] = (
                added[0] if plain else f"#{digest.hexdigest()[:8]}"
            )
        return True

    def library(self, module: object) -> None:
        """Add the package of a function that is not the user's own."""
        root = str(module).partition(".")[0][:80]
        if len(self.libraries) < _MOST_REPORTED:
            self.libraries[root] = None

    def named(self, module: object, name: str) -> None:
        """Add a name of the user's own, as far as there are few."""
        if len(self.names) < _MOST_REPORTED:
            self.names[f"{module}:{name}"[:200]] = None


def _marked(run_spec: object) -> _Marked:
    """Return the hashes of the functions that a task runs, and what they represent."""
    parts, found = _Parts(), _Marked()
    _walk(run_spec, parts, set(), 0)
    if not parts:
        return found
    own = any(part.startswith(_OWN) for part in parts)
    dialect = DIALECT if own else _LIBRARY
    # In their order: what calls what is part of it.
    found.mark = signed("\n".join(parts), dialect)
    code = [part for place, part in enumerate(parts) if place not in parts.places]
    found.without_values = signed("\n".join(code), dialect)
    found.functions, found.libraries = list(parts.names), list(parts.libraries)
    found.values = parts.values
    return found


def _walk(value: object, parts: _Parts, seen: set[int], depth: int) -> None:
    """Add the functions that a value holds, as far as it is made of known things."""
    if depth > _DEEPEST or len(parts) >= _MOST_PARTS or id(value) in seen:
        return
    kind = type(value)
    if type(value) is types.FunctionType:
        seen.add(id(value))
        _function(value, parts, seen, depth)
    elif kind in (types.BuiltinFunctionType, types.MethodDescriptorType):
        parts.append(str(getattr(value, "__qualname__", "")))
    elif issubclass(kind, type):
        seen.add(id(value))
        _class(cast("type", value), parts, seen, depth)
    else:
        inside = _inside(value, kind, parts)
        if inside is None:  # a context that is handed on holds the flow, and much more
            inside = _wrapped(value) if depth <= _HANDED else ()
        for each in inside:
            seen.add(id(value))
            _walk(each, parts, seen, depth + 1)


def _inside(value: object, kind: type, parts: _Parts) -> Iterable[object] | None:
    """Return the parts of a value that may hold functions; None for an unknown type."""
    if type(value) is dict:
        return islice(value.values(), _MOST_ITEMS)
    if type(value) is list or type(value) is tuple:
        return islice(value, _MOST_ITEMS)
    if type(value) is types.MethodType:
        owner = value.__self__
        return (value.__func__, owner if issubclass(type(owner), type) else type(owner))
    if type(value) is functools.partial:
        if _is_own(value.func):
            _partial(value, parts)
        return (value.func, value.args, value.keywords)
    if type(value) is _Cached:
        return (value.__wrapped__,)
    return _inside_node(value, parts) if kind.__module__ in _NODES else None


def _partial(value: functools.partial[object], parts: _Parts) -> None:
    """Add the values that a `partial` of a function of the user's own gives it."""
    owner = f"{value.func.__module__}:{value.func.__qualname__}"
    for place, each in enumerate(value.args[:_MOST_ITEMS], 1):
        parts.given(f"{owner}:argument {place}", each, _INSIDE)
    for name, each in islice(value.keywords.items(), _MOST_ITEMS):
        parts.given(f"{owner}:{name}", each, _INSIDE)


def _wrapped(value: object) -> tuple[object, ...]:
    """Return the function that an object wraps: a Prefect task, a decorated one."""
    try:
        # The object itself is not asked: it may do anything.
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return ()
    return (held.get("__wrapped__"),) if type(held) is dict else ()


def _inside_node(value: object, parts: _Parts) -> list[object]:
    """Return what may hold functions in a node of Dask's: a task, a caller of a method."""
    method = getattr(value, "method", None)
    if type(method) is str:
        parts.append(method)
    inside = [getattr(value, name, None) for name in ("func", "args", "kwargs", "dsk")]
    # An object that can be called: its class is its code.
    kind = type(inside[0])
    if type(_class_dict.__get__(kind).get("__call__")) is types.FunctionType:
        inside.append(kind)
    return inside


def _function(
    function: types.FunctionType, parts: _Parts, seen: set[int], depth: int
) -> None:
    if not _is_own(function):
        parts.append(f"{function.__module__}.{function.__qualname__}")
        parts.library(function.__module__)
        return
    code = function.__code__
    # Its name is not part of it: a function that was renamed does what it did.
    parts.append(f"{_OWN}{code_hash(code)}")
    parts.named(function.__module__, function.__qualname__)
    owner = f"{function.__module__}:{function.__qualname__}"
    for name, each in _defaults(function):
        parts.given(f"{owner}:{name}", each, _INSIDE)
    for name, used in _used(code, function.__globals__):
        if type(used) is types.FunctionType or issubclass(type(used), type):
            _walk(used, parts, seen, depth + 1)
        elif parts.given(f"{function.__module__}:{name}", used):
            parts.named(function.__module__, name)
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            held = cell.cell_contents
        except ValueError:
            continue
        if type(held) in (types.FunctionType, functools.partial):
            _walk(held, parts, seen, depth + 1)
        else:
            parts.given(f"{owner}:{name}", held)


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the defaults of a function by name."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    first = len(names) - len(defaults)
    yield from islice(zip(names[first:], defaults), _MOST_ITEMS)
    yield from islice((function.__kwdefaults__ or {}).items(), _MOST_ITEMS)


def _used(
    code: types.CodeType, scope: dict[str, object]
) -> Iterator[tuple[str, object]]:
    """Yield by name the globals that a function uses, and functions of the user's modules."""
    names = dict.fromkeys(islice(_names(code, 0), _MOST_NAMES))
    for name in names:
        found = scope.get(name)
        if type(found) is not types.ModuleType:
            yield name, found
            continue
        inside = types.ModuleType.__getattribute__(found, "__dict__")
        for attribute in names:
            used = inside.get(attribute)
            if type(used) is types.FunctionType and _is_own(used):
                yield attribute, used


def _names(code: types.CodeType, depth: int) -> Iterator[str]:
    """Yield the names that code uses, with that of comprehensions and functions in it."""
    yield from code.co_names
    for each in code.co_consts:
        if type(each) is types.CodeType and depth < _DEEPEST:
            yield from _names(each, depth + 1)


def _class(kind: type, parts: _Parts, seen: set[int], depth: int) -> None:
    """Add a class: its name, and of one of the user's own what its methods do."""
    methods = [
        each
        for each in map(_plain, islice(_class_dict.__get__(kind).values(), _MOST_NAMES))
        if type(each) is types.FunctionType and _is_own(each)
    ]
    if not methods:
        parts.append(f"{kind.__module__}.{kind.__qualname__}")
        parts.library(kind.__module__)
    for each in methods:
        _walk(each, parts, seen, depth + 1)


def _plain(member: object) -> object:
    """Return the function behind a class's member."""
    if type(member) is staticmethod or type(member) is classmethod:
        return member.__func__
    return member.fget if type(member) is property else member


def _is_own(function: object) -> bool:
    """Return whether a function is the user's own."""
    if type(function) is not types.FunctionType:
        return False
    return not is_foreign(function.__code__.co_filename)


def _values(value: object, parts: _Parts, depth: int) -> None:
    """Add the plain values in what a function was given: small numbers, and words."""
    kind = type(value)
    if kind in (bool, float) or (type(value) is int and abs(value) < _LARGEST):
        parts.append(repr(value))
    elif type(value) is str:
        if _WORD.fullmatch(value[:200]):
            parts.append(value[:200])
    elif depth < 3:  # noqa: PLR2004
        inside: Iterable[object] = ()
        if type(value) is dict:
            inside = value.values()
        elif type(value) is list or type(value) is tuple:
            inside = value
        for each in islice(inside, _MOST_ITEMS):
            _values(each, parts, depth + 1)


_Cached = type(functools.lru_cache(_plain))
