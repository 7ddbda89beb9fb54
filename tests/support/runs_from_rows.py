"""Runs built from rows, for short tests of their analysis.

    run = a_run(
        a_worker("w1"),
        a_death("w1", exit_code=-11, executing=["boom-1"]),
        failed_with(killed_worker("boom-1")),
    )

Times are seconds since the start of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dask_blackbox.analyse import verdict_in
from dask_blackbox.finding import Finding
from dask_blackbox.manifest import (
    DriverException,
    Ending,
    Manifest,
    SourceAccount,
    Stopped,
    StopReason,
)
from dask_blackbox.run_tables import RunTables

__all__ = [
    "LIMIT",
    "MIB",
    "START",
    "Piece",
    "a_death",
    "a_departure",
    "a_failed_task",
    "a_graph",
    "a_log_line",
    "a_run",
    "a_sample",
    "a_task",
    "a_worker",
    "aborted",
    "an_event",
    "an_exception",
    "failed_with",
    "killed_worker",
    "raised_in",
    "stopped_by",
    "succeeded",
    "the_verdict",
    "the_verdict_on",
]

START = 1_795_230_000.0
LIMIT = 400 * 2**20
MIB = 2**20

Piece = tuple[str, Any]
"""Kind of row and the row; or `ending` and the ending."""


def a_run(*pieces: Piece | Iterable[Piece], recorded: bool = True) -> RunTables:
    """Return a run that these pieces make; one without an ending succeeded at 60 s."""
    rows: dict[str, list[Sequence[Any]]] = {}
    ending: Ending | None = succeeded()[1]
    flat: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, tuple) and isinstance(piece[0], str):
            flat.append(piece)
        else:
            flat.extend(piece)  # type: ignore[arg-type]
    if recorded:
        flat.insert(0, an_event("recording-started", at=0))
    for kind, row in flat:
        if kind == "ending":
            ending = row
        else:
            rows.setdefault(kind, []).append(row)
    for kind, of in rows.items():
        of.sort(key=lambda row: (row[5] or 0.0) if kind == "task" else row[0])
    manifest = Manifest(recording="r", job="nightly", run_id="run-1", started=START)
    return RunTables.of_rows(manifest, ending, rows)


def the_verdict(run: RunTables) -> Finding:
    """Return the verdict on a run that has one."""
    found = verdict_in(run)
    assert found is not None
    return found


def the_verdict_on(*pieces: Piece | Iterable[Piece], recorded: bool = True) -> Finding:
    """Return the verdict on a run of these pieces."""
    return the_verdict(a_run(*pieces, recorded=recorded))


def an_event(kind: str, subject: str = "", *, at: float = 1.0, **detail: Any) -> Piece:
    """Return an `event` row."""
    return "event", (START + at, kind, subject, json.dumps(detail))


def a_graph(tasks: int = 10, *, at: float = 2.0) -> Piece:
    """Return that a graph reached the scheduler."""
    return an_event("graph-updated", "Client-1", at=at, graph=1, tasks=tasks)


def a_worker(
    address: str = "tcp://w1",
    *,
    at: float = 1.0,
    name: str | None = None,
    pid: int = 100,
    nanny: str | None = "tcp://n1",
    nthreads: int = 1,
    memory_limit: int | None = LIMIT,
    host: str = "node-1",
) -> Piece:
    """Return that a worker came."""
    return an_event(
        "worker-added",
        address,
        at=at,
        name=name or address.removeprefix("tcp://w"),
        host=host,
        pid=pid,
        nanny=nanny,
        nthreads=nthreads,
        memory_limit=memory_limit,
    )


def a_departure(
    address: str = "tcp://w1",
    *,
    at: float = 10.0,
    stimulus: str = "handle-worker-cleanup-1",
    expected: bool | None = False,
    processing: Sequence[str] = (),
    lost_scattered: Sequence[str] = (),
    closing: str | None = None,
) -> list[Piece]:
    """Return that a worker left, and the reason it gave before, if it gave one."""
    said = [an_event("worker-closing", address, at=at - 0.01, reason=closing)]
    return [
        *(said if closing else []),
        an_event(
            "worker-removed",
            address,
            at=at,
            stimulus_id=stimulus,
            expected=expected,
            processing=list(processing),
            lost_computed=0,
            lost_scattered=list(lost_scattered),
        ),
    ]


def a_death(
    address: str = "tcp://w1",
    *,
    exit_code: int | None,
    at: float = 10.0,
    pid: int = 100,
    executing: Sequence[str] = (),
    processing: Sequence[str] | None = None,
    memory: Sequence[tuple[float, int]] = (),
    stack: str = "",
    lines: Sequence[str] = (),
    oom_kills: int = 0,
    host_oom_kills: int | None = None,
    cgroup_limit: int | None = None,
    asked: str | None = None,
    closing: str | None = None,
    lost_scattered: Sequence[str] = (),
    late: float = 0.05,
) -> list[Piece]:
    """Return a departure, and the exit report that its nanny wrote a little later."""
    given = executing if processing is None else processing
    gone = a_departure(
        address,
        at=at,
        processing=given,
        closing=closing,
        lost_scattered=lost_scattered,
    )
    report = an_event(
        "worker-exit-report",
        address,
        at=at + late,
        pid=pid,
        exit_code=exit_code,
        asked_to_close=asked is not None,
        close_reason=asked,
        executing=[{"key": key, "start": START + at - 1} for key in executing],
        memory=[[START + when, rss] for when, rss in memory],
        stack=stack,
        oom_kills=oom_kills,
        host_oom_kills=host_oom_kills,
        cgroup_limit=cgroup_limit,
    )
    said = [
        a_log_line(line, at=at - 0.02, source=address, pid=pid, level=20)
        for line in lines
    ]
    return [*said, *gone, report]


def a_task(
    key: str = "inc-1",
    *,
    worker: str = "tcp://w1",
    start: float = 3.0,
    compute: float = 1.0,
    disk: float = 0.0,
    nbytes: int = 100,
    outcome: str = "finished",
    last_input: str | None = None,
    typename: str = "int",
) -> Piece:
    """Return that an execution of a task ended."""
    prefix, begun = key.split("-", maxsplit=1)[0], START + start
    stop = begun + compute + disk
    return "task", (
        key, prefix, prefix, worker, 1, begun, stop, compute, 0.0, disk, 0.0,
        nbytes, typename, outcome, last_input,
    )  # fmt: skip


def a_failed_task(
    key: str = "divide-1",
    exception: str = "ZeroDivisionError",
    message: str = "division by zero",
    *,
    at: float = 8.0,
    worker: str = "tcp://w1",
    outcome: str = "erred",
    traceback: str = "",
    cause: str | None = None,
    bases: str | None = None,
) -> Piece:
    """Return an exception of a task: `erred`, `retried`, or `killed` by the scheduler."""
    prefix = key.split("-", maxsplit=1)[0]
    return "error", (
        START + at, key, prefix, worker, outcome, exception, message, traceback, cause,
        bases,
    )  # fmt: skip


def a_log_line(
    message: str,
    *,
    at: float = 5.0,
    role: str = "worker",
    source: str = "tcp://w1",
    pid: int = 100,
    level: int = 40,
    seq: int = 1,
    logger: str = "logger",
) -> Piece:
    """Return a log line."""
    return "log", (START + at, role, source, pid, seq, logger, level, message, None)


def a_sample(
    source: str = "tcp://w1",
    *,
    at: float = 5.0,
    memory: int = 100 * MIB,
    spilled: int = 0,
    status: str = "running",
    net_read: float = 0.0,
    cpu: float = 50.0,
) -> Piece:
    """Return a sample of a worker."""
    return "metric", (
        START + at, source, cpu, memory, 0, spilled, 10, net_read, 0.0, 0.0, 0.0,
        0.02, 1, 0, 1, status,
    )  # fmt: skip


def an_exception(
    exception: str,
    message: str,
    *,
    chain: Sequence[str] = (),
    traceback: str = "",
    file: str | None = "/jobs/nightly.py",
    key: str | None = None,
) -> DriverException:
    """Return what ended the driver's work."""
    return DriverException(
        exception=exception,
        message=message,
        chain=(exception, *chain),
        traceback=traceback,
        file=file,
        line=12 if file else None,
        function="main" if file else None,
        key=key,
    )


