"""A run as a Perfetto trace: executions by worker and thread, memory, deaths.

Written as Perfetto's own protocol buffers: a trace of a million executions is a tenth of
the size that it would have as JSON.  Field numbers are those of `perfetto_trace.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.formatting import plain
from dask_blackbox.report.axis import axis_of
from dask_blackbox.report.timeline import marks_of
from dask_blackbox.report.workers import (
    WorkerProcess,
    process_numbers,
    worker_processes,
)
from dask_blackbox.run_tables import RunTables

_PACKET = 1
_AT, _EVENT, _INTERNED, _FLAGS, _SEQUENCE, _TRACK = 8, 11, 12, 13, 10, 60
_TYPE, _ON, _NAME_ID, _NAME, _VALUE, _NOTE = 9, 11, 10, 23, 44, 4
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_UUID, _LABEL, _PROCESS, _THREAD, _ABOVE, _COUNTS = 1, 2, 3, 4, 5, 8
_BYTES = 3
_CLEARED, _NEEDED = 1, 2
_KEY_ID, _OUTCOME_ID = 1, 2
_EVENTS_TRACK = 1
_FIRST_TRACK = 10
_LANES = 1_000  # tracks of one worker


def write(run: RunTables, form: str, to: Path) -> list[Path]:
    """Write the trace, packet by packet."""
    with to.open("wb") as file:
        waiting = bytearray()
        for packet in packets(run):
            waiting += message(_PACKET, packet)
            if len(waiting) > 2**20:
                file.write(waiting)
                waiting.clear()
        file.write(waiting)
    return [to]


def packets(run: RunTables) -> Iterator[bytes]:
    """Yield the packets of the trace, in an order that a reader can follow."""
    processes = worker_processes(run)
    table = _placed(run, processes)
    prefixes = table["prefix"].unique().sort().to_list()
    yield _names(prefixes)
    yield from _tracks(table, processes)
    yield from _executions(table, prefixes)
    yield from _memory(run, processes)
    yield from _marks(run, processes)


def _names(prefixes: list[str]) -> bytes:
    """Return the names that events refer to by number."""
    names = b"".join(
        message(2, varint(1, number + 1) + text(2, plain(str(name))))
        for number, name in enumerate(prefixes)
    )
    notes = b"".join(
        message(3, varint(1, number) + text(2, name))
        for number, name in ((_KEY_ID, "key"), (_OUTCOME_ID, "outcome"))
    )
    return (
        varint(_SEQUENCE, 1)
        + varint(_FLAGS, _CLEARED)
        + message(_INTERNED, names + notes)
    )


def _placed(run: RunTables, processes: list[WorkerProcess]) -> pl.DataFrame:
    executions = executions_of(run)
    return (
        executions.with_columns(process_numbers(executions, processes))
        .filter(pl.col("begin").is_not_null())
        .select(
            "key", "outcome",
            pl.col("prefix").fill_null("?"),
            pl.col("process").fill_null(len(processes)),
            pl.col("slot").fill_null(0).clip(0, _LANES - 2),
            (pl.col("begin").dt.epoch("us") * 1000).alias("begin"),
            (pl.col("stop").dt.epoch("us") * 1000).alias("stop"),
        )
        .sort("process", "slot", "begin", "stop")
    )  # fmt: skip


def _track_of(process: int) -> int:
    return _FIRST_TRACK + process * _LANES


def _tracks(table: pl.DataFrame, processes: list[WorkerProcess]) -> Iterator[bytes]:
    yield _track(_EVENTS_TRACK, text(_LABEL, "events"))
    named = [*processes, None]
    threads = (
        table.group_by("process", maintain_order=True).agg(pl.col("slot").max()).rows()
    )
    for process, most in sorted(threads):
        own = named[process]
        label = plain(own.label) if own else "unknown worker"
        pid = process + 1  # a process id may come twice, on two hosts
        described = varint(1, pid) + text(6, f"worker {label}")
        yield _track(_track_of(process), message(_PROCESS, described))
        for slot in range(most + 1):
            tid = pid * _LANES + slot
            thread = varint(1, pid) + varint(2, tid) + text(5, f"thread {slot + 1}")
            yield _track(_track_of(process) + 1 + slot, message(_THREAD, thread))


def _track(uuid: int, described: bytes) -> bytes:
    return varint(_SEQUENCE, 1) + message(_TRACK, varint(_UUID, uuid) + described)


def _event(at: int, kind: int, track: int, more: bytes = b"") -> bytes:
    event = varint(_TYPE, kind) + varint(_ON, track) + more
    head = varint(_AT, max(0, at)) + varint(_SEQUENCE, 1) + varint(_FLAGS, _NEEDED)
    return head + message(_EVENT, event)


def _executions(table: pl.DataFrame, prefixes: list[str]) -> Iterator[bytes]:
    numbers = {name: varint(_NAME_ID, n + 1) for n, name in enumerate(prefixes)}
    before, last = None, 0
    for key, outcome, prefix, process, slot, begun, ended in table.iter_rows():
        track = _track_of(process) + 1 + slot
        # Slices of a track must not overlap; clocks may say that they do, by a little.
        begin = max(begun, last) if track == before else begun
        stop = max(begin, ended)
        before, last = track, stop
        note = message(_NOTE, varint(1, _KEY_ID) + text(6, plain(str(key))))
        if outcome != "finished":
            note += message(_NOTE, varint(1, _OUTCOME_ID) + text(6, outcome))
        yield _event(begin, _BEGIN, track, numbers[prefix] + note)
        yield _event(stop, _END, track)


def _memory(run: RunTables, processes: list[WorkerProcess]) -> Iterator[bytes]:
    tracks: dict[str, int] = {}
    counted = message(_COUNTS, varint(3, _BYTES))
    for number, process in enumerate(processes):
        if process.address not in tracks:
            uuid = tracks[process.address] = _track_of(number) + _LANES - 1
            above = varint(_ABOVE, _track_of(number))
            yield _track(
                uuid, above + text(_LABEL, f"memory {plain(process.label)}") + counted
            )
    samples = run.metrics.filter(pl.col("memory").is_not_null()).select(
        "source", pl.col("at").dt.epoch("us") * 1000, "memory"
    )
    for source, at, memory in samples.sort("at").iter_rows():
        if at is not None and source in tracks:
            yield _event(at, _COUNTER, tracks[source], double(_VALUE, float(memory)))


def _marks(run: RunTables, processes: list[WorkerProcess]) -> Iterator[bytes]:
    axis = axis_of(run)
    labels = {process.address: plain(process.label) for process in processes}
    for mark in marks_of(run, axis, processes):
        at = round((axis.start + mark.at / 1000) * 1e9)
        who = f"{labels.get(mark.subject, mark.subject)}: " if mark.subject else ""
        yield _event(at, _INSTANT, _EVENTS_TRACK, text(_NAME, f"{who}{mark.text}"))


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
