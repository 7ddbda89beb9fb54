"""The user's own modules that a process has loaded, and a hash of what each of them does.

An installed package has a version.  A file of the job has none, and it differs between driver
and workers if it was not deployed everywhere.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
import os
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

from .bytecode import code_hash, signed
from .exceptions import message_of
from .user_frames import is_foreign, is_ours

_MOST = 400
_LARGEST = 300_000  # bytes of source; compiling more would be felt
_HEADER = 16  # of a compiled file: magic, flags, then time and size of its source
_SECONDS = 1.0  # of a thread's processor time
_MOST_BEHIND = 5
_DEFINED = re.compile(
    r"'(?P<object>\w+)' object has no attribute|type object '(?P<type>\w+)' has no attribute|"
    r"\b(?P<called>[^\W\d]\w{0,100})(?:\.\w{1,100}){0,20}\(\) (?:got an|missing|takes)"
)
"""What Python says of a class or function that is not as its caller expects."""
_NAMES = re.compile(r"[^\W\d]\w*")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""What names of environment variables look like; one word may be any constant of the code."""


class FileVersion(NamedTuple):
    """What differs once a file is written again: times in ns, size in bytes."""

    modified: int
    changed: int
    size: int


class OwnModule(NamedTuple):
    """A module of the user's own.

    Attributes:
        name: As it was imported.
        file: Of its source.
        version: Of that file.
        mark: The hash of its code.
        variables: What its code names that looks like an environment variable.
    """

    name: str
    file: str
    version: FileVersion
    mark: str
    variables: tuple[str, ...]


def own_modules(
    known: set[str], wanted: Callable[[str, str], bool] = lambda _name, _file: True
) -> Iterator[OwnModule]:
    """Yield the modules of the user's own that are loaded; reads their files.

    Args:
        known: Names that were looked at before; grows by those that are looked at now.
        wanted: Takes name and file, and says whether to look at a module.
    """
    for name, module in sys.modules.copy().items():
        # (`__mp_main__` is `__main__` once more.)
        if name in known or name == "__mp_main__" or len(known) >= _MOST:
            continue
        file = _file_of(module)
        if file is None or not wanted(name, file):
            continue
        known.add(name)
        try:
            version = _version_of(file)
            facts = _facts_of(file, version)
        except OSError:  # the next recording of this process may read it
            continue
        if facts is not None:
            yield OwnModule(name, file, version, *facts)


def _modules_behind(message: str) -> list[str]:
    """Return the loaded modules that define a class or function which Python names in an error."""
    found = _DEFINED.search(message)
    if found is None:
        return []
    name = found[found.lastgroup or 0]
    return [
        module
        for module, each in sys.modules.copy().items()
        if _file_of(each) is not None
        and getattr(vars(each).get(name), "__module__", None) == module
    ][:_MOST_BEHIND]


def worker_code(text: str, message: str = "") -> dict[str, dict[str, str] | list[str]]:
    """Return the fields of an `events.WorkerCode`; reads files, and takes a second at most.

    Args:
        text: A traceback, whose lines and files say which modules matter.
        message: Of the exception: the class or function that it names matters, too.
    """
    behind = _modules_behind(message)
    modules, files = dict[str, str](), dict[str, str]()
    deadline = time.thread_time() + _SECONDS
    names = set(_NAMES.findall(text))

    def is_named(module: str, file: str) -> bool:
        # Those that other tasks of this process have loaded are not looked at.
        known = module in behind or module.rpartition(".")[2] in names
        return known or f'"{file}"' in text

    for each in own_modules(set(), is_named):
        modules[each.name], files[each.name] = each.mark, each.file
        if time.thread_time() > deadline:
            break
    return {
        "modules": modules,
        "files": files,
        "defining": [each for each in behind if each in modules],
    }


def _version_of(file: str) -> FileVersion:
    stat = os.stat(file)
    return FileVersion(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)


@functools.lru_cache(maxsize=2 * _MOST)
def _facts_of(file: str, version: FileVersion) -> tuple[str, tuple[str, ...]] | None:
    """Return mark and variables of a file; each recording of a process asks for all of them."""
    code = compiled(file, version)
    if code is None:
        return None
    return signed(code_hash(code)), tuple(dict.fromkeys(_variables_in(code)))


