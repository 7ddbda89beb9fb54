r"""Columns in few bytes: each says by itself how it is coded.

A coded column is a list that begins with a word of `Coding`; docs/format.md describes
them one by one.  Whatever a value is, it comes back equal, save that moments and durations
come back to the microsecond.

Whole numbers are sorted by significance, so that zlib finds what is alike: the lowest bytes
of all, then the second lowest of all, and so on; the width is that of the largest.  Numbers
that move slowly are first replaced by their differences.

Keys of tasks repeat: `('sum-9e2f…', 3, 4)` and its thousand sisters are one shape,
`('sum-9e2f…', \0, \0)`, and two rows of numbers; `inc-0c1d…` and its sisters are the shape
`inc-\1` and sixteen bytes each, below which no compression comes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dask_blackbox.patterns import bounded
from dask_blackbox.segments.allowance import Allowance
from dask_blackbox.segments.columns import FEW, SCALARS, Coding, Column

Ints = NDArray[np.int64]


def pack(numbers: Ints) -> tuple[int, bytes]:
    """Return the smallest of the numbers, and what the others have above it."""
    if not numbers.size:
        return 0, b"\0"
    smallest = int(numbers.min())
    # The difference of two int64 fits into uint64, where int64 would wrap around.
    above = numbers.view(np.uint64) - np.uint64(smallest % 2**64)
    width = (int(above.max()).bit_length() + 7) // 8
    planes = above.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return smallest, bytes([width]) + planes.tobytes()


def unpack(packed: tuple[int, bytes], count: int) -> Ints:
    """Return the `count` numbers that `pack` was given.

    Raises:
        ValueError: if these are not so many.
    """
    smallest, planes = packed
    width = planes[0]
    if width > 8 or len(planes) != 1 + width * count:  # noqa: PLR2004
        raise ValueError(f"{len(planes)} bytes do not hold {count} numbers")
    above = np.zeros((count, 8), np.uint8)
    above[:, :width] = np.frombuffer(planes, np.uint8, offset=1).reshape(width, count).T
    numbers = above.view("<u8").ravel().astype(np.uint64)
    return (numbers + np.uint64(smallest % 2**64)).view(np.int64)


def _pack_steps(numbers: Ints) -> tuple[int, bytes]:
    """Return the first of the numbers, and the differences from each to the next."""
    if not numbers.size:
        return 0, b"\0"
    steps = np.diff(numbers)
    # Small steps up and down become small numbers from 0: 0, -1, 1, -2, 2 …
    folded = (steps << 1) ^ (steps >> 63)
    return int(numbers[0]), _planes(folded.view(np.uint64))


def _unpack_steps(packed: tuple[int, bytes], count: int) -> Ints:
    """Return the `count` numbers that `_pack_steps` was given.

    Raises:
        ValueError: if these are not so many.
    """
    first, planes = packed
    if not count:
        return np.zeros(0, np.int64)
    folded = unpack((0, planes), count - 1).view(np.uint64)
    steps = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(
        np.int64
    )
    numbers = np.empty(count, np.int64)
    numbers[0] = first
    numbers[1:] = steps
    return np.cumsum(numbers)


def _steps_are_smaller(numbers: Ints) -> bool:
    """Return whether `_pack_steps` takes less space than `pack`."""
    if numbers.size < 2:  # noqa: PLR2004
        return False
    steps = np.abs(np.diff(numbers).astype(np.float64))
    above = numbers.astype(np.float64) - float(numbers.min())
    return float(np.log2(1 + 2 * steps).sum()) < float(np.log2(1 + above).sum())


def _planes(numbers: NDArray[np.uint64]) -> bytes:
    width = (int(numbers.max()).bit_length() + 7) // 8 if numbers.size else 0
    planes = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return bytes([width]) + planes.tobytes()


_NUMBER, _HEX, _UUID = "\0", "\1", "\2"
# A number that stands alone in a tuple, or at the end behind a `-`, and is written as Python
# writes it.  No lookbehind: a pattern that begins with a character is found twice as fast.
_NUMBERS = bounded(r"([ (-])(-?[1-9][0-9]{0,17}|0)(?=[,)\n]|\Z)")
_HASHES = bounded(
    r"[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_RESERVED = bounded(f"[{_NUMBER}{_HEX}{_UUID}]")
_LARGEST_TEXT = 2**26
_MOST_NUMBERS = 2**23


class Shapes(NamedTuple):
    """Texts taken apart; what a segment stores of them."""

    shapes: list[str]
    codes: tuple[int, bytes]
    numbers: tuple[int, bytes]
    hashes: bytes


def _shapes_of(texts: Sequence[str]) -> tuple[Shapes, Ints] | None:
    """Split texts into shape and numbers; return also the shape of each.

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
        shapes, pack(codes), _pack_steps(numbers[order]), bytes.fromhex(hashes)
    )
    return taken, codes


