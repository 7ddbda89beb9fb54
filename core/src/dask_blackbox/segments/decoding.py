"""Columns as they were, of bytes that may be anybody's: nothing is believed unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dask_blackbox.segments.columns import SCALARS, Coding, Column
from dask_blackbox.segments.keys import Shapes, texts_of
from dask_blackbox.segments.numbers import Ints, unpack, unpack_steps

__all__ = ["decode_columns"]


def decode_columns(coded: Sequence[Sequence[Any]], count: int) -> list[Column]:
    """Return the columns that `encode_columns` was given.

    Raises:
        ValueError, TypeError, IndexError, KeyError, OverflowError: if it did not make
            them; the reader of a frame turns that into a sentence.
    """
    columns: dict[int, Column] = {}
    codes: dict[int, Ints] = {}
    later = {Coding.BY, Coding.REST, Coding.LIKE}
    for index, column in enumerate(coded):
        if column[0] not in later:
            columns[index], reported = _decoded(column, count)
            if reported is not None:
                codes[index] = reported
    for index, column in enumerate(coded):
        if column[0] == Coding.BY:
            columns[index] = _checked(codes[column[1]], list(column[2]))
        elif column[0] == Coding.REST:
            columns[index] = _less(column, columns, count)
        elif column[0] == Coding.LIKE:
            columns[index] = _alike(column, columns, count)
    return [columns[index] for index in range(len(coded))]


def _decoded(column: Sequence[Any], count: int) -> tuple[Column, Ints | None]:
    coding = Coding(column[0])
    if coding is Coding.PLAIN:
        values = column[1]
        if len(values) != count or not set(map(type, values)) <= SCALARS:
            raise ValueError("a plain column of another length or kind")
        return Column(list(values)), None
    if coding is Coding.SAME:
        return _checked(np.zeros(count, np.int64), [column[1]]), None
    if coding is Coding.WORDS:
        codes = unpack((column[2], column[3]), count)
        return _checked(codes, list(column[1])), codes
    if coding is Coding.KEYS:
        shapes, first, codes_, number, numbers, hashes = column[1:7]
        texts, codes = texts_of(
            Shapes(shapes, (first, codes_), (number, numbers), hashes), count
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
    numbers_of = unpack_steps if coding is Coding.STEPS else unpack
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


def _alike(column: Sequence[Any], columns: dict[int, Column], count: int) -> Column:
    others = columns[column[1]].to_list()
    differs = _unmask(column[2], count)
    rest, _ = _decoded(column[3], int(differs.sum()))
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
