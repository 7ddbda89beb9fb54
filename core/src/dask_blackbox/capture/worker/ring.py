"""A worker's ring: a memory-mapped file that survives the process that writes it.

A page of a mapped file survives SIGKILL, because the kernel owns it.  The file lies
outside the worker's local directory, which the nanny deletes before anyone can look.
Its space on the disk is allocated at once: a mapped page that the disk has no space for
ends the process that writes to it (SIGBUS).

    0      header    magic, heads and counters
    64     identity  JSON: pid, worker, nanny, …
    1024   running   two slots of 8 KiB, JSON: what executes now; written alternately
    17408  samples   600 of (time, RSS), a circle
    27008  lines     the rest, a circle of JSON lines
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
from typing import Any, Callable, Mapping

_MAGIC = b"DBBRING1"
_HEADER = struct.Struct(
    "=8sQQQQ"
)  # magic, lines written, samples written, running, lost
_WRITTEN, _SAMPLED, _STATES, _LOST = 1, 2, 3, 4  # places of those numbers
_IDENTITY, _RUNNING, _SAMPLES, _LINES = 64, 1024, 17408, 27008
_SLOT = 8192
_SAMPLE = struct.Struct("<dQ")
_SAMPLE_SLOTS = 600
_SMALLEST = _LINES + 4096
_SHARE = 10  # of the free space, it takes one part of so many
_NOTHING = b"[]"
quoted = json.encoder.encode_basestring_ascii


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else "null"


# `json.dumps` makes an encoder for each call, which takes longer than encoding a line.
_CELLS: dict[type, Callable[[Any], str]]
_CELLS = {str: quoted, int: repr, float: _number, type(None): lambda _: "null"}


class Ring:
    """The writing side.  One writer at a time; callers hold a lock if they are several.

    Attributes:
        path: Of the file.
        failed: Why there is no file, but only memory, which ends with the process; None
            if there is one.
    """

    def __init__(self, path: str, identity: Mapping[str, object], size: int) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.failed: OSError | None = None
        try:
            free = os.fstatvfs(handle)
            share = free.f_bavail * free.f_frsize // _SHARE
            size = max(min(size, share), _SMALLEST)
            _allocate(handle, size)
            self._map = mmap.mmap(handle, size)
        except OSError as error:
            os.unlink(path)
            self.failed = error
            self._map = mmap.mmap(-1, size := _SMALLEST)
        finally:
            os.close(handle)
        self.path = path
        self._capacity = size - _LINES
        # What they count is already there when they change.
        self._numbers = memoryview(self._map)[: _HEADER.size].cast("Q")
        reported = json.dumps(identity).encode()[: _RUNNING - _IDENTITY - 1]
        self._map[_IDENTITY : _IDENTITY + len(reported)] = reported
        self._map[: len(_MAGIC)] = _MAGIC

    def printing(
        self, begins: str, who: str, before_text: str
    ) -> Callable[[float, int, str, str], None]:
        """Return what appends rows of `log` that differ in four cells only.

        It takes a moment, a number, a text and a key, the latter as JSON.  Whoever prints
        waits for it.

        Args:
            begins: What precedes the moment, as JSON; that is written in whole
                microseconds, which takes a third of the time of a float.
            who: What stands between moment and number.
            before_text: What stands between number and text.
        """
        numbers, capacity, target = self._numbers, self._capacity, self._map
        limit = _LINES + capacity

        def append(at: float, number: int, text: str, key: str) -> None:
            line = f"{begins}{int(at * 1e6)}{who}{number}{before_text}{quoted(text)}, {key}]\n".encode()
            written = numbers[_WRITTEN]
            start = _LINES + written % capacity
            end = start + len(line)
            if end > limit:
                self._append(line, json.loads(line))
                return
            target[start:end] = line
            numbers[_WRITTEN] = written + end - start

        return append

    def line(self, row: list[object]) -> None:
        """Append a row (its kind first); one that is too long for the ring is cut and marked."""
        self._append(_line(row), row)

    def _append(self, text: bytes, row: list[object]) -> None:
        if len(text) > self._capacity // 2:
            keep = self._capacity // 8
            row = [x[:keep] + " … cut" if isinstance(x, str) else x for x in row]
            text = _line(row)
            self._numbers[_LOST] += 1
        written = self._numbers[_WRITTEN]
        start = written % self._capacity
        first = min(len(text), self._capacity - start)
        self._map[_LINES + start : _LINES + start + first] = text[:first]
        if first < len(text):
            self._map[_LINES : _LINES + len(text) - first] = text[first:]
        self._numbers[_WRITTEN] = written + len(text)

    def running(self, executing: list[dict[str, object]]) -> None:
        """Write which tasks execute now: `key`, `start` and other facts of each."""
        text = json.dumps(executing).encode()
        while len(text) >= _SLOT:
            executing = executing[: len(executing) // 2]
            text = json.dumps(executing).encode()
        self._state(text)

    def running_one(self, key: str, start: float) -> None:
        """Write that one task executes, without other facts: by far the most frequent case."""
        text = f'[{{"key": {quoted(key)}, "start": {start!r}}}]'.encode()
        if len(text) < _SLOT:
            self._state(text)
        else:
            self.running([])

    def running_none(self) -> None:
        """State that nothing executes."""
        self._state(_NOTHING)

    def _state(self, text: bytes) -> None:
        number = self._numbers[_STATES] + 1
        at = _RUNNING + _SLOT * (number % 2)
        self._map[at : at + len(text) + 1] = text + b"\0"
        self._numbers[_STATES] = number

    def sample(self, at: float, rss: int) -> None:
        """Append a memory sample."""
        number = self._numbers[_SAMPLED]
        slot = number % _SAMPLE_SLOTS
        _SAMPLE.pack_into(self._map, _SAMPLES + slot * _SAMPLE.size, at, rss)
        self._numbers[_SAMPLED] = number + 1

    def memory(self) -> list[list[float]]:
        """Return the samples that it holds: [[at, rss]]."""
        return _samples(self._map, self._numbers[_SAMPLED])

    def close(self) -> None:
        """Unmap the file; it stays."""
        self._numbers.release()
        self._map.close()


def _allocate(handle: int, size: int) -> None:
    """Allocate a new file, with disk space for each byte."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
        return
    rest = memoryview(bytes(size))
    while rest:
        rest = rest[os.write(handle, rest) :]


