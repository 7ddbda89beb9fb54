"""A segment that is cut, flipped or forged: what is whole is read, the rest is named."""

from __future__ import annotations

import re
import struct
import tracemalloc
import zlib
from typing import Any

import msgspec
import pytest
from dask_blackbox.errors import FutureFormatError, MalformedRecordingError
from dask_blackbox.segments import (
    SegmentWriter,
    frame,
    open_segment,
    read_segment,
)
from dask_blackbox.segments.format import FRAME, MAGIC, ZLIB_MSGPACK, frame_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

HEADER = open_segment("recording-1", 3)


def a_frame(seq: int) -> bytes:
    """Return a frame with a few rows, enough for every coding to be met."""
    key = "('sum-0123456789abcdef0123456789abcdef', {}, {})".format
    tasks = [
        (
            key(seq, i),
            "sum",
            "sum-01",
            "w",
            i % 2,
            i,
            i + 1.5,
            1.5,
            0,
            0,
            0,
            8,
            "x",
            "f",
        )
        for i in range(12)
    ]
    logs = [
        (1.0 + i, "worker", "w", 1, i, "l", 20, f"line {i}", None) for i in range(9)
    ]
    return frame("scheduler", seq, 1.0, {"task": tasks, "log": logs}, {})


FRAMES = [a_frame(seq) for seq in range(4)]
SEGMENT = HEADER + b"".join(FRAMES)
ENDS = [len(HEADER) + sum(map(len, FRAMES[:n])) for n in range(len(FRAMES) + 1)]
WHOLE = {batch.seq: batch.rows for batch in read_segment(SEGMENT).frames}


@given(st.integers(0, len(SEGMENT)))
@settings(max_examples=150, deadline=None)
def test_any_beginning_of_a_segment_can_be_read(length: int) -> None:
    segment = read_segment(SEGMENT[:length])
    whole = sum(end <= length for end in ENDS) - 1

    assert [batch.seq for batch in segment.frames] == list(range(max(whole, 0)))
    assert all(batch.rows == WHOLE[batch.seq] for batch in segment.frames)
    if length in ENDS:
        assert segment.damage is None
    elif length < ENDS[0]:
        assert segment.damage == f"cut off at byte {length}, in its header"
    else:
        text = rf"frame {whole + 1} at byte {ENDS[whole]} is cut off after "
        assert re.match(text, segment.damage or "")


