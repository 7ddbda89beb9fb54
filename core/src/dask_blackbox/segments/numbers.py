"""Whole numbers in few bytes: sorted by significance, so that zlib finds what is alike.

A row of numbers is written as the lowest bytes of all, then the second lowest of all, and
so on; the width is that of the largest.  Numbers that move slowly are first replaced by
their differences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def pack_steps(numbers: Ints) -> tuple[int, bytes]:
    """Return the first of the numbers, and the differences from each to the next."""
    if not numbers.size:
        return 0, b"\0"
    steps = np.diff(numbers)
    # Small steps up and down become small numbers from 0: 0, -1, 1, -2, 2 …
    folded = (steps << 1) ^ (steps >> 63)
    return int(numbers[0]), _planes(folded.view(np.uint64))


def unpack_steps(packed: tuple[int, bytes], count: int) -> Ints:
    """Return the `count` numbers that `pack_steps` was given.

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


def steps_are_smaller(numbers: Ints) -> bool:
    """Tell whether `pack_steps` takes less space than `pack`."""
    if numbers.size < 2:  # noqa: PLR2004
        return False
    steps = np.abs(np.diff(numbers).astype(np.float64))
    above = numbers.astype(np.float64) - float(numbers.min())
    return float(np.log2(1 + 2 * steps).sum()) < float(np.log2(1 + above).sum())


def _planes(numbers: NDArray[np.uint64]) -> bytes:
    width = (int(numbers.max()).bit_length() + 7) // 8 if numbers.size else 0
    planes = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return bytes([width]) + planes.tobytes()
