"""The task timeline: every execution of the run, packed for the page.

Executions are sorted by lane (a thread of a worker) and by their begin; of each the
page has the gap to the one before, its length, its transfer and its prefix, in units that
are as exact as the page's size allows.  Keys are in the page for all executions of a run of
usual size; of a larger one for those that failed, the longest ones, and those that log
lines name.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dask_blackbox.analyse.facts.critical_path import NO_INPUT, LastInputs
from dask_blackbox.analyse.facts.executions import OUTCOMES
from dask_blackbox.analyse.facts.outcome import outcome_of
from dask_blackbox.analyse.facts.teardown import teardown_of
from dask_blackbox.events import (
    CaptureFailed,
    ClientAdded,
    ClusterRestarted,
    DriverEnded,
    DriverLost,
    DriverRaised,
    DriverWarning,
    Event,
    GraphFailed,
    GraphUpdated,
    ProcessPaused,
    SchedulerClosing,
    SchedulerLost,
    SchedulerResponded,
    SchedulerUnresponsive,
    WorkerHeartbeatTimedOut,
    WorkerRestartedForMemory,
    WorkersRetired,
    WrapperLost,
)
from dask_blackbox.formatting import count, counted, duration, plain
from dask_blackbox.report.axis import Axis, micros_since
from dask_blackbox.report.packing import packed, packed_signed, packed_texts
from dask_blackbox.report.workers import WorkerProcess, process_numbers
from dask_blackbox.run_tables import RunTables

OTHER = 200
"""Index of "all other prefixes" in `Timeline.prefixes`."""

_UNITS = ((30_000, 1), (120_000, 10), (400_000, 100))
_COARSEST = 1_000
_LONGEST_RUN = 2**31
_ALL_KEYS = 100_000
_KEYS_BYTES = 1_300_000
_MOST_FAILED = 5_000
_MOST_LONGEST = 2_000
_LONGEST_KEY = 200


class WorkerLanes(msgspec.Struct, array_like=True):
    """A row of the picture: processes that followed each other, and its lanes.

    Attributes:
        label: What people call it.
        processes: Numbers of its processes.
        threads: How many threads it had at most.
        first: Number of its first lane.
        lanes: How many lanes it has.
    """

    label: str
    processes: list[int]
    threads: int
    first: int
    lanes: int


class Keys(msgspec.Struct):
    """Keys of executions: numbers of the executions as steps, and the keys."""

    number: int
    at: str
    texts: str


class Waits(msgspec.Struct):
    """Which execution each waited for, and the longest chain of them.

    Attributes:
        number: Of how many executions the input that was there last is in the page.
        at: Numbers of these executions, as steps.
        input: From each to its input: the difference of their numbers (signed).
        chain: How many executions the longest chain has.
        chain_at: Their numbers, the first one first, as differences (signed).
    """

    number: int
    at: str
    input: str
    chain: int
    chain_at: str


class Pack(msgspec.Struct):
    """Every execution with a place on the axis, by column, each packed.

    Attributes:
        number: How many executions.
        unit: µs of one unit of time.
        origin: Units from the axis' begin to the zero of the columns (0 or negative).
        counts: Executions of each lane.
        gap: Units from the end of the one before in its lane (signed).
        length: Units for which it had its thread.
        transfer: Units for which it waited for its inputs before that.
        prefix: Number of its prefix.
        odd: How many executions did not finish.
        outcome_at: Numbers of the executions that did not finish, as steps.
        outcome: How these ended, a number in `outcomes` of the page.
        keys: Keys that are in the page.
        waits: What executions waited for.
    """

    number: int
    unit: int
    origin: int
    counts: str
    gap: str
    length: str
    transfer: str
    prefix: str
    odd: int
    outcome_at: str
    outcome: str
    keys: Keys
    waits: Waits


class Timeline(msgspec.Struct):
    """What the page draws, and the sentence that says how."""

    workers: list[WorkerLanes]
    prefixes: list[str]
    outcomes: tuple[str, ...]
    pack: Pack
    summary: str


class _Links(NamedTuple):
    """By numbers of executions in the page: the last input of each, and the longest chain."""

    inputs: NDArray[np.int64]
    chain: NDArray[np.int64]


def timeline_of(
    executions: pl.DataFrame,
    axis: Axis,
    processes: list[WorkerProcess],
    named: set[str],
    waits: LastInputs,
) -> Timeline:
    """Return all executions that have a place on the axis, packed.

    Args:
        executions: From `executions_of`.
        processes: The processes of the workers.
        named: Keys that the page names elsewhere.
        waits: What they waited for, from `last_inputs_of`.
    """
    numbered = executions.with_row_index("row")
    placed = _placed(numbered, axis, processes)
    prefixes, placed = _prefixed(placed)
    workers, placed = _with_lanes(placed, processes)
    placed = placed.sort("lane", "begin", "stop", "key")
    places = np.full(executions.height, -1, dtype=np.int64)
    places[placed["row"].to_numpy()] = np.arange(placed.height)
    inputs = np.append(places, NO_INPUT)[waits.rows[placed["row"].to_numpy()]]
    chain = places[list(waits.longest.rows)] if waits.longest else places[:0]
    links = _Links(inputs, chain[chain >= 0])
    pack = _pack(placed, axis, workers, named, links)
    text = _summary(executions.height, placed.height, pack)
    return Timeline(workers, prefixes, OUTCOMES, pack, text)


def _placed(
    executions: pl.DataFrame, axis: Axis, processes: list[WorkerProcess]
) -> pl.DataFrame:
    table = executions.with_columns(process_numbers(executions, processes))
    before, after = -_LONGEST_RUN, int(axis.length * 1e6) + _LONGEST_RUN
    return (
        table.filter(pl.col("begin").is_not_null())
        .select(
            "row",
            "key",
            "prefix",
            "worker",
            "outcome",
            "process",
            "slot",
            micros_since(axis, "begin").alias("begin"),
            micros_since(axis, "stop").alias("stop"),
            (pl.col("transfer").fill_null(0.0) * 1e6).cast(pl.Int64),
        )
        # A clock that is off by hours has no place on this axis.
        .filter(pl.col("begin").is_between(before, after), pl.col("stop") <= after)
    )


def _prefixed(tasks: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    """Number the executions by prefix, the longest prefix first."""
    totals = tasks.group_by("prefix", maintain_order=True).agg(
        (pl.col("stop") - pl.col("begin")).sum().alias("total")
    )
    totals = totals.sort("total", "prefix", descending=[True, False])
    numbers = totals.select(
        "prefix", pl.int_range(pl.len()).clip(0, OTHER).cast(pl.Int64).alias("number")
    )
    names = [_shown(str(name)) for name in totals["prefix"].head(OTHER)]
    return names, tasks.join(numbers, on="prefix", how="left", nulls_equal=True)


def _with_lanes(
    tasks: pl.DataFrame, processes: list[WorkerProcess]
) -> tuple[list[WorkerLanes], pl.DataFrame]:
    """Add each execution's lane number."""
    places: dict[str, int] = {}
    for process in processes:
        places.setdefault(process.worker, len(places))
    workers = [WorkerLanes("", [], 1, 0, 1) for _ in places]
    for number, process in enumerate(processes):
        worker = workers[places[process.worker]]
        worker.processes.append(number)
        worker.threads = max(worker.threads, process.nthreads or 1)
    unseen = (
        tasks.filter(pl.col("process").is_null())["worker"].unique().sort().to_list()
    )
    of_worker = {worker: len(workers) + n for n, worker in enumerate(unseen)}
    workers += [WorkerLanes(_shown(worker), [], 1, 0, 1) for worker in unseen]
    tasks = tasks.with_columns(
        _worker_numbers(tasks, processes, places, of_worker).alias("worker_number")
    )
    used = dict(
        tasks.group_by("worker_number", maintain_order=True)
        .agg(pl.col("slot").max())
        .iter_rows()
    )
    first = 0
    labels = _worker_labels(processes, places)
    for number, worker in enumerate(workers):
        worker.label = worker.label or _shown(labels[number])
        worker.first, worker.lanes = (
            first,
            max(worker.threads, (used.get(number) or 0) + 1),
        )
        first += worker.lanes
    starts = pl.DataFrame(
        {
            "worker_number": list(range(len(workers))),
            "first": [worker.first for worker in workers],
        },
        schema={"worker_number": pl.Int64, "first": pl.Int64},
    )
    tasks = tasks.join(starts, on="worker_number", how="left")
    lane = pl.col("first") + pl.col("slot").fill_null(0)
    return workers, tasks.with_columns(lane.alias("lane"))


