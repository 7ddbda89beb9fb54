"""What must not leave the cluster in a capsule: by text, by name, by type."""

from __future__ import annotations

import re
from typing import Any, Iterable

from ..redaction import Redaction, is_secret_name

_SHORTEST = 6  # characters: no shorter text is a secret that we would know
_REMEMBERED, _MOST_NOTES = 10_000, 100
_COLLECTIONS = (str, bytes, bytearray, list, tuple, set, frozenset, dict)


class Policy:
    """What must not leave the cluster.

    Args:
        names: The user's regular expressions; each is to match the whole name of a
            parameter, key or attribute, or the whole dotted name of a type.
        texts: The user's regular expressions for secrets in texts.

    Attributes:
        applied: What was left out or blanked so far, by what it is called.
    """

    def __init__(self, names: Iterable[str], texts: Iterable[str]) -> None:
        self._names = [re.compile(each) for each in names]
        self._redaction = Redaction(texts)
        self._hidden: dict[str, bool] = {}
        self._types: dict[type, str | None] = {}
        self.applied: dict[str, None] = {}

    def note(self, what: str) -> None:
        """Note that something was left out."""
        if len(self.applied) < _MOST_NOTES:
            self.applied[what] = None

    def hides(self, name: str, value: object) -> bool:
        """Tell whether a value must not be reported because of the name it stands under."""
        if name not in self._hidden:
            if len(self._hidden) > _REMEMBERED:
                self._hidden.clear()
            self._hidden[name] = any(each.fullmatch(name) for each in self._names)
        if self._hidden[name]:
            return True
        wrapped = getattr(value, "value", None) if is_node(value) else value
        return is_secret_name(name) and (tells(wrapped) or key_of(value) is not None)

    def names(self, name: str) -> bool:
        """Tell whether it is the user who has named it."""
        return self._hidden.get(name, False)

    def label_of(self, kind: type) -> str | None:
        """Return a type's name if what is of it must not be reported."""
        if kind not in self._types:
            dotted = [f"{t.__module__}.{t.__qualname__}" for t in kind.__mro__[:-1]]
            hidden = any(p.fullmatch(name) for p in self._names for name in dotted)
            self._types[kind] = dotted[0] if hidden else None
        return self._types[kind]

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return text if len(text) < _SHORTEST else self._redaction.text(text)


def tells(value: object) -> bool:
    """Tell whether a value can hold a secret: numbers and the like cannot."""
    return isinstance(value, _COLLECTIONS)


def is_node(value: object) -> bool:
    """Tell whether this is a part of a graph as Dask writes it since 2024.9."""
    return type(value).__module__ == "dask._task_spec"


def key_of(value: Any) -> Any:
    """Return the key of the result that this stands for, if it stands for one."""
    if is_node(value) and type(value).__name__ in {"TaskRef", "Alias"}:
        return getattr(value, "target", value.key)
    return None