def texts_of(
    taken: Shapes, count: int, allowance: Allowance | None = None
) -> tuple[list[str], Ints]:
    """Join shapes and numbers into texts; return also the shape of each.

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
    if allowance is not None:
        allowance.take_bytes(int(lengths[codes].sum()))
    text = "\n".join([shapes[code] for code in codes.tolist()])
    order = _order(shapes, codes)
    ordered = np.empty(order.size, np.int64)
    ordered[order] = _unpack_steps(numbers, order.size)
    marks = bounded(f"[{_HEX}{_UUID}]").findall(text)
    if len(marks) * 16 != len(hashes):
        raise ValueError("the number of hashes must match the number of gaps")
    if marks:
        words = map(_word, marks, _chunks(hashes.hex(), 32))
        text = _filled(text, f"[{_HEX}{_UUID}]", "%s", tuple(words))
    if ordered.size:
        text = _filled(text, _NUMBER, "%d", tuple(ordered.tolist()))
    return text.split("\n"), codes


def _filled(text: str, gap: str, form: str, values: tuple[object, ...]) -> str:
    return bounded(gap).sub(form, text.replace("%", "%%")) % values


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


_MICROS = 1_000_000

_TIMES = frozenset(
    ("at", "start", "stop", "compute", "transfer", "disk", "deserialize", "event_loop")
)

_PARTS = ("compute", "transfer", "disk", "deserialize")
_KEYS = ("key", "last_input")

_BY = {
    "worker": "thread",
    "group": "key",
    "prefix": "key",
    "typename": "key",
    "nbytes": "key",
    "pid": "source",
    "role": "source",
}


"""Which column often determines the values of another one."""


_LIKE = {"group": "key"}


"""Which column often says the same as another: a lone task is a group of its own."""


class _Numeric(NamedTuple):
    """Numbers on their way into a frame."""

    values: Ints
    nulls: object
    scale: int


def encode_columns(
    names: Sequence[str], columns: Sequence[Sequence[object]]
) -> list[list[object]]:
    """Code columns of equal length; those beyond `names` are coded all the same."""
    coded: list[list[object]] = [[] for _ in columns]
    codes: dict[str, tuple[int, Ints]] = {}
    times: dict[str, _Numeric] = {}
    last = [*range(len(columns))]
    last.sort(key=lambda index: index < len(names) and names[index] in _BY)
    for index in last:
        name = names[index] if index < len(names) else ""
        by = codes.get(_BY.get(name, ""))
        coded[index], details = _encoded(name, columns[index], by)
        if isinstance(details, _Numeric):
            times[name] = details
        elif details is not None:
            codes[name] = (index, details)
        elif coded[index][0] == Coding.PLAIN and _LIKE.get(name) in names:
            other = names.index(_LIKE[name])
            coded[index] = _like(columns[index], columns[other], other, coded[index])
    if "start" in times and "stop" in times and times.keys() >= set(_PARTS):
        coded[names.index("start")] = _rest(times, list(names))
    return coded


def _encoded(
    name: str, values: Sequence[object], by: tuple[int, Ints] | None
) -> tuple[list[object], _Numeric | Ints | None]:
    kinds = set(map(type, values))
    if len(values) < FEW or not kinds <= SCALARS:
        return [Coding.PLAIN, list(values)], None
    bare = kinds - {type(None)}
    if name in _TIMES and bare and bare <= {int, float}:
        times = _times(values)
        if times is not None:
            return _numbers(times), times
    if bare == {float}:
        return _floats(values), None
    if len(bare) > 1:
        return [Coding.PLAIN, list(values)], None
    return _words(name, values, bare, by)


def _words(
    name: str,
    values: Sequence[Any],
    bare: set[type],
    by: tuple[int, Ints] | None,
) -> tuple[list[object], Ints | None]:
    words = list(dict.fromkeys(values))
    if len(words) == 1:
        return [Coding.SAME, words[0]], None
    if len(words) * 2 <= len(values):
        code_of = {word: code for code, word in enumerate(words)}
        codes = np.fromiter(map(code_of.__getitem__, values), np.int64, len(values))
        determined = _determined_by(codes, by)
        if determined is not None and by is not None:
            return [Coding.BY, by[0], [words[code] for code in determined]], None
        return [Coding.WORDS, words, *pack(codes)], codes
    if name in _KEYS and bare == {str} and None not in words:
        taken = _shapes_of(values)
        if taken is not None:
            shapes, codes = taken
            parts = [shapes.shapes, *shapes.codes, *shapes.numbers, shapes.hashes]
            return [Coding.KEYS, *parts], codes
    if bare == {int}:
        numbers = _ints(values)
        if numbers is not None:
            return _numbers(numbers), None
    return [Coding.PLAIN, list(values)], None


def _like(
    values: Sequence[object], others: Sequence[object], place: int, plain: list[object]
) -> list[object]:
    """Code a column as the same as another one, but for some rows."""
    pairs = zip(values, others, strict=True)
    differs = [a != b or type(a) is not type(b) for a, b in pairs]
    if len(values) < FEW or all(differs):
        return plain
    rest = [value for value, differs_ in zip(values, differs, strict=True) if differs_]
    coded, _ = _encoded("", rest, None)
    return [Coding.LIKE, place, _mask(np.array(differs)), coded]


def _determined_by(codes: Ints, by: tuple[int, Ints] | None) -> list[int] | None:
    """Return the code that goes with each code of another column, if that determines it."""
    if by is None:
        return None
    table = np.zeros(int(by[1].max()) + 1, np.int64)
    table[by[1]] = codes
    return table.tolist() if np.array_equal(table[by[1]], codes) else None


def _times(values: Sequence[object]) -> _Numeric | None:
    nulls = _nulls(values)
    seconds = np.array(
        values if nulls is None else [value or 0.0 for value in values], np.float64
    )
    with np.errstate(over="ignore"):
        micros = np.rint(seconds * _MICROS)
    if not np.all(np.abs(micros) < 2**62):  # also where it is not a number
        return None
    return _Numeric(micros.astype(np.int64), nulls, _MICROS)


def _ints(values: Sequence[object]) -> _Numeric | None:
    nulls = _nulls(values)
    try:
        filled = values if nulls is None else [value or 0 for value in values]
        return _Numeric(np.array(filled, np.int64), nulls, 1)
    except OverflowError:
        return None


def _nulls(values: Sequence[object]) -> object:
    if None not in values:
        return None
    return np.fromiter((value is None for value in values), np.bool_, len(values))


def _mask(nulls: Any) -> bytes:
    return b"" if nulls is None else np.packbits(nulls).tobytes()


def _numbers(numeric: _Numeric) -> list[object]:
    values, nulls, scale = numeric
    if _steps_are_smaller(values):
        return [Coding.STEPS, *_pack_steps(values), _mask(nulls), scale]
    return [Coding.INTS, *pack(values), _mask(nulls), scale]


def _floats(values: Sequence[object]) -> list[object]:
    nulls = _nulls(values)
    filled = [0.0 if value is None else value for value in values]
    bits = np.array(filled, "<f8").view(np.uint8).reshape(-1, 8).T.tobytes()
    return [Coding.FLOATS, bits, _mask(nulls)]


def _rest(times: dict[str, _Numeric], names: list[str]) -> list[object]:
    """Code the start of tasks by what is left between their parts and their stop."""
    start = times["start"]
    rest = times["stop"].values - start.values
    for part in _PARTS:
        rest = rest - times[part].values
    places = [names.index(name) for name in ("stop", *_PARTS)]
    return [Coding.REST, *pack(rest), _mask(start.nulls), start.scale, places]


def decode_columns(
    coded: Sequence[Sequence[Any]], count: int, allowance: Allowance | None = None
) -> list[Column]:
    """Return the columns that `encode_columns` was given.

    Raises:
        ValueError, TypeError, IndexError, KeyError, OverflowError: if it did not make
            them; the reader of a frame turns that into a sentence.
    """
    allowance = allowance or Allowance()
    columns: dict[int, Column] = {}
    codes: dict[int, Ints] = {}
    later = {Coding.BY, Coding.REST, Coding.LIKE}
    for index, column in enumerate(coded):
        if column[0] not in later:
            columns[index], found = _decoded(column, count, allowance)
            if found is not None:
                codes[index] = found
    for index, column in enumerate(coded):
        if column[0] == Coding.BY:
            columns[index] = _checked(codes[column[1]], list(column[2]))
        elif column[0] == Coding.REST:
            columns[index] = _less(column, columns, count)
        elif column[0] == Coding.LIKE:
            columns[index] = _alike(column, columns, count, allowance)
    return [columns[index] for index in range(len(coded))]


def _decoded(
    column: Sequence[Any], count: int, allowance: Allowance
) -> tuple[Column, Ints | None]:
    coding = Coding(column[0])
    if coding is Coding.PLAIN:
        values = column[1]
        if len(values) != count or not set(map(type, values)) <= SCALARS:
            raise ValueError("a plain column of another length or kind")
        return Column(list(values)), None
    if coding is Coding.SAME:
        codes = np.broadcast_to(np.int64(0), count)  # takes no memory
        return _checked(codes, [column[1]]), None
    if coding is Coding.WORDS:
        codes = unpack((column[2], column[3]), count)
        return _checked(codes, list(column[1])), codes
    if coding is Coding.KEYS:
        shapes, first, codes_, number, numbers, hashes = column[1:7]
        texts, codes = texts_of(
            Shapes(shapes, (first, codes_), (number, numbers), hashes), count, allowance
        )
        if len(texts) != count:
            raise ValueError("another number of keys")
        return Column(texts), codes
    if coding is Coding.FLOATS:
        bits = np.frombuffer(column[1], np.uint8).reshape(8, count).T
        values = np.ascontiguousarray(bits).view("<f8").ravel()
        return Column(values, nulls=_unmask(column[2], count)), None
    if coding not in {Coding.INTS, Coding.STEPS}:
        raise ValueError(f"{coding.name} within {Coding.LIKE.name}")
    numbers_of = _unpack_steps if coding is Coding.STEPS else unpack
    values = numbers_of((column[1], column[2]), count)
    nulls, scale = _unmask(column[3], count), column[4]
    if not isinstance(scale, int) or scale < 1:
        raise ValueError("no scale")
    return Column(values, nulls=nulls, scale=scale), None


def _checked(codes: Ints, words: list[object]) -> Column:
    if codes.size and not (codes.min() >= 0 and codes.max() < len(words)):
        raise ValueError("a code without an entry")
    if not set(map(type, words)) <= SCALARS:
        raise ValueError("entries of another kind")
    return Column(codes, words=words)


def _less(column: Sequence[Any], columns: dict[int, Column], count: int) -> Column:
    whole, *parts = column[5]
    values = columns[whole].values - unpack((column[1], column[2]), count)
    for part in parts:
        values = values - columns[part].values
    return Column(values, nulls=_unmask(column[3], count), scale=column[4])


def _alike(
    column: Sequence[Any],
    columns: dict[int, Column],
    count: int,
    allowance: Allowance,
) -> Column:
    others = columns[column[1]].to_list()
    differs = _unmask(column[2], count)
    rest, _ = _decoded(column[3], int(differs.sum()), allowance)
    left = iter(rest.to_list())
    rows = zip(others, differs.tolist(), strict=True)
    return Column([next(left) if differs_ else other for other, differs_ in rows])


def _unmask(mask: bytes, count: int) -> Any:
    if not mask:
        return None
    if len(mask) != (count + 7) // 8:
        raise ValueError("a mask of another length")
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), count=count)
    return bits.astype(np.bool_)
