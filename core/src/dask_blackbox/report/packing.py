"""Columns of integers as text: variable-length bytes, deflated, in base64.

The page inflates them with the browser's own `DecompressionStream` (`unpack.js`).
"""

from __future__ import annotations

import base64
import zlib

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST = 10
_LEVEL = 9


def packed(values: ArrayLike) -> str:
    """Return integers, none of them negative, seven bits to a byte, lowest first."""
    return _encoded(_varints(np.asarray(values, dtype=np.uint64)))


def packed_signed(values: ArrayLike) -> str:
    """Return integers of either sign: 0, -1, 1, -2 … are packed as 0, 1, 2, 3 …"""
    signed = np.asarray(values, dtype=np.int64)
    return packed((signed << 1) ^ (signed >> 63))


def packed_texts(texts: list[str]) -> str:
    """Return texts as a JSON array, deflated."""
    return _encoded(msgspec.json.encode(texts))


def _encoded(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, _LEVEL)).decode("ascii")


def _varints(values: NDArray[np.uint64]) -> bytes:
    lengths = np.ones(values.size, dtype=np.int64)
    for extra in range(1, _MOST):
        lengths += values >= np.uint64(1) << np.uint64(7 * extra)
    place = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    written = np.zeros(int(lengths.sum()), dtype=np.uint8)
    for byte in range(int(lengths.max(initial=0))):
        has = lengths > byte
        low = (values[has] >> np.uint64(7 * byte)) & np.uint64(127)
        more = np.where(lengths[has] > byte + 1, 128, 0)
        written[place[has] + byte] = low.astype(np.uint8) | more.astype(np.uint8)
    return written.tobytes()
