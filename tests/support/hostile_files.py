"""What somebody who may write to a store can put into a recording of it.

Each kind replaces one file of the recording in a folder.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from dask_blackbox.segments.format import ZLIB_MSGPACK, frame_bytes, open_segment
from dask_blackbox.tables import SCHEMAS

__all__ = ["KINDS", "mutated"]

Harm = Callable[[Path], None]
"""Replaces something in the folder of a recording."""

_DEEP = 3_000
_SPARSE = 20 * 2**30
_DOCUMENTS = ("run.json", "complete.json", "card.json", "heartbeat.json")
_NUMBERS = (1e300, -1e300, 10**400, -1, 2**63, 0)


def _nested(name: str) -> Harm:
    def write(folder: Path) -> None:
        brackets = "[" * _DEEP + "]" * _DEEP
        (folder / name).write_text(f'{{"format":1,"zzz":{brackets}}}')

    return write


def _huge(name: str) -> Harm:
    """Return what makes a file that takes no space on the disk."""

    def write(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(_SPARSE)

    return write


def _special(name: str, make: Callable[[Path], None]) -> Harm:
    def write(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return write


def _linked(to: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(to)


def _numbers(name: str, number: float) -> Harm:
    """Return what replaces every number of a document."""

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(each) for key, each in value.items()}
        if isinstance(value, list):
            return [replaced(each) for each in value]
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return number if plain else value

    def write(folder: Path) -> None:
        document = json.loads((folder / name).read_bytes())
        document.pop("crc", None)
        numbers = replaced(document)
        if "format" in numbers:
            numbers["format"] = document["format"]
        (folder / name).write_text(json.dumps(numbers))

    return write


def _payload(rows: Any) -> bytes:
    stored = {"source": "s", "seq": None, "at": 1.0, "dropped": {}, "rows": rows}
    return zlib.compress(msgspec.msgpack.encode(stored), 9)


def _segment(*payloads: bytes) -> Harm:
    def write(folder: Path) -> None:
        recording = json.loads((folder / "run.json").read_bytes())["recording"]
        blob = open_segment(recording, 9)
        blob += b"".join(frame_bytes(each, ZLIB_MSGPACK) for each in payloads)
        for each in (folder / "segments").iterdir():
            each.unlink()
        (folder / "segments" / "r1-000001.seg").write_bytes(blob)
        for each in (folder / "tables").iterdir():
            each.unlink()

    return write


def _events(*details: object, at: float = 1.8e9) -> Harm:
    """Return what gives a run one event of each kind that readers look into."""
    kinds = ("worker-added", "worker-removed", "worker-exit-report", "span", "stall")
    rows = [(at, kind, "tcp://w:1", each) for kind in kinds for each in details]
    columns = [[0, list(column)] for column in zip(*rows, strict=True)]
    return _segment(_payload({"event": (len(rows), columns)}))


def _parquet(name: str, rows: int, value: str | None) -> Harm:
    def write(folder: Path) -> None:
        schema = SCHEMAS[name]
        first = next(column for column in schema if schema[column] == pl.String)
        frame = pl.select(pl.repeat(value, rows, dtype=pl.String).alias(first))
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", row_group_size=rows)
        (folder / "tables" / f"{name}.parquet").write_bytes(buffer.getvalue())

    return write


def _lying_footer(folder: Path) -> None:
    """Write a table with the footer of another one, in which its pages look small."""
    path = folder / "tables" / "logs.parquet"
    whole = path.read_bytes()
    length = struct.unpack("<I", whole[-8:-4])[0]
    path.write_bytes(b"PAR1" + os.urandom(2000) + whole[-8 - length :])


def _sketch(folder: Path) -> None:
    sketches = folder.parents[3] / "sketches" / folder.parts[-3].partition("=")[2]
    brackets = "[" * _DEEP + "]" * _DEEP
    for each in sketches.iterdir():
        each.write_bytes(gzip.compress(f'{{"format":1,"zzz":{brackets}}}'.encode()))


_ALIKE = [[1, "x"]] * 9
_TWO_MILLIONS = 2**21

KINDS: dict[str, Harm] = {
    **{f"nested {name}": _nested(name) for name in _DOCUMENTS},
    **{f"huge {name}": _huge(name) for name in (*_DOCUMENTS, "report.html")},
    "huge segment": _huge("segments/r1-000001.seg"),
    "huge table": _huge("tables/logs.parquet"),
    **{f"FIFO {name}": _special(name, os.mkfifo) for name in _DOCUMENTS},
    "FIFO segment": _special("segments/r1-000001.seg", os.mkfifo),
    "FIFO table": _special("tables/logs.parquet", os.mkfifo),
    **{
        f"link of {name} to {to}": _special(name, _linked(to))
        for name in _DOCUMENTS
        for to in ("/dev/zero", "/etc/passwd", "card.json")
    },
    "folder card.json": _special("card.json", Path.mkdir),
    "nested sketch": _sketch,
    **{
        f"{number:.0e} in {name}": _numbers(name, number)
        for name in _DOCUMENTS
        for number in _NUMBERS[:2]
    },
    **{f"{name} of a large number": _numbers(name, 10**400) for name in _DOCUMENTS},
    **{f"negative numbers in {name}": _numbers(name, -1) for name in _DOCUMENTS},
    "rows that repeat": _segment(*[_payload({"log": (_TWO_MILLIONS, _ALIKE)})] * 8),
    "text that repeats": _segment(
        *[_payload({"log": (900, [[6, ["x" * 70_000], 0, b"\0", 0, b"\0", b""]] * 9)})]
        * 200
    ),
    "lists of lists": _segment(_payload({"log": (9, [[0, [[]] * 2**24]])})),
    "columns without end": _segment(_payload({"log": (2**20, [[1, 1]] * 5_000)})),
    "a bomb of zeros": _segment(zlib.compress(b"\0" * 2**28, 9)),
    "events without JSON": _events("no JSON", "[]", "null", "", None),
    "events of nested JSON": _events("[" * _DEEP + "]" * _DEEP),
    "events with odd facts": _events(
        '{"pid": {}, "name": [[]], "enqueued": "x", "groups": 7, "processing": 3}'
    ),
    "events of no time": _events("{}", at=1e300),
    "events before time": _events("{}", at=-1e17),
    "events at infinity": _events("{}", at=float("inf")),
    **{
        f"null rows of {name}": _parquet(name, 30_000_000, None)
        for name in ("logs", "tasks", "events")
    },
    "long texts in a table": _parquet("logs", 3_000, "x" * 2**20),
    "a footer that lies": _lying_footer,
}
"""What is done to a recording, by name."""


def mutated(folder: Path, seed: int) -> str:
    """Change a recording at random; return what was done.

    Args:
        folder: Of the recording.
        seed: The same one makes the same change.
    """
    chance = random.Random(seed)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    path = chance.choice(files)
    blob = path.read_bytes()
    if path.suffix == ".json" and chance.random() < 0.7:
        changed = _odd_json(chance, blob)
    else:
        changed = _odd_bytes(chance, blob)
    path.write_bytes(changed)
    return path.name


def _odd_json(chance: random.Random, blob: bytes) -> bytes:
    document = json.loads(blob)
    document.pop("crc", None)
    odd: list[object] = [
        None,
        [],
        {},
        "",
        "x" * 10_000,
        1e300,
        -5,
        10**30,
        [[[]]],
        {"a": {}},
        True,
    ]
    places = list(_places(document))
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(places)
        with contextlib.suppress(LookupError, TypeError):
            holder[key] = chance.choice(odd)
    return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in list(items):
        yield value, key
        yield from _places(each)


def _odd_bytes(chance: random.Random, blob: bytes) -> bytes:
    if not blob or chance.random() < 0.2:
        return chance.randbytes(chance.randint(0, 300))
    changed = bytearray(blob)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(changed))
        changed[place] = chance.randrange(256)
    if chance.random() < 0.3:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed)
