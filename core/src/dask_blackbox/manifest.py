"""The two small JSON documents of a recording: how it began and how it ended."""

from __future__ import annotations

import zlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

__all__ = [
    "FORMAT",
    "SPOOL",
    "DriverException",
    "Ending",
    "Manifest",
    "SourceAccount",
    "own_version",
    "seal_is_whole",
    "sealed",
]

FORMAT = 1
"""Version of everything a recording consists of (docs/format.md)."""

SPOOL = "spool"
"""The source under which a recorder accounts for what its own disk did not hold."""

_SEAL = b',\n  "crc": "00000000"\n}'
_DIGITS = slice(len(_SEAL) - 11, len(_SEAL) - 3)
_ALIKE = 10  # of the 14 other bytes: enough to know a seal that is damaged itself


def own_version(name: str = "dask-blackbox") -> str:
    """Return our version; nothing where our files lie without what `pip` knows of them."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """`run.json`: who this is; written before the run's first task.

    Attributes:
        format: Version of the format.
        recording: Unique id of this recording.
        job: What is run again and again.
        run_id: Which of its runs.
        attempt: Which try of that run, from 1.
        started: Epoch seconds.
        host: What started the run (`kind`: airflow, prefect, github, shell, …; `url` of its
            page; whatever else identifies it there).
        machine: Host name that the driver ran on.
        blackbox: Version of dask-blackbox.
    """

    format: int = FORMAT
    recording: str
    job: str
    run_id: str
    attempt: int = 1
    started: float
    host: dict[str, Any] = {}
    machine: str = ""
    blackbox: str = ""


class DriverException(msgspec.Struct, kw_only=True, frozen=True):
    """The exception that ended the driver's work.

    Attributes:
        exception: Qualified name of its class.
        message: Its text.
        traceback: As Python prints it, chained causes included.
        chain: Qualified class names from the outermost to the root cause.
        handled: Class and message of what was being handled when it was raised `from None`.
        file: File of the user's own innermost frame, if there is one.
        line: Line in that file.
        function: Function of that frame.
        key: The Dask key that it came from, if it came from a task.
        found: If a module was missing, or lacked something: where the driver itself has it (`module`, `file`;
            `package` and `version` if it is installed); empty if it has not.
    """

    exception: str
    message: str
    traceback: str = ""
    chain: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    function: str | None = None
    key: str | None = None
    found: dict[str, str] = {}


class SourceAccount(msgspec.Struct, kw_only=True, frozen=True):
    """What came from one source, and what did not.

    Attributes:
        batches: How many batches came.
        first: Sequence number of the first.
        last: Sequence number of the last.
        gaps: Ranges (from, to) of batches that never came.
        dropped: Rows that the source had to drop, by kind.
        error: Why the source could not be recorded, if it could not.
    """

    batches: int = 0
    first: int | None = None
    last: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    dropped: dict[str, int] = {}
    error: str | None = None


class Ending(msgspec.Struct, kw_only=True, frozen=True):
    """`complete.json`: how it ended, and the completeness certificate.

    Attributes:
        format: Version of the format.
        state: A word of `RunState`.
        ended: Epoch seconds.
        exit_code: Of the command, where there was one.
        exception: What ended the driver's work, where something did.
        sources: Completeness by source (`scheduler <address>`, `driver <pid>`,
            `spool` where rows had to be dropped).
        rows: Rows in each table.
        segments: Names of the segments and their checksums (CRC-32, hexadecimal).
        lost_segments: Segments that could not be read back, with why.
        blobs: Names of all other blobs and their checksums, likewise.
        store_behind: Seconds by which the store was behind at the worst.
    """

    format: int = FORMAT
    state: str
    ended: float
    exit_code: int | None = None
    exception: DriverException | None = None
    sources: dict[str, SourceAccount] = {}
    rows: dict[str, int] = {}
    segments: dict[str, str] = {}
    lost_segments: dict[str, str] = {}
    blobs: dict[str, str] = {}
    store_behind: float = 0.0


def sealed(document: Manifest | Ending) -> bytes:
    """Return a document as JSON that ends with its own checksum.

    That is `crc`, the CRC-32 of all bytes with eight zeros in its place.
    """
    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    whole = text.removesuffix(b"\n}") + _SEAL
    return whole[:-11] + b"%08x" % zlib.crc32(whole) + whole[-3:]


def seal_is_whole(text: bytes) -> bool:
    """Tell whether a document is as it was written; one without a seal is believed."""
    end = text[-len(_SEAL) :]
    crc = end[_DIGITS]
    alike = sum(a == b for a, b in zip(end, _SEAL, strict=False)) - crc.count(b"0")
    if alike < _ALIKE:
        return True
    whole = text[: -len(_SEAL)] + _SEAL
    return end == _SEAL[:-11] + b"%08x" % zlib.crc32(whole) + _SEAL[-3:]
