"""How large a Parquet file becomes when it is read, found without reading it.

A file of some hundred kilobytes may stand for gigabytes.  polars does not say how many:
the sizes are in the footer and, as a footer may be wrong, in front of each page.
Both are structs of Thrift's compact protocol, of which this reads what is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_MAGIC = b"PAR1"
_LARGEST_FOOTER = 2**24
_DEEPEST = 16
_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _TEXT, _LIST, _SET, _MAP, _STRUCT = range(1, 13)  # fmt: skip
_ROWS, _GROUPS = 3, 4  # fields of the footer, …
_COLUMNS, _GROUP_ROWS = 1, 3  # … of a group of rows, …
_META = 3  # … of a column's part in it, …
_STORED, _DATA_AT, _DICTIONARY_AT = 7, 9, 11  # … and of what that says;
_UNPACKED, _PACKED, _HEADER, _HEADER_2, _VALUES = 2, 3, 5, 8, 1  # and of a page


class ParquetSize(NamedTuple):
    """What a file holds.

    Attributes:
        rows: Rows of it.
        columns: Columns of it.
        unpacked: Bytes of its pages after decompression.
    """

    rows: int
    columns: int
    unpacked: int


def parquet_size(blob: bytes) -> ParquetSize:
    """Return what a Parquet file holds.

    Raises:
        ValueError: if it is none, or its parts contradict each other.
    """
    try:
        return _size(blob)
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no Parquet file: {error!r}") from error


def _size(blob: bytes) -> ParquetSize:
    length = int.from_bytes(blob[-8:-4], "little")
    if blob[:4] != _MAGIC or blob[-4:] != _MAGIC or length > len(blob) - 12:
        raise ValueError("no Parquet file")
    if length > _LARGEST_FOOTER:
        raise ValueError(f"a footer of {length:,} bytes")
    footer = _Reader(blob, len(blob) - 8 - length).struct()
    rows = unpacked = columns = 0
    for group in footer[_GROUPS]:
        rows += group[_GROUP_ROWS]
        columns = max(columns, len(group[_COLUMNS]))
        for column in group[_COLUMNS]:
            unpacked += _of_pages(blob, column[_META], group[_GROUP_ROWS])
    if min(rows, footer[_ROWS]) < 0:
        raise ValueError("fewer than no rows")
    return ParquetSize(max(rows, footer[_ROWS]), columns, unpacked)


def _of_pages(blob: bytes, column: dict[int, Any], rows: int) -> int:
    """Return the bytes of a column's pages after decompression."""
    place = column[_DATA_AT]
    if 0 < column.get(_DICTIONARY_AT, 0) < place:
        place = column[_DICTIONARY_AT]
    end, unpacked, values = place + column[_STORED], 0, 0
    if not 0 <= place <= end <= len(blob):
        raise ValueError("a column outside of the file")
    while place < end:
        reader = _Reader(blob, place)
        page = reader.struct()
        if page[_PACKED] < 0 or page[_UNPACKED] < 0:
            raise ValueError("a page of less than no bytes")
        unpacked += page[_UNPACKED]
        values += page.get(_HEADER, page.get(_HEADER_2, {})).get(_VALUES, 0)
        place = reader.place + page[_PACKED]
    if values > rows:
        raise ValueError(f"{values:,} values in {rows:,} rows")
    return unpacked


class _Reader:
    """Reads structs of Thrift's compact protocol; texts are passed over."""

    def __init__(self, blob: bytes, place: int) -> None:
        self._blob = blob
        self.place = place

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by their numbers."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            fields[number] = self._value(kind, depth, in_field=True)
        return fields

    def _value(self, kind: int, depth: int, *, in_field: bool = False) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE if in_field else self._byte() == _TRUE
        if kind in (_SHORT, _INT, _LONG):
            return self._signed()
        if kind in (_BYTE, _DOUBLE, _TEXT):
            length = {_BYTE: 1, _DOUBLE: 8}.get(kind) or self._unsigned()
            self.place += length
            return None
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head < 0xF0 else self._unsigned()  # noqa: PLR2004
            if count > len(self._blob) - self.place:
                raise ValueError("a list that is longer than the file")
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"an unknown kind of value: {kind}")

    def _byte(self) -> int:
        self.place += 1
        return self._blob[self.place - 1]

    def _unsigned(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004
                return number
            if shift > 63:  # noqa: PLR2004
                raise ValueError("a number of more than 64 bits")

    def _signed(self) -> int:
        folded = self._unsigned()
        return (folded >> 1) ^ -(folded & 1)
