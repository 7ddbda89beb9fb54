"""The files of functions that arrive by value.

From version 3.1.3, cloudpickle leaves out in which file such a function was defined, and
tracebacks, profiles and the stacks of killed workers name `<dynamic-code>`.  Its module's
`__file__` still travels with it.  Only what is loaded is changed: pickles, and the keys
that Dask makes of them, stay the same.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType
from typing import Any

import cloudpickle.cloudpickle as _cloudpickle

_UNNAMED = "<dynamic-code>"
_OWNERS = "_dask_blackbox_owners"


def name_source_files(owner: str) -> None:
    """Set the file names of functions that this process loads.

    Args:
        owner: The caller; in effect until it calls `leave_source_files`.
    """
    make = _cloudpickle._make_function
    owners = getattr(make, _OWNERS, None)
    if owners is None:
        owners = set()
        # It stays permanently: a thread may be about to pickle it by its name.
        _cloudpickle._make_function = _naming(make, owners)
    owners.add(owner)


def leave_source_files(owner: str) -> None:
    """Stop doing so for this owner."""
    make = _cloudpickle._make_function
    getattr(make, _OWNERS, set()).discard(owner)


def name_source_file_of(function: Any) -> None:
    """Set the file name of a function that was loaded before, and of its module's functions."""
    namespace = getattr(function, "__globals__", {})
    file = namespace.get("__file__")
    for each in (function, *namespace.values()):
        unnamed = (
            isinstance(each, FunctionType) and each.__code__.co_filename == _UNNAMED
        )
        if unnamed and isinstance(file, str):
            each.__code__ = _named(each.__code__, file)


def _naming(make: Any, owners: set[str]) -> Any:
    @functools.wraps(make)
    def make_function(code: Any, namespace: Any, *rest: Any) -> Any:
        if owners and getattr(code, "co_filename", "") == _UNNAMED:
            file = namespace.get("__file__") if isinstance(namespace, dict) else None
            if isinstance(file, str):
                code = _named(code, file)
        return make(code, namespace, *rest)

    setattr(make_function, _OWNERS, owners)
    return make_function


def _named(code: CodeType, file: str) -> CodeType:
    inner = tuple(
        _named(each, file)
        if isinstance(each, CodeType) and each.co_filename == _UNNAMED
        else each
        for each in code.co_consts
    )
    return code.replace(co_filename=file, co_consts=inner)
