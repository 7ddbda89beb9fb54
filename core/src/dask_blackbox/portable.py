"""Pickles that can be read where the package of what was pickled is not installed.

A pickled exception of ours is read in other environments: a parent flow run reads the state
of a run of another image, a monitoring script that of a job. There it becomes an exception
that every environment has. The pickle holds calls of the standard library only, no code, so
that any version of Python can read it.
"""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

__all__ = ["Call", "first_readable"]

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


class Call:
    """Is unpickled as the result of a call.

    Args:
        function: What is called; pickled by its name.
        args: Its arguments.
    """

    def __init__(self, function: Callable[..., Any], *args: object) -> None:
        self._called: Reduced = (function, args)

    def __reduce__(self) -> Reduced:
        return self._called


def first_readable(*forms: tuple[str, object], otherwise: object) -> Reduced:
    """Return, for a `__reduce__`, the first of several forms that can be read.

    A form that cannot be pickled is left out.

    Args:
        forms: The package that reads a form, and the form.
        otherwise: What is read where none of these packages is installed; it is made of
            what every reader has.
    """
    chosen = pickle.dumps(otherwise)
    for package, form in reversed(forms):
        with suppress(Exception):
            found = Call(bool, Call(find_spec, package))
            choice = Call(operator.getitem, (chosen, pickle.dumps(form)), found)
            chosen = pickle.dumps(Call(pickle.loads, choice))
    return pickle.loads, (chosen,)