def _variables_in(code: types.CodeType) -> Iterator[str]:
    for held in code.co_consts:
        if type(held) is types.CodeType:
            yield from _variables_in(held)
        elif type(held) is str and _VARIABLE.fullmatch(held):
            yield held


@functools.lru_cache(maxsize=1)
def compiled(file: str, version: FileVersion) -> types.CodeType | None:
    """Return the code of a source file: as Python has kept it, or compiled again.

    Args:
        file: Of the source.
        version: Of the file.

    Returns:
        None if it is too large, or cannot be compiled.

    Raises:
        OSError: if it cannot be read now.
    """
    kept = Path(importlib.util.cache_from_source(file))
    head = (0).to_bytes(4, "little")
    head += (version.modified // 1_000_000_000 & 0xFFFFFFFF).to_bytes(4, "little")
    head += (version.size & 0xFFFFFFFF).to_bytes(4, "little")
    try:
        if kept.exists():
            blob = kept.read_bytes()
            if blob[:_HEADER] == importlib.util.MAGIC_NUMBER + head:
                found = marshal.loads(blob[_HEADER:])  # noqa: S302 - as importing it does
                return found if isinstance(found, types.CodeType) else None
        if version.size > _LARGEST:
            return None
        return compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, EOFError, TypeError):
        return None


def _file_of(module: object) -> str | None:
    """Return the source file of a module of the user's own, or None.

    A lazy module is not asked in a way that would load it.
    """
    try:
        if not isinstance(module, types.ModuleType):
            return None
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except Exception:
        return None
    if not isinstance(file, str) or not file.endswith(".py") or is_ours(file):
        return None
    return None if is_foreign(file) else file


_MISSING_MODULE = re.compile(
    r"(?:No module named|cannot import name '[^']+' from|Can't get attribute '[^']+' on "
    r"<module|\bmodule) '(?P<name>[\w.]+)'"
)
_LONGEST_CHAIN = 20
_INSTALLED = ("site-packages", "dist-packages")


_found: dict[str, dict[str, str]] = {}


def missing_there(error: BaseException) -> dict[str, str] | None:
    """Return where this process has the module that an exception reports as missing.

    Returns:
        As `found_here`; None if no module is missing.
    """
    name = _missing(error)
    if name is None:
        return None
    if name not in _found and len(_found) < _MOST:
        _found[name] = found_here(name)
    return _found.get(name, {})


def _missing(error: BaseException) -> str | None:
    """Return the module that an exception, or one in its chain, reports as missing."""
    current: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if current is None:
            return None
        # If the class of a task's exception could not be unpickled, only its text is known.
        if found := _MISSING_MODULE.search(message_of(current)):
            return found["name"]
        current = current.__cause__ or current.__context__
    return None


def found_here(name: str) -> dict[str, str]:
    """Return where this process would import a module from, without importing it.

    Args:
        name: Of the module, with its packages.

    Returns:
        `module`, `file`, and, if it is installed, `package` and `version`; nothing if
        this process does not have it either.
    """
    spec = _spec_of(name)
    if spec is None:
        return {}
    places = [spec.origin, *(spec.submodule_search_locations or ())]
    file = next((str(place) for place in places if place), "")
    found = {"module": name, "file": file}
    if any(part in file for part in _INSTALLED):
        found |= _distribution_of(name.partition(".")[0])
    return found


def _spec_of(name: str) -> ModuleSpec | None:
    """Return the spec of a module, found step by step: nothing is imported."""
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    words = name.split(".")
    for number in range(len(words)):
        whole = ".".join(words[: number + 1])
        spec = PathFinder.find_spec(whole, path)
        if spec is None:
            spec = getattr(sys.modules.get(whole), "__spec__", None)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec


def _distribution_of(top: str) -> dict[str, str]:
    from importlib.metadata import (
        PackageNotFoundError,
        packages_distributions,
        version,
    )

    for package in (*packages_distributions().get(top, ()), top):
        try:
            return {"package": package, "version": version(package)}
        except PackageNotFoundError:
            continue
    return {"package": top, "version": ""}
