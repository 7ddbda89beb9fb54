"""Recordings as the recorder lays them out in a store, made of facts in no time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import msgspec

from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import SegmentWriter
from dask_blackbox.store import Store
from dask_blackbox.tables import write_tables
from dask_blackbox.testing.facts import EPOCH, Fact, rows_of

__all__ = ["recorded"]


def recorded(
    store: Store,
    *facts: Fact,
    job: str = "nightly",
    run_id: str = "run-1",
    attempt: int = 1,
    state: str | None = "succeeded",
    started: float = EPOCH,
    heartbeat: float | None = None,
    in_segments: int = 2,
    host: Mapping[str, object] | None = None,
) -> RunAddress:
    """Put a recording into a store.

    Args:
        store: Where to.
        facts: What happened.
        job: Of the manifest, as `run_id` and `attempt`.
        run_id: See `job`.
        attempt: See `job`.
        state: How it ended; None: nobody has said so, and there are only segments.
        started: Epoch seconds.
        heartbeat: Epoch seconds of the recorder's last sign of life; None: none.
        in_segments: Over how many segments the facts are spread.
        host: What started the run; None: nothing known.
    """
    manifest = Manifest(
        recording=f"{job}-{run_id}-{attempt}",
        job=job,
        run_id=run_id,
        attempt=attempt,
        started=started,
        host=dict(host or {}),
    )
    address = RunAddress.of(job, run_id, attempt)
    folder = address.folder
    store.put(f"{folder}run.json", msgspec.json.encode(manifest))
    size = max(1, -(-len(facts) // in_segments))
    for number, some in enumerate(_some(facts, size), 1):
        writer = SegmentWriter(manifest.recording, number)
        writer.append("scheduler", number, started + number, rows_of(*some))
        store.put(f"{folder}segments/r1-{number:06d}.seg", writer.close())
    if heartbeat is not None:
        beat = json.dumps({"at": heartbeat}).encode()
        store.put(f"{folder}heartbeat.json", beat)
    reached = ["running"] if state is None else ["running", state]
    if state is not None:
        _end(store, folder, manifest, Ending(state=state, ended=started + 60), facts)
    for each in reached:
        for name in index_names(address, started, each):
            store.put(name, b"")
    return address


def _some(facts: tuple[Fact, ...], size: int) -> Iterable[tuple[Fact, ...]]:
    """Yield the facts some at a time."""
    return (facts[start : start + size] for start in range(0, len(facts), size))


def _end(
    store: Store,
    folder: str,
    manifest: Manifest,
    ending: Ending,
    facts: tuple[Fact, ...],
) -> None:
    rows: dict[str, list[tuple[object, ...]]] = rows_of(*facts)
    run = RunTables.of_rows(manifest, ending, rows)
    for name, blob in write_tables(run).items():
        store.put(f"{folder}tables/{name}.parquet", blob)
    store.put(f"{folder}report.html", b"<!doctype html><p>the report")
    store.put(f"{folder}complete.json", msgspec.json.encode(ending))
