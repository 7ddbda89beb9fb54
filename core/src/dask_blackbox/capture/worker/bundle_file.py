"""The failed-task bundle: a failed task with its inputs, in one file that says what is in it.

Parts, each pickled by itself, then what they are as JSON, then checksums: see
docs/format.md.  Writing one pickles; reading one never unpickles.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import IO, Any, Callable, NamedTuple

BUNDLE_FORMAT = 1

_MAGIC = b"\x8bBBC\r\n\x1a\n"
_END = struct.Struct("<Q32s")  # length of the JSON; SHA-256 of all before the checksum
_LENGTH = struct.Struct("<Q")
_BLOCK = 2**20


class TooLargeError(Exception):
    """This part does not fit."""


class _Sink:
    """A file of limited size that computes its checksum."""

    def __init__(self, file: IO[bytes], space: int) -> None:
        self._file, self._space = file, space
        self.size = 0
        self.sum = hashlib.sha256()

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self.size += view.nbytes
        if self.size > self._space:
            raise TooLargeError
        self.sum.update(view)
        self._file.write(view)
        return view.nbytes


class BundleWriter:
    """Writes a bundle of limited size.

    Args:
        file: Empty, readable and writable.
        limit: Bytes that its parts may have together.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file, self._space = file, limit
        self._parts: list[dict[str, object]] = []
        self._file.write(_MAGIC)

    @property
    def space(self) -> int:
        """How many bytes are left."""
        return self._space

    def add(self, write: Callable[[object], None], **facts: object) -> None:
        """Add a part, or leave no trace of it.

        Args:
            write: Writes the part to the file-like object that it is given.

        Raises:
            TooLargeError: if it does not fit.
            Exception: whatever `write` raises.
        """
        offset = self._file.tell()
        sink = _Sink(self._file, self._space)
        try:
            write(sink)
        except BaseException:
            self._file.seek(offset)
            self._file.truncate()
            raise
        self._space -= sink.size
        place = {"offset": offset, "size": sink.size, "sha256": sink.sum.hexdigest()}
        self._parts.append({**facts, **place})

    def finish(self, **facts: object) -> None:
        """Write the table of contents; nothing may be written after it."""
        reported = {"format": BUNDLE_FORMAT, **facts, "parts": self._parts}
        text = json.dumps(reported, default=str).encode("utf-8", "backslashreplace")
        self._file.write(text)
        self._file.write(_LENGTH.pack(len(text)))
        self._file.seek(0)
        digest = hashlib.sha256()
        while block := self._file.read(_BLOCK):
            digest.update(block)
        self._file.write(digest.digest())
        self._file.flush()


class TaskBundle(NamedTuple):
    """A failed-task bundle read back.

    Attributes:
        facts: What is in it, and from where.
        parts: The parts' bytes, in the order of `facts["parts"]`.
    """

    facts: dict[str, Any]
    parts: list[memoryview]


def read_bundle(blob: Any) -> TaskBundle:
    """Read a bundle (bytes or bytearray); nothing is unpickled.

    Raises:
        ValueError: if it is none, is damaged, or of a newer version; it says which.
    """
    if not blob.startswith(_MAGIC) or len(blob) < len(_MAGIC) + _END.size:
        raise ValueError("it is not a failed-task bundle, or it is truncated")
    length, digest = _END.unpack(blob[-_END.size :])
    if hashlib.sha256(memoryview(blob)[:-32]).digest() != digest:
        raise ValueError("its SHA-256 does not match: it was damaged or changed")
    begin = len(blob) - _END.size - length
    if begin < len(_MAGIC):
        raise ValueError("its description is longer than the file")
    facts = json.loads(blob[begin : -_END.size])
    if not isinstance(facts, dict) or not isinstance(facts.get("parts"), list):
        raise ValueError("its description does not list its parts")  # noqa: TRY004
    if facts.get("format") != BUNDLE_FORMAT:
        raise ValueError(
            f"it has format {facts.get('format')}, but this dask-blackbox reads "
            f"{BUNDLE_FORMAT}"
        )
    return TaskBundle(facts, [_part(blob, each, begin) for each in facts["parts"]])


def _part(blob: Any, facts: dict[str, Any], end: int) -> memoryview:
    offset, size = int(facts["offset"]), int(facts["size"])
    part = memoryview(blob)[offset : offset + size]
    inside = 0 <= offset <= offset + size <= end
    if not inside or hashlib.sha256(part).hexdigest() != facts["sha256"]:
        raise ValueError(f"the SHA-256 of {facts.get('name')!r} does not match")
    return part
