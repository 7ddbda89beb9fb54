"""The one way to compile a regular expression outside capture: in time that grows as the text.

`.+ failed` in a text that repeats its beginning is tried from each place to the end of
the text, which takes minutes for 30 kB: each repeat therefore has a bound.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache

MOST = 500
"""How often `*` and `+` repeat at most, unless all that they are followed by is the end."""

_ATOM = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\{\d*,?\d*\}[?+]?"  # an escape; a class; a bound
    r"|(?P<repeat>[*+])(?P<how>[?+]?)(?P<end>[)?$]*\Z)?|[\s\S]",
    re.DOTALL,
)


@lru_cache(maxsize=1_024)
def bounded(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a regular expression whose repeats are bounded.

    `*` and `+` repeat `MOST` times, but at the end of the pattern, where nothing can fail
    after them.  Give other bounds in braces: `{0,4000}`; `{0,}` has none.  Two repeats that
    accept the same text, one after the other, are not linear in practice even so.

    Raises:
        re.error: if it is none.
    """
    return re.compile(bounded_text(pattern), flags)


def bounded_text(pattern: str) -> str:
    """Return the text of a pattern with bounds in place of `*` and `+`."""
    return _ATOM.sub(_with_bound, pattern)


def _with_bound(atom: re.Match[str]) -> str:
    if atom["repeat"] is None or atom["end"] is not None:
        return atom[0]
    return f"{{{int(atom['repeat'] == '+')},{MOST}}}{atom['how']}"


_TRIED, _TOO_LONG = (6, 9, 12, 15, 18), 0.004
"""Letters, and CPU seconds: a pattern that is not exponential takes some microseconds."""


def is_exponential(pattern: re.Pattern[str]) -> bool:
    """Return whether a pattern of the user's takes very long for a short text.

    It is tried on repetitions of each letter that it names and of a few others.
    """
    letters = dict.fromkeys((*pattern.pattern, *"a0 -_./"))
    some = [*letters][:_MOST_LETTERS]
    texts = (letter * number + "\0" for number in _TRIED for letter in some)
    return any(_takes_long(pattern, text) for text in texts)


_MOST_LETTERS = 60


def _takes_long(pattern: re.Pattern[str], text: str) -> bool:
    for _ in range(2):  # something else may have taken the time
        begun = time.thread_time()
        pattern.search(text)
        if time.thread_time() - begun < _TOO_LONG:
            return False
    return True