def killed_worker(key: str) -> DriverException:
    """Return what the client gets when workers died."""
    return an_exception(
        "distributed.scheduler.KilledWorker",
        f"Attempted to run task '{key}' on 4 different workers, but all those workers "
        "died while running it."
        " The last worker that attempt to run the task was tcp://w1.",
        key=key,
    )


def raised_in(
    key: str, exception: DriverException, *, at: float = 10.0, worker: str = "tcp://w1"
) -> list[Piece]:
    """Return the scheduler's row for a task whose exception the driver got, and the end."""
    killed = exception.exception.endswith("KilledWorker")
    row = a_failed_task(
        key,
        exception.exception,
        exception.message,
        at=at,
        worker=worker,
        outcome="killed" if killed else "erred",
    )
    return [row, failed_with(exception, at=max(20.0, at + 1))]


def succeeded(*, at: float = 60.0, **more: Any) -> Piece:
    """Return that the run succeeded."""
    return "ending", Ending(state="succeeded", ended=START + at, **more)


def failed_with(
    exception: DriverException | None = None,
    *,
    at: float = 20.0,
    exit_code: int | None = None,
    sources: dict[str, SourceAccount] | None = None,
) -> Piece:
    """Return that the run failed, with what."""
    return "ending", Ending(
        state="failed",
        ended=START + at,
        exception=exception,
        exit_code=exit_code,
        sources=sources or {},
    )


def stopped_by(
    host: str,
    reason: StopReason,
    *,
    at: float = 20.0,
    exception: DriverException | None = None,
    limit: float | None = None,
    sources: Mapping[str, SourceAccount] | None = None,
) -> Piece:
    """Return that the run's host ended it, at a time limit if there is one."""
    return "ending", Ending(
        state="aborted",
        ended=START + at,
        exception=exception,
        stopped=Stopped(by=host, reason=reason, at=START + at, limit=limit),
        sources=dict(sources or {}),
    )


def aborted(*, at: float = 20.0, exit_code: int | None = None) -> Piece:
    """Return that the driver vanished."""
    return "ending", Ending(state="aborted", ended=START + at, exit_code=exit_code)
