"""Pickling a task and its inputs without what must not leave the cluster.

Every object that pickle reaches is checked, however deep: texts lose what looks like a
secret; a value under a secret's name, or under a name or of a type that the user lists, is
left out.  Buffers are not checked: bytes, arrays, columns of data frames.
"""

from __future__ import annotations

import copy
import inspect
import re
import time
from typing import Any, Iterable

import cloudpickle

from ..redaction import BLANK, Redaction, is_secret_name

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
        """Return whether a value must not be reported because of its name."""
        if name not in self._hidden:
            if len(self._hidden) > _REMEMBERED:
                self._hidden.clear()
            self._hidden[name] = any(each.fullmatch(name) for each in self._names)
        if self._hidden[name]:
            return True
        wrapped = getattr(value, "value", None) if _is_node(value) else value
        return is_secret_name(name) and (
            may_hold_secrets(wrapped) or key_of(value) is not None
        )

    def names(self, name: str) -> bool:
        """Return whether it is the user who has named it."""
        return self._hidden.get(name, False)

    def label_of(self, kind: type) -> str | None:
        """Return the name of a type whose values must not be reported; None for others."""
        if kind not in self._types:
            dotted = [f"{t.__module__}.{t.__qualname__}" for t in kind.__mro__[:-1]]
            hidden = any(p.fullmatch(name) for p in self._names for name in dotted)
            self._types[kind] = dotted[0] if hidden else None
        return self._types[kind]

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return text if len(text) < _SHORTEST else self._redaction.text(text)


def may_hold_secrets(value: object) -> bool:
    """Return whether a value can hold a secret: numbers and the like cannot."""
    return isinstance(value, _COLLECTIONS)


def _is_node(value: object) -> bool:
    """Return whether this is a part of a graph as Dask writes it since 2024.9."""
    return type(value).__module__ == "dask._task_spec"


def key_of(value: Any) -> Any:
    """Return the key of the result that this represents, if any."""
    if _is_node(value) and type(value).__name__ in {"TaskRef", "Alias"}:
        return getattr(value, "target", value.key)
    return None


_PAIR = 2  # a name and its value
_PLAIN = frozenset(
    (int, float, complex, bool, bytes, bytearray, list, tuple, set, frozenset, type(None), type)
)  # fmt: skip


class TooLongError(Exception):
    """It took longer than it may."""


class LeftOut:
    """A placeholder for what was left out; its label names it."""

    def __init__(self, label: str) -> None:
        self.label = label


_Pickler: Any = cloudpickle.Pickler  # it has no types