def _worker_numbers(
    tasks: pl.DataFrame,
    processes: list[WorkerProcess],
    places: dict[str, int],
    of_worker: dict[str, int],
) -> pl.Series:
    of_process = np.array(
        [*(places[process.worker] for process in processes), -1], dtype=np.int64
    )
    numbers = tasks["process"].fill_null(-1).to_numpy()
    unseen = tasks["worker"].replace_strict(of_worker, default=0, return_dtype=pl.Int64)
    return pl.Series(np.where(numbers < 0, unseen.to_numpy(), of_process[numbers]))


def _worker_labels(processes: list[WorkerProcess], places: dict[str, int]) -> list[str]:
    """Return the worker's name: the common part of what its processes are called."""
    own: list[list[str]] = [[] for _ in places]
    for process in processes:
        own[places[process.worker]].append(process.label)
    names = [
        labels[0] if len(labels) == 1 else labels[0].split(" ")[0] for labels in own
    ]
    return [
        name if names.count(name) == 1 else labels[0]
        for name, labels in zip(names, own, strict=True)
    ]


def _pack(
    tasks: pl.DataFrame,
    axis: Axis,
    workers: list[WorkerLanes],
    named: set[str],
    links: _Links,
) -> Pack:
    earliest = int(str(tasks["begin"].min())) if tasks.height else 0
    latest = int(str(tasks["stop"].max())) if tasks.height else 0
    unit = _unit(tasks.height, max(latest - min(earliest, 0), int(axis.length * 1e6)))
    origin = min(0, earliest // unit)
    begin = tasks["begin"].to_numpy() // unit - origin
    stop = np.maximum(tasks["stop"].to_numpy() // unit - origin, begin)
    lane = tasks["lane"].to_numpy()
    lanes = sum(worker.lanes for worker in workers)
    first = np.ones(tasks.height, dtype=bool)
    first[1:] = lane[1:] != lane[:-1]
    before = np.where(first, 0, np.concatenate([[0], stop[:-1]])[: tasks.height])
    ended = tasks["outcome"].replace_strict(
        {word: n for n, word in enumerate(OUTCOMES)}, default=0, return_dtype=pl.Int64
    )
    odd = np.flatnonzero(ended.to_numpy())
    keys, with_key = _keys(tasks, stop - begin, odd, named)
    return Pack(
        number=tasks.height,
        unit=unit,
        origin=origin,
        counts=packed(np.bincount(lane, minlength=lanes)),
        gap=packed_signed(begin - before),
        length=packed(stop - begin),
        transfer=packed(tasks["transfer"].to_numpy().clip(0) // unit),
        prefix=packed(tasks["number"].to_numpy()),
        odd=odd.size,
        outcome_at=packed(_steps(odd)),
        outcome=packed(ended.to_numpy()[odd]),
        keys=keys,
        waits=_waits(links, with_key),
    )


def _waits(links: _Links, with_key: NDArray[np.int64]) -> Waits:
    """Return the inputs of all executions, or of those that can be named, and the chain."""
    inputs, chain = links
    known = inputs >= 0
    if inputs.size > _ALL_KEYS:
        named = np.zeros(inputs.size, dtype=bool)
        named[with_key] = named[chain] = True
        known &= named
    at = np.flatnonzero(known)
    return Waits(
        number=at.size,
        at=packed(_steps(at)),
        input=packed_signed(inputs[at] - at),
        chain=chain.size,
        chain_at=packed_signed(_steps(chain)),
    )


def _unit(number: int, micros: int) -> int:
    """Return the finest unit with which a page of so many executions has a usual size."""
    unit = next((unit for most, unit in _UNITS if number <= most), _COARSEST)
    while micros // unit >= _LONGEST_RUN:
        unit *= 10
    return unit


def _keys(
    tasks: pl.DataFrame,
    length: NDArray[np.int64],
    odd: NDArray[np.int64],
    named: set[str],
) -> tuple[Keys, NDArray[np.int64]]:
    """Return the keys that the page holds, and the numbers of their executions."""
    if tasks.height <= _ALL_KEYS:
        everyone = np.arange(tasks.height)
        texts = packed_texts(_short(tasks["key"]))
        if len(texts) <= _KEYS_BYTES:
            return Keys(tasks.height, packed(_steps(everyone)), texts), everyone
    longest = np.argsort(length, kind="stable")[::-1][:_MOST_LONGEST]
    reported = np.flatnonzero(tasks["key"].is_in(list(named)).to_numpy())[:_MOST_FAILED]
    chosen = np.unique(np.concatenate([odd[:_MOST_FAILED], longest, reported]))
    texts = packed_texts(_short(tasks["key"][chosen]))
    return Keys(chosen.size, packed(_steps(chosen)), texts), chosen


def _steps(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.diff(numbers, prepend=0)


def _short(keys: pl.Series) -> list[str]:
    return [_shown(key) for key in keys]


def _shown(text: str) -> str:
    """Return a text that is not too long and turns nothing around."""
    text = plain(text)
    return text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 1]}…"


def _summary(recorded: int, placed: int, pack: Pack) -> str:
    if recorded == 0:
        return "No task finished in this run."
    text = f"{counted(recorded, 'task execution')}"
    if placed == recorded:
        text += ", each drawn" if recorded > 1 else ", drawn"
    else:
        missing = recorded - placed
        verb = "has" if missing == 1 else "have"
        text += f": {count(placed)} drawn; {count(missing)} {verb} no times"
    if pack.unit > 1:
        text += f", to {duration(pack.unit / 1e6)}"
    if pack.keys.number < placed:
        text += f"; {count(pack.keys.number)} of them with their keys"
    return text + "."


_MARKED: dict[type[Event], tuple[str, str]] = {
    WorkerRestartedForMemory: ("memory", "reached its memory limit"),
    WorkerHeartbeatTimedOut: ("death", "sent no heartbeat in time"),
    ProcessPaused: ("warning", "a process was paused"),
    WorkersRetired: ("departure", "workers were retired"),
    GraphFailed: ("failure", "a graph failed on the scheduler"),
    ClientAdded: ("client", "a client connected"),
    ClusterRestarted: ("failure", "the cluster was restarted"),
    SchedulerLost: ("failure", "the scheduler was lost"),
    SchedulerUnresponsive: ("warning", "the scheduler did not answer"),
    SchedulerResponded: ("warning", "the scheduler answered again"),
    DriverRaised: ("failure", "the driver raised"),
    WrapperLost: ("warning", "the process of `dask blackbox run` was lost"),
    DriverLost: ("failure", "the driver was lost"),
    DriverEnded: ("end", "the driver ended"),
    DriverWarning: ("warning", "the driver was warned"),
    CaptureFailed: ("warning", "capture failed"),
}


class Mark(msgspec.Struct, array_like=True):
    """One event: milliseconds since the axis began, its class, its subject, its text."""

    at: int
    kind: str
    subject: str
    text: str


class PackedMarks(msgspec.Struct):
    """All marks by column, packed; texts are numbers in `texts`."""

    number: int
    at: str
    kind: str
    subject: str
    text: str
    texts: str


def packed_marks(marks: list[Mark]) -> PackedMarks:
    """Return marks for the page: none is left out, however many there are."""
    numbers: dict[str, int] = {}

    def column(texts: list[str]) -> str:
        placed = [numbers.setdefault(text, len(numbers)) for text in texts]
        return packed(np.array(placed, dtype=np.int64))

    at = np.diff(np.array([mark.at for mark in marks], dtype=np.int64), prepend=0)
    kind = column([mark.kind for mark in marks])
    subject = column([mark.subject for mark in marks])
    message = column([mark.text for mark in marks])
    return PackedMarks(
        len(marks),
        packed_signed(at),
        kind,
        subject,
        message,
        packed_texts(list(numbers)),
    )


def marks_of(run: RunTables, axis: Axis, processes: list[WorkerProcess]) -> list[Mark]:
    """Return everything that is marked on the time axis, in order."""
    marks = [
        *_worker_marks(axis, processes),
        *_event_marks(run, axis),
        *_sample_marks(run, axis),
    ]
    there = [mark for mark in marks if 0 <= mark.at <= axis.length * 1000 + 1]
    return sorted(there, key=lambda mark: mark.at)


def _worker_marks(axis: Axis, processes: list[WorkerProcess]) -> list[Mark]:
    marks = []
    for process in processes:
        if process.joined is not None:
            marks.append(
                Mark(_ms(process.joined, axis), "arrival", process.address, "joined")
            )
        if process.left is not None:
            kind = "death" if process.fate == "died" else "departure"
            text = f"died: {process.how}" if kind == "death" else process.how
            marks.append(Mark(_ms(process.left, axis), kind, process.address, text))
    return marks


def _event_marks(run: RunTables, axis: Axis) -> list[Mark]:
    marks = [
        Mark(_ms(graph.at, axis), "graph", "", f"graph of {count(graph.tasks)} tasks")
        for graph in run.of(GraphUpdated)
    ]
    marks += [_closing_mark(run, each, axis) for each in run.of(SchedulerClosing)]
    for event, (kind, text) in _MARKED.items():
        marks += [
            Mark(_ms(each.at, axis), kind, each.subject, text + _particulars(each))
            for each in run.of(event)
        ]
    return marks


def _sample_marks(run: RunTables, axis: Axis) -> list[Mark]:
    """Mark when samples first show that a worker was paused, ran again, or spilled."""
    before = pl.col("status").shift(1).over("source")
    is_paused, was_paused = pl.col("status") == "paused", before == "paused"
    kept = pl.col("spilled").fill_null(0).shift(1).over("source").fill_null(0)
    changes = (
        run.metrics.filter(pl.col("source") != "scheduler", pl.col("at").is_not_null())
        .sort("at", maintain_order=True)
        .with_columns(
            (is_paused & ~was_paused.fill_null(value=False)).alias("paused"),
            (~is_paused & was_paused.fill_null(value=False)).alias("resumed"),
            ((pl.col("spilled") > 0) & (kept == 0)).alias("spilling"),
        )
    )
    values = {
        "paused": "was paused for its memory: it starts no task",
        "resumed": "runs tasks again",
        "spilling": "spilled results to disk",
    }
    return [
        Mark(_ms(at.timestamp(), axis), kind, source, words)
        for kind, words in values.items()
        for at, source in changes.filter(pl.col(kind)).select("at", "source").rows()
    ]


def _closing_mark(run: RunTables, closing: SchedulerClosing, axis: Axis) -> Mark:
    """Mark that the scheduler closed: a failure only where there was still work to do."""
    outcome = outcome_of(run)
    since = teardown_of(run, outcome).since
    decided = outcome.decided_at
    begun = min((at for at in (since, decided) if at is not None), default=None)
    orderly = begun is not None and closing.at >= begun - outcome.clocks
    kind = "end" if orderly else "failure"
    text = "the scheduler closed" + _particulars(closing)
    return Mark(_ms(closing.at, axis), kind, closing.subject, text)


def _particulars(event: Event) -> str:
    names = ("exception", "reason", "message", "error")
    words = [getattr(event, name, None) for name in names]
    text = ": ".join(plain(str(word)) for word in words if word)
    return f": {text[:300]}{'…' if len(text) > 300 else ''}" if text else ""  # noqa: PLR2004


def _ms(at: float, axis: Axis) -> int:
    return round((at - axis.start) * 1000)
