"""The user's own modules that a process has loaded, and a hash of what each of them does.

An installed package has a version.  A file of the job has none, and it differs between driver
and workers if it was not deployed everywhere.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .bytecode import code_hash, signed
from .user_frames import is_foreign, is_ours

"""Packages of dask-blackbox and of its hosts, which may be installed for development."""
_MOST = 400
_LARGEST = 300_000  # bytes of source; compiling more would be felt
_HEADER = 16  # of a compiled file: magic, flags, then time and size of its source
_SECONDS = 1.0  # of a thread's processor time
_NAMES = re.compile(r"[^\W\d]\w*")


class OwnModule(NamedTuple):
    """A module of the user's own."""

    name: str
    file: str
    code: types.CodeType


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
            code = _compiled(file)
        except (OSError, SyntaxError, ValueError, EOFError, TypeError):
            continue
        if code is not None:
            yield OwnModule(name, file, code)


def worker_code(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of an `events.WorkerCode`; reads files, and takes a second at most.

    Args:
        text: A traceback, whose lines and files say which modules matter.
    """
    modules, files = dict[str, str](), dict[str, str]()
    deadline = time.thread_time() + _SECONDS
    names = set(_NAMES.findall(text))

    def is_named(module: str, file: str) -> bool:
        # Those that other tasks of this process have loaded are not looked at.
        return module.rpartition(".")[2] in names or f'"{file}"' in text

    for name, file, code in own_modules(set(), is_named):
        modules[name], files[name] = signed(code_hash(code)), file
        if time.thread_time() > deadline:
            break
    return {"modules": modules, "files": files}


def _compiled(file: str) -> types.CodeType | None:
    """Return the code of a source file: as Python has kept it, or compiled again."""
    stat = os.stat(file)
    kept = Path(importlib.util.cache_from_source(file))
    head = (0).to_bytes(4, "little")
    head += (int(stat.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little")
    head += (stat.st_size & 0xFFFFFFFF).to_bytes(4, "little")
    if kept.exists():
        blob = kept.read_bytes()
        if blob[:_HEADER] == importlib.util.MAGIC_NUMBER + head:
            found = marshal.loads(blob[_HEADER:])  # noqa: S302 - as importing it does
            return found if isinstance(found, types.CodeType) else None
    if stat.st_size > _LARGEST:
        return None
    return compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)


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
