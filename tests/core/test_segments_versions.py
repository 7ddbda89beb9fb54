"""Segments that earlier versions wrote stay readable; the bytes that we write are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dask_blackbox.segments import SegmentWriter, open_segment, read_segment
from dask_blackbox.segments.coding import encode_columns
from dask_blackbox.segments.columns import Coding

WRITTEN = Path(__file__).with_name("data") / "format-1.0.seg"

HASH = "0123456789abcdef0123456789abcdef"


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """Return rows that need every coding; what `format-1.0.seg` was made of."""
    parts = (0.25, 0.0, 0.0, 0.0, 8)
    arrays = [
        (
            *(f"('sum-{HASH}', {n})", "sum", f"sum-{HASH}", f"w{n % 2}", n % 2),
            *(n, n + 0.25, *parts, "float", "finished"),
        )
        for n in range(10)
    ]
    lone = [
        (key, "inc", key, "w0", 0, 20.0 + n, 20.25 + n, *parts, "int", "finished")
        for n, key in enumerate(f"inc-{n:032x}" for n in range(10))
    ]
    events = [(0.5, "graph-updated", "client", '{"tasks": 20}')]
    metrics = [
        (n, "w0", n / 3, 2**30 + n * n, n or None, *[None] * 10, "running")
        for n in range(12)
    ]
    return {"task": arrays + lone, "event": events, "metric": metrics}


def written() -> bytes:
    """Return what this version writes of these rows."""
    writer = SegmentWriter("recording-1", 1)
    writer.append("scheduler tcp://h:1", 3, 30.5, rows(), {"log": 2})
    return writer.close()


def test_a_segment_of_format_1_0_is_read() -> None:
    segment = read_segment(WRITTEN.read_bytes())

    assert (segment.recording, segment.number, segment.damage) == (
        "recording-1",
        1,
        None,
    )
    (batch,) = segment.frames
    assert (batch.source, batch.seq, batch.at) == ("scheduler tcp://h:1", 3, 30.5)
    assert batch.dropped == {"log": 2}
    assert batch.rows == rows()


def test_it_met_every_coding() -> None:
    from dask_blackbox.events import COLUMNS

    met = {
        column[0]
        for kind, each in rows().items()
        for column in encode_columns(COLUMNS[kind], list(zip(*each, strict=True)))
    }
    assert met == set(Coding)


def test_a_segment_begins_as_documented() -> None:
    assert open_segment("ab", 258).hex(" ", 1) == (
        "8b 42 42 58 0d 0a 1a 0a 01 01 16 00 02 01 00 00 61 62 " + _crc("ab", 258)
    )


def _crc(name: str, number: int) -> str:
    import zlib

    start = open_segment(name, number)[:-4]
    return zlib.crc32(start).to_bytes(4, "little").hex(" ", 1)


if __name__ == "__main__":
    WRITTEN.parent.mkdir(parents=True, exist_ok=True)
    WRITTEN.write_bytes(written())
