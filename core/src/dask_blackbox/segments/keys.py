r"""Keys of tasks in few bytes: what repeats once, what counts as numbers, hashes as bytes.

`('sum-9e2f…', 3, 4)` and its thousand sisters are one shape, `('sum-9e2f…', \0, \0)`, and
two rows of numbers; `inc-0c1d…` and its sisters are the shape `inc-\1` and sixteen bytes
each, below which no compression comes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dask_blackbox.segments.numbers import (
    Ints,
    pack,
    pack_steps,
    unpack,
    unpack_steps,
)

_NUMBER, _HEX, _UUID = "\0", "\1", "\2"
# A number that stands alone in a tuple, or at the end behind a `-`, and is written as Python
# writes it.  No lookbehind: a pattern that begins with a character is found twice as fast.
_NUMBERS = re.compile(r"([ (-])(-?[1-9][0-9]{0,17}|0)(?=[,)\n]|\Z)")
_HASHES = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_RESERVED = re.compile(f"[{_NUMBER}{_HEX}{_UUID}]")
_LARGEST_TEXT = 2**26
_MOST_NUMBERS = 2**23


class Shapes(NamedTuple):
    """Texts taken apart; what a segment stores of them."""

    shapes: list[str]
    codes: tuple[int, bytes]
    numbers: tuple[int, bytes]
    hashes: bytes


def shapes_of(texts: Sequence[str]) -> tuple[Shapes, Ints] | None:
    """Take texts apart; return also which shape each has.

    None if they cannot be: they are too much at once, or hold characters that mark the
    gaps in shapes.
    """
    text = "\n".join(texts)
    if text.count("\n") != len(texts) - 1 or _RESERVED.search(text):
        return None
    *parts, end = _NUMBERS.split(text)  # text, separator, number, text, separator …
    found = parts[2::3]
    if len(text) > _LARGEST_TEXT or len(found) > _MOST_NUMBERS:
        return None
    pairs = zip(parts[::3], parts[1::3], strict=True)
    shaped = "".join([before + mark + _NUMBER for before, mark in pairs]) + end
    hashes = ""
    # A hash that many share is cheaper in the shape.
    if len(set(shaped.split("\n"))) * 4 > len(texts):
        hashes = "".join(_HASHES.findall(shaped)).replace("-", "")
        shaped = _HASHES.sub(_mark, shaped)
    each = shaped.split("\n")
    shapes = list(dict.fromkeys(each))
    code_of = {shape: code for code, shape in enumerate(shapes)}
    codes = np.fromiter(map(code_of.__getitem__, each), np.int64, len(each))
    numbers = np.array(list(map(int, found)), np.int64)
    order = _order(shapes, codes)
    taken = Shapes(
        shapes, pack(codes), pack_steps(numbers[order]), bytes.fromhex(hashes)
    )
    return taken, codes


def texts_of(taken: Shapes, count: int) -> tuple[list[str], Ints]:
    """Put texts together again; return also which shape each has.

    Raises:
        ValueError, IndexError: if the parts don't fit each other.
    """
    shapes, packed, numbers, hashes = taken
    codes = unpack(packed, count)
    lengths = np.array([len(shape) for shape in shapes], np.int64)
    gaps = np.array([shape.count(_NUMBER) for shape in shapes], np.int64)
    if (
        codes.min(initial=0) < 0
        or lengths[codes].sum() > _LARGEST_TEXT
        or gaps[codes].sum() > _MOST_NUMBERS
    ):
        raise ValueError("more text than a frame may hold")
    text = "\n".join([shapes[code] for code in codes.tolist()])
    order = _order(shapes, codes)
    ordered = np.empty(order.size, np.int64)
    ordered[order] = unpack_steps(numbers, order.size)
    marks = re.findall(f"[{_HEX}{_UUID}]", text)
    if len(marks) * 16 != len(hashes):
        raise ValueError("the number of hashes must match the number of gaps")
    if marks:
        words = map(_word, marks, _chunks(hashes.hex(), 32))
        text = _filled(text, f"[{_HEX}{_UUID}]", "%s", tuple(words))
    if ordered.size:
        text = _filled(text, _NUMBER, "%d", tuple(ordered.tolist()))
    return text.split("\n"), codes


def _filled(text: str, gap: str, form: str, values: tuple[object, ...]) -> str:
    return re.sub(gap, form, text.replace("%", "%%")) % values


def _mark(found: re.Match[str]) -> str:
    return _UUID if "-" in found[0] else _HEX


def _word(mark: str, digits: str) -> str:
    if mark == _HEX:
        return digits
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts)


def _chunks(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _order(shapes: list[str], codes: Ints) -> Ints:
    """Return the order in which numbers are stored: by shape, then gap, then row.

    So the first indices of all chunks of one array stand together, and hardly differ
    from one to the next.
    """
    gaps = np.array([shape.count(_NUMBER) for shape in shapes], np.int64)[codes]
    rows = np.repeat(np.arange(codes.size), gaps)
    firsts = np.cumsum(gaps) - gaps
    slots = np.arange(rows.size) - firsts[rows]
    return np.lexsort((rows, slots, codes[rows])).astype(np.int64)
