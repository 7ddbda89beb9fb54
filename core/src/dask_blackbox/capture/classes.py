"""The name of an exception's class, and its base classes."""

from __future__ import annotations

_MOST = 1_000  # characters


def qualified(kind: type) -> str:
    """Return the name of a class with its module; of a builtin, its name alone."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def bases_of(error: BaseException) -> list[str]:
    """Return what the class of an exception derives from, in the order Python looks.

    Up to `BaseException`; the class itself is not among them.
    """
    names: list[str] = []
    for kind in type(error).__mro__[1:]:
        if kind is not object and sum(map(len, names)) < _MOST:
            names.append(qualified(kind))
    return names
