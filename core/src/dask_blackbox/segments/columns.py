"""The columns of a batch: how each may be coded, and what one holds when it is decoded."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

SCALARS = {type(None), bool, int, float, str, bytes}
"""What a row may hold."""

FEW = 8
"""Below so many rows, nothing is gained by any coding."""


class Coding(IntEnum):
    """How a column is coded."""

    PLAIN = 0
    SAME = 1
    WORDS = 2
    INTS = 3
    STEPS = 4
    FLOATS = 5
    KEYS = 6
    BY = 7
    REST = 8
    LIKE = 9


class Column(NamedTuple):
    """One decoded column.

    Attributes:
        values: Its values; numbers in place of times (microseconds) or words (codes).
        words: What the codes stand for, if they are codes.
        nulls: Where there is no value; None if there is one everywhere.
        scale: What the values are to be divided by.
    """

    values: Any
    words: list[object] | None = None
    nulls: Any = None
    scale: int = 1

    def to_list(self) -> list[object]:
        """Return plain values, one for each row."""
        if self.words is not None:
            return [self.words[code] for code in self.values.tolist()]
        values = self.values
        if isinstance(values, list):
            return values
        plain = (values / self.scale if self.scale > 1 else values).tolist()
        if self.nulls is None:
            return plain  # type: ignore[no-any-return]
        pairs = zip(plain, self.nulls.tolist(), strict=True)
        return [None if null else value for value, null in pairs]
