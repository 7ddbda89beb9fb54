"""What a frame holds: one batch of one source, its rows turned into columns."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any

import msgspec

from dask_blackbox.events import COLUMNS, Rows
from dask_blackbox.segments.allowance import Allowance
from dask_blackbox.segments.columns import FEW, Coding, Column

MOST_ROWS = 2**21
"""How many rows of a kind a batch may hold; a larger one is taken for an attack."""

_LARGEST_PAYLOAD = 2**28
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Batch:
    """What came from one source at one time.

    Attributes:
        source: Where it came from.
        seq: Its number among the batches of that source; None where they aren't counted.
        at: When it was taken, epoch seconds.
        dropped: Rows that the source had to drop so far, by kind.
        columns: The rows as columns, by kind, in the order of `COLUMNS`.
        counts: How many rows, by kind.
    """

    source: str
    seq: int | None
    at: float
    dropped: dict[str, int]
    columns: dict[str, list[Column]]
    counts: dict[str, int]

    @property
    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows by kind, as they were given to the writer."""
        return {
            kind: list(zip(*(column.to_list() for column in columns), strict=True))
            for kind, columns in self.columns.items()
        }


class _Payload(msgspec.Struct):
    """What is stored: rows by kind are their number and their coded columns."""

    source: str
    seq: int | None
    at: float
    dropped: dict[str, int]
    rows: dict[str, tuple[int, list[list[object]]]]


_LEAST_COLUMNS, _MOST_COLUMNS, _MOST_PARTS = 16, 64, 16
# A table has its columns, however few of them are in a payload.
_Parts = Annotated[list[msgspec.Raw], msgspec.Meta(max_length=_MOST_PARTS)]
"""A coded column whose parts are still msgpack: its coding, numbers, bytes and lists."""

_Values = Annotated[
    list[str | int | float | bool | None], msgspec.Meta(max_length=MOST_ROWS)
]


class _Stored(msgspec.Struct):
    """A payload as it is read: no column is decoded before its rows have been counted."""

    source: str
    seq: int | None
    at: float
    dropped: dict[str, int]
    rows: dict[
        str,
        tuple[int, Annotated[list[_Parts], msgspec.Meta(max_length=_MOST_COLUMNS)]],
    ]


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_decode_payload = msgspec.msgpack.Decoder(_Stored).decode
_decode_parts = msgspec.msgpack.Decoder(_Parts).decode
_decode_values = msgspec.msgpack.Decoder(_Values).decode
_decode_each = msgspec.msgpack.Decoder(
    Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MOST_ROWS)]
).decode
_decode_scalar = msgspec.msgpack.Decoder().decode


def encode_batch(
    source: str,
    seq: int | None,
    at: float,
    rows: Rows,
    dropped: Mapping[str, int] | None = None,
) -> bytes:
    """Return a batch as compressed bytes.

    Values that msgpack has no word for are written as text rather than lost.

    Raises:
        ValueError: for more than `MOST_ROWS` rows of a kind.
    """
    counts = {kind: len(each) for kind, each in rows.items() if each}
    if max(counts.values(), default=0) > MOST_ROWS:
        raise ValueError(f"a batch holds at most {MOST_ROWS} rows of a kind: {counts}")
    columns = {kind: _columns(rows[kind]) for kind in counts}
    try:
        packed = _packed(source, seq, at, columns, dropped)
    except (TypeError, ValueError, OverflowError):
        columns = {
            kind: [[_plain(value) for value in column] for column in each]
            for kind, each in columns.items()
        }
        packed = _packed(_plain(source), seq, at, columns, dropped)
    return zlib.compress(packed, _LEVEL)


def _columns(rows: Any) -> list[Any]:
    try:
        return list(zip(*rows, strict=True))
    except ValueError:  # the other end has fewer or more columns in some rows
        return list(zip_longest(*rows))


def _packed(
    source: str,
    seq: int | None,
    at: float,
    columns: Mapping[str, list[Any]],
    dropped: Mapping[str, int] | None,
) -> bytes:
    coded = {
        kind: (len(each[0]) if each else 0, _coded(kind, each))
        for kind, each in columns.items()
    }
    return msgspec.msgpack.encode(
        _Payload(source, seq, float(at), dict(dropped or {}), coded)
    )


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else str(int(value))
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return str(value).encode("utf-8", "backslashreplace").decode()


def _coded(kind: str, columns: Sequence[Sequence[object]]) -> list[list[object]]:
    if columns and len(columns[0]) < FEW:
        return [[Coding.PLAIN, list(column)] for column in columns]
    # Not before: a recording begins with few rows, and numpy takes longer than all of them.
    from dask_blackbox.segments.coding import encode_columns

    return encode_columns(COLUMNS.get(kind, ()), columns)


def decode_batch(payload: bytes, allowance: Allowance | None = None) -> Batch:
    """Return the batch that `encode_batch` was given.

    Args:
        allowance: What its recording may still become.

    Raises:
        OverAllowanceError: if it would become more than that.
        ValueError: if these bytes are no batch; with what is wrong.
    """
    allowance = allowance or Allowance(len(payload))
    try:
        stored = _decode_payload(_unpacked(payload, allowance))
        for count, each in stored.rows.values():
            if not 0 <= count <= MOST_ROWS:
                raise ValueError(f"{count} rows in one batch")
            allowance.take_cells(count, max(_LEAST_COLUMNS, len(each)))
        return Batch(
            stored.source,
            stored.seq,
            stored.at,
            stored.dropped,
            {
                kind: _decoded(count, each, allowance)
                for kind, (count, each) in stored.rows.items()
            },
            {kind: count for kind, (count, _) in stored.rows.items()},
        )
    except (
        zlib.error,
        msgspec.MsgspecError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
    ) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _unpacked(payload: bytes, allowance: Allowance) -> bytes:
    unpacking = zlib.decompressobj()
    most = min(_LARGEST_PAYLOAD, allowance.bytes_left)
    unpacked = unpacking.decompress(payload, most) if most else b""
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError(f"it does not end within {most} bytes")
    allowance.take_bytes(len(unpacked))
    return unpacked


def _decoded(
    count: int, coded: list[list[msgspec.Raw]], allowance: Allowance
) -> list[Column]:
    from dask_blackbox.segments.coding import decode_columns

    columns = [_parts_of(each) for each in coded]
    return decode_columns(columns, count, allowance)


_ARRAYS = (*range(0x90, 0xA0), 0xDC, 0xDD)
_MAPS = (*range(0x80, 0x90), 0xDE, 0xDF)


def _parts_of(raw: list[msgspec.Raw]) -> list[Any]:
    """Decode the parts of a column; none of its lists holds anything but plain values."""
    coding = _part_of(raw[0])
    if coding != Coding.LIKE:
        return [coding, *map(_part_of, raw[1:])]
    # The rest of such a column is a coded column itself.
    rest = [_part_of(each) for each in _decode_parts(raw[3])]
    return [coding, *map(_part_of, raw[1:3]), rest]


def _part_of(raw: msgspec.Raw) -> Any:
    if memoryview(raw)[0] not in _ARRAYS:
        return _scalar_of(raw)
    try:
        return _decode_values(raw)
    except msgspec.ValidationError:  # it holds bytes, alone or beside other values
        return [_scalar_of(each) for each in _decode_each(raw)]


def _scalar_of(raw: msgspec.Raw) -> Any:
    if memoryview(raw)[0] in (*_ARRAYS, *_MAPS):
        raise ValueError("a list or map within a column")
    return _decode_scalar(raw)
