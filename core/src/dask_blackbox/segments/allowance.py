"""How much a recording may become when it is decoded: in proportion to what is stored of it.

What repeats takes no space in a segment, so that a file of some hundred bytes could stand
for a billion rows.  A real row takes a byte at least, and 20 bytes on average; a run of a
million tasks has 22 million cells and 20 MB.
"""

from __future__ import annotations

CELLS, CELLS_A_BYTE, MOST_CELLS = 2**25, 16, 2**28
"""Cells (rows times columns) of a recording: so many, more for each stored byte, at most."""

BYTES, BYTES_A_BYTE, MOST_BYTES = 2**26, 32, 2**30
"""Bytes after decompression, likewise."""

MOST_TEXTS = 2**30
"""Bytes of all texts of a table, each counted as often as it occurs."""

MOST_STORED = 2**30
"""Bytes of segments that are read of one recording."""


class OverAllowanceError(ValueError):
    """A recording that would become larger than it may; the text says by what."""


class Allowance:
    """What one recording may still become; make one for each."""

    def __init__(self, stored: int = 0) -> None:
        self._cells, self._bytes, self._stored = 0, 0, 0
        self.add_stored(stored)

    def add_stored(self, size: int) -> None:
        """Count bytes that were read from the store.

        Raises:
            OverAllowanceError: if they are more than one recording may have.
        """
        self._stored += size
        if self._stored > MOST_STORED:
            raise OverAllowanceError(
                f"the recording has more than {MOST_STORED / 2**20:,.0f} MiB"
            )

    @property
    def bytes_left(self) -> int:
        """How many bytes may still come out of decompression."""
        most = min(BYTES + BYTES_A_BYTE * self._stored, MOST_BYTES)
        return max(0, most - self._bytes)

    def take_bytes(self, size: int) -> None:
        """Count bytes that came out of decompression.

        Raises:
            OverAllowanceError: if they are too many.
        """
        if size > self.bytes_left:
            raise OverAllowanceError(
                f"it would become more than {self._of('bytes', BYTES_A_BYTE)}"
            )
        self._bytes += size

    def take_texts(self, size: int) -> None:
        """Count bytes of texts that share memory as long as nothing copies them.

        Raises:
            OverAllowanceError: if a copy of them would be too large.
        """
        if size > MOST_TEXTS:
            raise OverAllowanceError(
                f"its texts have {size:,} bytes, more than {MOST_TEXTS:,}"
            )

    def take_cells(self, rows: int, columns: int) -> None:
        """Count cells before they are made.

        Raises:
            OverAllowanceError: if they are too many.
        """
        most = min(CELLS + CELLS_A_BYTE * self._stored, MOST_CELLS)
        if self._cells + rows * columns > most:
            raise OverAllowanceError(
                f"its {rows:,} rows would make it more than "
                f"{self._of('cells', CELLS_A_BYTE)}"
            )
        self._cells += rows * columns

    def _of(self, what: str, each: int) -> str:
        least = {"cells": CELLS, "bytes": BYTES}[what]
        most = {"cells": MOST_CELLS, "bytes": MOST_BYTES}[what]
        allowed = min(least + each * self._stored, most)
        return f"the {allowed:,} {what} that {self._stored:,} stored bytes may hold"
