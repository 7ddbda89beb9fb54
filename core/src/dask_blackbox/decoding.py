"""Decoding of stored documents: whatever the bytes are, one kind of error comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from dask_blackbox.errors import MalformedRecordingError

_T = TypeVar("_T")
_A = TypeVar("_A")

FAILURES = (
    msgspec.MsgspecError,
    RecursionError,  # of nested brackets: msgspec's own error does not cover it
    ValueError,
    OverflowError,
)
"""What decoding raises for bytes that are no document."""


def checked(decode: Callable[[_A], _T]) -> Callable[[_A], _T]:
    """Return a decoder of stored documents that raises `MalformedRecordingError` only.

    Args:
        decode: The decoder of a type, made at import.
    """

    def decoded(text: _A) -> _T:
        try:
            return decode(text)
        except FAILURES as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else error
            raise MalformedRecordingError(str(why)) from error

    return decoded