def _line(row: list[object]) -> bytes:
    try:
        cells = [_CELLS[type(cell)](cell) for cell in row]
    except KeyError:
        return json.dumps(row, default=str).encode() + b"\n"
    return f"[{', '.join(cells)}]\n".encode()


def read_ring(path: str) -> dict[str, Any] | None:
    """Return what a ring holds, or None if it is not one.

    Returns:
        `identity`, `executing` [{key, start, …}], `memory` [[at, rss]], `lines` [row],
        `overwritten` (bytes of lines that the circle no longer holds), `cut` (lines).
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
        magic, written, samples, running, lost = _HEADER.unpack_from(data)
    except (OSError, struct.error):
        return None
    if magic != _MAGIC:
        return None
    capacity = len(data) - _LINES
    slot = _RUNNING + _SLOT * (running % 2)
    return {
        "identity": _json(data[_IDENTITY:_RUNNING], {}),
        "executing": _json(data[slot : slot + _SLOT], []) if running else [],
        "memory": _samples(data, samples),
        "lines": _lines(data, written, capacity),
        "overwritten": max(0, written - capacity),
        "cut": lost,
    }


def identity_in(path: str) -> dict[str, object]:
    """Return whose ring this is; nothing if it is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(_RUNNING)
    except OSError:
        return {}
    known: dict[str, object] = {}
    return _json(data[_IDENTITY:], known) if data.startswith(_MAGIC) else known


def _json(text: bytes, otherwise: object) -> Any:
    try:
        return json.loads(text.split(b"\0", 1)[0])
    except ValueError:
        return otherwise


def _samples(data: bytes | mmap.mmap, count: int) -> list[list[float]]:
    kept = min(count, _SAMPLE_SLOTS)
    slots = [(count - kept + i) % _SAMPLE_SLOTS for i in range(kept)]
    return [list(_SAMPLE.unpack_from(data, _SAMPLES + s * _SAMPLE.size)) for s in slots]


def _lines(data: bytes, written: int, capacity: int) -> list[list[Any]]:
    if written <= capacity:
        text = data[_LINES : _LINES + written]
    else:
        head = written % capacity
        text = data[_LINES + head :] + data[_LINES : _LINES + head]
        text = text.split(b"\n", 1)[-1]  # the oldest is overwritten half-way
    rows = (_json(line, None) for line in text.split(b"\n") if line)
    return [row for row in rows if isinstance(row, list)]