@given(st.integers(0, len(SEGMENT) * 8 - 1))
@settings(max_examples=300, deadline=None)
def test_a_flipped_bit_is_found_and_named(bit: int) -> None:
    blob = bytearray(SEGMENT)
    blob[bit // 8] ^= 1 << bit % 8
    place = bit // 8
    if place < len(MAGIC):
        with pytest.raises(MalformedRecordingError, match="not a segment"):
            read_segment(bytes(blob))
        return
    segment = read_segment(bytes(blob))

    hit = sum(end <= place for end in ENDS) - 1  # the frame, from 0; -1 for the header
    others = [seq for seq in range(len(FRAMES)) if seq != hit]
    assert [batch.seq for batch in segment.frames] == others
    assert all(batch.rows == WHOLE[batch.seq] for batch in segment.frames)
    named = (
        "header is damaged" if hit < 0 else f"frame {hit + 1} at byte {ENDS[hit]} is"
    )
    assert named in (segment.damage or "")


@given(st.binary(max_size=300), st.integers(0, len(SEGMENT)), st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_garbage_costs_no_frame_but_those_that_it_hits(
    garbage: bytes, place: int, over: int
) -> None:
    place = max(place, len(HEADER))
    behind = place + over  # garbage in place of so many bytes
    segment = read_segment(SEGMENT[:place] + garbage + SEGMENT[behind:])

    before = [n for n in range(len(FRAMES)) if ENDS[n + 1] <= place]
    after = [n for n in range(len(FRAMES)) if ENDS[n] >= behind]
    found = [batch.seq for batch in segment.frames]
    assert set(found) >= {*before, *after}
    assert all(batch.rows == WHOLE[batch.seq] for batch in segment.frames)


@given(st.binary(max_size=400))
@settings(max_examples=100, deadline=None)
def test_what_is_not_ours_is_refused(blob: bytes) -> None:
    if MAGIC.startswith(blob[: len(MAGIC)]):
        return
    with pytest.raises(MalformedRecordingError, match=r"\*\.seg"):
        read_segment(blob)


@given(st.binary(min_size=1, max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_payload_with_a_right_checksum_is_decoded_or_named(payload: bytes) -> None:
    for each in (payload, zlib.compress(payload)):
        segment = read_segment(HEADER + frame_bytes(each, ZLIB_MSGPACK))

        assert segment.frames == []
        assert "frame 1 at byte" in (segment.damage or "")


def forged(rows: Any) -> bytes:
    """Return a segment whose checksums are right and whose rows were made up."""
    payload = {"source": "s", "seq": 1, "at": 1.0, "dropped": {}, "rows": rows}
    packed = zlib.compress(msgspec.msgpack.encode(payload))
    return HEADER + frame_bytes(packed, ZLIB_MSGPACK)


@pytest.mark.parametrize(
    "rows",
    [
        {"task": (2**40, [])},
        {"task": (-1, [])},
        {"task": (10, [[0, [1]]])},
        {"task": (10, [[0, [[1]] * 10]])},
        {"task": (10, [[99, 1]])},
        {"task": (10, [[]])},
        {"task": (10, [[2, ["a"], 0, b"\x01" + b"\x05" * 10]])},
        {"task": (10, [[2, ["a"], -5, b"\x00"]])},
        {"task": (10, [[3, 0, b"\x09", b"", 1]])},
        {"task": (10, [[3, 0, b"", b"", 1]])},
        {"task": (10, [[3, 0, b"\x00", b"", 0]])},
        {"task": (10, [[3, 0, b"\x00", b"\x01", 1]])},
        {"task": (10, [[5, b"short", b""]])},
        {"task": (10, [[6, ["%s\x01"], 0, b"\x00", 0, b"\x00", b""]])},
        {"task": (10, [[6, ["\x00" * 2**20], 0, b"\x00", 0, b"\x00", b""]])},
        {"task": (2**21, [[6, ["x" * 2**20], 0, b"\x00", 0, b"\x00", b""]])},
        {"task": (10, [[7, 0, ["a"]]])},
        {"task": (10, [[8, 0, b"\x00", b"", 1, [0]]])},
        {"task": (10, [[8, 0, b"\x00", b"", 1, []]])},
        {"task": (10, [[9, 0, b"\xff\xc0", [0, [1] * 10]]])},
        {"task": (10, [[1, "x"], [9, 0, b"\xff", [0, [1] * 8]]])},
        {"task": (10, [[1, "x"], [9, 0, b"\xff\xc0", [9, 0, b"", [0, []]]]])},
        {"task": (10, [[1, "x"], [9, 0, b"\xff\xc0", [0, [1] * 9]]])},
        {"task": "nothing"},
    ],
)
def test_forged_rows_are_named_and_take_no_memory(rows: Any) -> None:
    blob = forged(rows)
    tracemalloc.start()
    try:
        segment = read_segment(blob)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert segment.frames == []
    assert "frame 1" in (segment.damage or "")
    assert "cannot be decoded" in (segment.damage or "")
    assert peak < 150 * 2**20


def test_a_bomb_of_zeros_is_not_unpacked() -> None:
    bomb = zlib.compress(b"\0" * 2**29, 9)
    segment = read_segment(HEADER + frame_bytes(bomb, ZLIB_MSGPACK) + FRAMES[0])

    assert "does not end within" in (segment.damage or "")
    assert len(segment.frames) == 1


def test_many_small_frames_cannot_claim_more_rows_than_their_bytes_may_hold() -> None:
    same = [[1, "x"]]
    one = forged({"task": (2**20, same)})
    segment = read_segment(one + one[len(HEADER) :] * 19)

    assert len(segment.frames) == 2
    assert "frame 3 at byte" in (segment.damage or "")
    assert "was left out, because its 1,048,576 rows" in (segment.damage or "")


def test_a_segment_of_a_newer_version_reports_how_to_read_it() -> None:
    start = bytearray(HEADER[:-4])
    start[8] = 2
    newer = bytes(start) + struct.pack("<I", zlib.crc32(bytes(start)))

    with pytest.raises(FutureFormatError, match=r"format 2.*upgrade with `pip install"):
        read_segment(newer + FRAMES[0])


def test_a_newer_minor_version_is_read() -> None:
    start = bytearray(HEADER[:-4])
    start[9] = 7
    newer = bytes(start) + struct.pack("<I", zlib.crc32(bytes(start)))
    segment = read_segment(newer + frame_bytes(b"?", codec=9) + FRAMES[0])

    assert len(segment.frames) == 1
    assert segment.damage == (
        f"frame 1 at byte {len(HEADER)} has codec 9, "
        "which this dask-blackbox does not know"
    )


def test_a_file_that_a_recorder_left_is_read_as_far_as_it_goes(
    tmp_path: Any,
) -> None:
    path = tmp_path / "spool.seg"
    with path.open("wb") as file:
        file.write(open_segment("recording-1", 3))
        for part in FRAMES[:2]:
            file.write(part)
        file.write(FRAMES[2][: FRAME.size + 5])
    segment = read_segment(path.read_bytes())

    assert [batch.seq for batch in segment.frames] == [0, 1]
    assert "frame 3" in (segment.damage or "")


def test_much_damage_is_reported_in_brief() -> None:
    blob = HEADER
    for part in FRAMES * 3:
        blob += part[:-1] + bytes([part[-1] ^ 1])
    segment = read_segment(blob)

    assert segment.frames == []
    assert (segment.damage or "").endswith("; and 7 more")


def test_the_writer_in_memory_makes_the_same_bytes() -> None:
    writer = SegmentWriter("recording-1", 3)
    assert writer.close() == HEADER