class _Picker(_Pickler):  # type: ignore[misc]
    """A pickler that applies a policy.

    Attributes:
        unwanted: Keys of inputs that stand where nothing may be reported, and whether the
            user has named that place; else it is a secret's, if the input can hold one.
    """

    def __init__(
        self,
        sink: object,
        policy: Policy,
        deadline: float,
        inputs: Iterable[object] = (),
    ) -> None:
        super().__init__(sink, protocol=5)
        self._policy, self._deadline, self._count = policy, deadline, 0
        self._inputs = set(inputs)
        self._legacy = False
        self._ours: dict[int, object] = {}  # what we put in place of others' objects
        self.unwanted: dict[object, bool] = {}

    def legacy(self) -> None:
        """Expect tasks as Dask had them before 2024.9: tuples that begin with a function."""
        self._legacy = True

    def persistent_id(self, obj: Any) -> Any:
        """Return the replacement of an object; None: none.  Called for every object."""
        self._count += 1
        if not self._count & 0xFFF and time.monotonic() > self._deadline:
            raise TooLongError
        kind = type(obj)
        if kind is str:
            return self._without_secrets(obj)
        if kind is dict:
            return self._without_hidden(obj)
        if kind is tuple or kind is list:
            return self._without_hidden_parts(obj)
        if kind in _PLAIN:
            return None
        if kind is LeftOut:
            return f"left-out:{obj.label}"
        return self._without_its_type(kind)

    def reducer_override(self, obj: object) -> object:
        """Pickle a task without the text of its arguments that Dask keeps in it."""
        if hasattr(obj, "func") and hasattr(obj, "args") and _is_node(obj):
            return self._plain_task(obj).__reduce_ex__(5)
        return super().reducer_override(obj)

    def _without_its_type(self, kind: type) -> str | None:
        label = self._policy.label_of(kind)
        if label is None:
            return None
        self._policy.note(label)
        return f"left-out:{label}"

    def _without_secrets(self, text: str) -> str | None:
        clean = self._policy.text(text)
        if clean == text:
            return None
        self._policy.note("a secret in a text")
        return f"text:{clean}"

    def _without_hidden(self, obj: dict[Any, object]) -> object:
        if id(obj) in self._ours:
            return None
        hidden = [
            name
            for name, value in obj.items()
            if type(name) is str and self._policy.hides(name, value)
        ]
        if not hidden:
            return None
        clean = {**obj, **{name: self._left_out(name, obj[name]) for name in hidden}}
        self._ours[id(clean)] = clean
        return ("is", clean)

    def _without_hidden_parts(self, obj: Any) -> object:
        """Check a name with its value, and a task as Dask represented them before 2024.9."""
        if id(obj) in self._ours or len(obj) < _PAIR:
            return None
        clean = obj
        if type(obj[0]) is str and len(obj) == _PAIR:
            if self._policy.hides(obj[0], obj[1]):
                clean = type(obj)((obj[0], self._left_out(*obj)))
        elif self._legacy and type(obj) is tuple and callable(obj[0]):
            clean = self._plain_call(*obj)
        if all(a is b for a, b in zip(clean, obj)):
            return None
        self._ours[id(clean)] = clean
        return ("is", clean)

    def _plain_call(self, function: object, *args: object) -> tuple[object, ...]:
        """Return a call without hidden values; `apply(function, args, …)` is one, too."""
        given: Any = args[1] if len(args) > 1 else None
        inner = getattr(given, "args", None) if _is_node(given) else given
        applied = getattr(function, "__name__", "") == "apply"
        if not applied or not isinstance(inner, (list, tuple)):
            return (function, *self.without_hidden_arguments(function, args))
        kept = self.without_hidden_arguments(args[0], inner)
        if all(a is b for a, b in zip(kept, inner)):
            return (function, *args)
        if _is_node(given):
            given = copy.copy(given)
            given.args = kept
        else:
            given = type(given)(kept)
        return (function, args[0], given, *args[2:])

    def _left_out(self, name: str, value: object) -> object:
        key = key_of(value)
        if key is None and isinstance(value, (str, tuple)) and self._is_input(value):
            key = value  # before Dask 2024.9, a key stands for its result
        if key is not None:
            self.unwanted[key] = self.unwanted.get(key, False) or self._policy.names(
                name
            )
            return value
        self._policy.note(name)
        return BLANK if type(value) is str else LeftOut(name)

    def _is_input(self, value: object) -> bool:
        try:
            return value in self._inputs
        except TypeError:  # a tuple of what cannot be hashed
            return False

    def _plain_task(self, task: Any) -> object:
        clean = copy.copy(task)
        for name in ("_repr", "_token"):
            if hasattr(clean, name):
                setattr(clean, name, None)
        if type(task).__name__ == "Dict":  # names and values in turn
            clean.args = self._plain_pairs(task.args)
        else:
            clean.args = self._plain_call(task.func, *task.args)[1:]
        self._ours[id(clean)] = clean  # alive until pickle is through with it
        return clean

    def _plain_pairs(self, args: Any) -> tuple[Any, ...]:
        clean = list(args)
        for i in range(0, len(clean) - 1, _PAIR):
            name, value = clean[i : i + _PAIR]
            if type(name) is str and self._policy.hides(name, value):
                clean[i + 1] = self._left_out(name, value)
        return tuple(clean)

    def without_hidden_arguments(self, function: Any, args: Any) -> Any:
        """Return positional arguments without those of parameters that are hidden."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return args
        clean = list(args)
        for i, parameter in enumerate(parameters[: len(clean)]):
            if parameter.kind is parameter.VAR_POSITIONAL:
                break
            if self._policy.hides(parameter.name, clean[i]):
                clean[i] = self._left_out(parameter.name, clean[i])
        return tuple(clean)


def dump(value: object, sink: object, policy: Policy, deadline: float) -> None:
    """Pickle a value.

    Args:
        sink: Takes the bytes.
        deadline: When it is to be done, on the monotonic clock.

    Raises:
        TooLongError: if it is not.
        Exception: whatever pickling raises.
    """
    _Picker(sink, policy, deadline).dump(value)


def dump_task(
    task: object, inputs: list[object], sink: object, policy: Policy, deadline: float
) -> dict[object, bool]:
    """Pickle a task as `dump` does; return keys of inputs that must not be reported.

    Args:
        task: A part of a graph, or function, arguments and keyword arguments.
        sink: Takes the bytes.
        deadline: When it is to be done, on the monotonic clock.

    Returns:
        The keys, and whether the user has named what they stand for; else it is the name
        of a secret, and they are to be reported if they cannot hold one.
    """
    picker = _Picker(sink, policy, deadline, inputs)
    if isinstance(task, tuple):  # before Dask 2024.9
        picker.legacy()
        function, args, kwargs = task
        task = (function, picker.without_hidden_arguments(function, args), kwargs)
    picker.dump({"task": task, "inputs": inputs})
    return picker.unwanted
