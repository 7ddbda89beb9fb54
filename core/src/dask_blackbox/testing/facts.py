"""Runs made of facts, for tests that read as sentences.

    a_run(a_worker_added(), a_task("('sum', 0)", start=1.0), state="failed")

Moments are seconds after `EPOCH`.  `recorded` writes such a run into a store, as the recorder
would.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import msgspec

from dask_blackbox.events import COLUMNS
from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.manifest import DriverException, Ending, Manifest, host_facts
from dask_blackbox.run_tables import RunTables
from dask_blackbox.segments import SegmentWriter
from dask_blackbox.store import Store
from dask_blackbox.tables import write_tables

EPOCH = 1_795_230_000.0
"""When these runs begin: 2026-11-21, 05:00 UTC and some."""

WORKER = "tcp://10.0.0.1:40001"
"""The worker that facts are about if nothing else is said."""

Fact = tuple[str, tuple[object, ...]]
"""A kind of `events.COLUMNS` and a row of it."""


def a_run(
    *facts: Fact,
    state: str | None = "succeeded",
    ended: float = 60.0,
    exception: DriverException | None = None,
    job: str = "nightly",
    run_id: str = "run-1",
    attempt: int = 1,
) -> RunTables:
    """Return a run of these facts.

    Args:
        facts: What happened, in any order.
        state: How it ended; None: nobody was left to say.
        ended: When.
        exception: What ended the driver's work.
        job: Of the manifest, as `run_id` and `attempt`.
        run_id: See `job`.
        attempt: See `job`.
    """
    manifest = Manifest(
        recording=f"{job}-{run_id}-{attempt}",
        job=job,
        run_id=run_id,
        attempt=attempt,
        started=EPOCH,
    )
    ending = None
    if state is not None:
        ending = Ending(state=state, ended=EPOCH + ended, exception=exception)
    return RunTables.of_rows(manifest, ending, rows_of(*facts))


def rows_of(*facts: Fact) -> dict[str, list[tuple[object, ...]]]:
    """Return facts as rows by kind."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    for kind, row in facts:
        rows.setdefault(kind, []).append(row)
    return rows


def _row(kind: str, values: Mapping[str, object]) -> Fact:
    return kind, tuple(values[column] for column in COLUMNS[kind])


def a_task(
    key: str = "('sum-1', 0)",
    *,
    worker: str = WORKER,
    thread: int = 1,
    start: float = 1.0,
    compute: float = 1.0,
    transfer: float = 0.0,
    disk: float = 0.0,
    deserialize: float = 0.0,
    nbytes: int = 8,
    typename: str = "int",
    outcome: str = "finished",
    last_input: str | None = None,
) -> Fact:
    """Return an execution of a task; it stops when its parts are over."""
    group, prefix = _named(key)
    took = compute + transfer + disk + deserialize
    values = locals() | {"start": EPOCH + start, "stop": EPOCH + start + took}
    return _row("task", values)


def _named(key: str) -> tuple[str, str]:
    group = key.partition("',")[0].removeprefix("('")
    return group, group.rpartition("-")[0] or group


def a_task_error(
    key: str = "('sum-1', 0)",
    *,
    at: float = 2.0,
    worker: str = WORKER,
    outcome: str = "erred",
    exception: str = "builtins.ValueError",
    message: str = "it is wrong",
    traceback: str = "",
    cause: str | None = None,
    bases: str | None = None,
) -> Fact:
    """Return an exception of a task."""
    _, prefix = _named(key)
    return _row("error", locals() | {"at": EPOCH + at})


def a_log(
    message: str,
    *,
    at: float = 1.0,
    role: str = "worker",
    source: str = WORKER,
    pid: int = 100,
    seq: int | None = None,
    logger: str = "distributed.worker",
    level: int = 20,
    key: str | None = None,
) -> Fact:
    """Return a log line."""
    return _row("log", locals() | {"at": EPOCH + at})


def a_metric(*, at: float = 1.0, source: str = WORKER, **measured: object) -> Fact:
    """Return a sample; what is not measured is null."""
    values = dict.fromkeys(COLUMNS["metric"]) | measured
    return _row("metric", values | {"at": EPOCH + at, "source": source})


def an_event(
    kind: str, subject: str = "", *, at: float = 1.0, **detail: object
) -> Fact:
    """Return an event of a kind of `events.KINDS`, with its particulars."""
    return "event", (EPOCH + at, kind, subject, json.dumps(detail))


def a_worker_added(
    address: str = WORKER,
    *,
    at: float = 0.5,
    pid: int = 100,
    nthreads: int = 2,
    memory_limit: int = 4 * 2**30,
    **detail: object,
) -> Fact:
    """Return the arrival of a worker."""
    more = {"name": address, "host": "10.0.0.1", "nanny": "tcp://10.0.0.1:40000"}
    fields = {"pid": pid, "nthreads": nthreads, "memory_limit": memory_limit}
    return an_event("worker-added", address, at=at, **more | fields | detail)


def a_worker_removed(
    address: str = WORKER,
    *,
    at: float = 10.0,
    expected: bool = False,
    processing: tuple[str, ...] = (),
    **detail: object,
) -> Fact:
    """Return the departure of a worker."""
    fields = {"expected": expected, "processing": list(processing)}
    return an_event("worker-removed", address, at=at, **fields | detail)


def an_exit_report(
    address: str = WORKER,
    *,
    at: float = 10.2,
    pid: int = 100,
    exit_code: int | None = -9,
    **detail: object,
) -> Fact:
    """Return the exit report of a worker's process."""
    fields = {"pid": pid, "exit_code": exit_code}
    return an_event("worker-exit-report", address, at=at, **fields | detail)


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
    """Write a recording into a store.

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
        host=host_facts(host or {}),
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
