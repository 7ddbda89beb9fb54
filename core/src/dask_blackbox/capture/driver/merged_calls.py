"""Equal calls of a function that draws random numbers, which Dask makes one task.

`Client.submit` and `Client.map` name a task by its function and arguments, as if the function
were pure: while a future of the first call is held, a second one gets its result, no task is
sent, and no log has it.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from ..user_frames import innermost_user_frame, place_of

_DRAWS = frozenset({
    "choice", "default_rng", "gauss", "getrandbits", "normalvariate", "rand", "randint",
    "randn", "random", "random_sample", "secrets", "shuffle", "urandom", "uuid1", "uuid4",
})  # fmt: skip
"""Names that only functions use whose calls are not to give the same result."""
_MOST, _MOST_FUNCTIONS, _DEEPEST = 10_000, 1_000, 10

Note = Callable[[dict[str, object]], None]
"""Takes the fields of an `events.CallsMerged`."""


class MergedCalls:
    """Counts the calls that became the task of an equal one.

    Args:
        note: Is called for the first, second, fourth, … of them of each function.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._merged = Counter[str]()

    def called(self, client: Any, function: object, given: object) -> None:
        """Note what a call of `submit` or `map` gave: a future, or a list of them."""
        draws = _draws_of(function)
        if not draws:
            return
        name = getattr(function, "__qualname__", type(function).__name__)
        if len(self._merged) >= _MOST_FUNCTIONS and name not in self._merged:
            return
        keys = [future.key for future in _futures_in(given)]
        held = client.refcount  # by key, how many futures there are
        calls = Counter(keys)
        # Where no other future of a key is held, one of these calls made its task.
        new = sum(n - (held.get(key, n) <= n) for key, n in calls.items())
        if not new:
            return
        before = self._merged[name]
        self._merged[name] = now = before + new
        if now.bit_length() > before.bit_length():
            frame = innermost_user_frame(sys._getframe(1))
            found = {"key": str(keys[0]), "task": name, "draws": draws, "calls": now}
            self._note({**found, **place_of(frame)})


def _futures_in(given: object) -> Iterator[Any]:
    each = given if isinstance(given, list) else [given]
    return (one for one in islice(each, _MOST) if type(one).__name__ == "Future")


def _draws_of(function: object) -> list[str]:
    """Return the names in a function that show that it draws random numbers."""
    inner: Any = function
    for _ in range(_DEEPEST):
        if isinstance(inner, functools.partial):
            inner = inner.func
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        else:
            break
    code = getattr(inner, "__code__", None)
    return [] if code is None else sorted(_DRAWS.intersection(code.co_names))
