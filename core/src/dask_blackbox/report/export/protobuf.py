"""Protocol buffers, as far as a trace needs them: fields of numbers, texts and messages."""

from __future__ import annotations

import struct

__all__ = ["double", "message", "text", "varint"]


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:  # noqa: PLR2004 - seven bits to a byte
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def varint(field: int, value: int) -> bytes:
    """Return a field that holds an integer, not a negative one."""
    return _varint(field << 3) + _varint(value)


def double(field: int, value: float) -> bytes:
    """Return a field that holds a floating-point number."""
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def message(field: int, content: bytes) -> bytes:
    """Return a field that holds a message, or bytes."""
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """Return a field that holds a text."""
    return message(field, content.encode("utf-8", "replace"))
