"""The table of workers: what each was, how much it did, and how it ended."""

from __future__ import annotations

from collections import Counter

import msgspec
import polars as pl

from dask_blackbox.analyse.facts.devices import Device, devices_of
from dask_blackbox.analyse.facts.executions import executions_of
from dask_blackbox.analyse.facts.schedulers import schedulers_of
from dask_blackbox.analyse.facts.units import Unit, units_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import worker_exits_of
from dask_blackbox.analyse.worker_memory import peaks_of, spilled_by_worker
from dask_blackbox.events import ProcessAncestors, WorkerAdded
from dask_blackbox.formatting import counted, duration, ended, exact_size
from dask_blackbox.report.axis import Axis
from dask_blackbox.run_tables import RunTables
from dask_blackbox.tables.schemas import Row


class WorkerProcess(msgspec.Struct, kw_only=True):
    """One worker process.

    Attributes:
        label: What people call it: Dask's name for it, with as much of its address as distinguishes
            it from the others of that name; or else its address.
        worker: Which worker it is: processes of one name on one scheduler follow each other.
        machine: Host name of its machine, if it reported one that its address does not say.
        fate: `stayed` to the end, `left` in good order, or `died`.
        how: How it ended, in words, and in which unit (job) of a cluster manager it ran.
        joined: Epoch seconds.
        left: Epoch seconds, or None while it was there.
        limit: Its memory limit in bytes.
        busy: Seconds that its threads computed.
        device: Its GPU, if NVML knows one.
        death: All that is known of its death, if it died.
        running: (key, epoch seconds of its start or None) of what it was executing then.
    """

    address: str
    label: str
    worker: str
    host: str
    pid: int | None
    nthreads: int | None
    limit: int | None
    joined: float | None
    left: float | None
    fate: str
    how: str
    machine: str = ""
    tasks: int = 0
    troubles: int = 0
    busy: float = 0.0
    peak: int | None = None
    spilled: int | None = None
    device: Device | None = None
    death: WorkerExit | None = None
    running: list[tuple[str, float | None]] = msgspec.field(default_factory=list)

    @property
    def samples(self) -> list[tuple[float, int]]:
        """The last samples of a dead worker's memory; what its nanny saw is the last."""
        if self.death is None:
            return []
        samples = list(self.death.memory)
        if self.death.restarted_for_memory:
            samples.append((self.death.at, self.death.restarted_for_memory))
        return samples

    def busy_share(self, axis: Axis) -> float | None:
        """Return the share of its thread-seconds on the axis in which it computed."""
        begin = max(axis.start, self.joined or axis.start)
        there = (min(axis.stop, self.left or axis.stop) - begin) * (self.nthreads or 1)
        return min(1.0, self.busy / there) if there > 0 else None


def worker_processes(run: RunTables) -> list[WorkerProcess]:
    """Return the workers in the order in which they joined."""
    return run.once(_processes_of)


def _processes_of(run: RunTables) -> list[WorkerProcess]:
    machines = {each.subject: each.machine for each in run.of(ProcessAncestors)}
    peaks = dict(peaks_of(run).select("source", "peak").iter_rows())
    spilled = dict(spilled_by_worker(run).iter_rows())
    devices = devices_of(run)
    exits = {(each.address, each.pid): each for each in worker_exits_of(run)}
    rows = run.workers.sort("joined", maintain_order=True).rows(named=True)
    processes = [
        _worker_process(row, exits.get((row["address"], row["pid"])), label, worker)
        for row, label, worker in zip(
            rows, _labels(rows), _worker_names(run, rows), strict=True
        )
    ]
    units = units_of(run)
    for process, row in zip(processes, rows, strict=True):
        unit = units.of_worker(process.address, row["name"])
        if unit is not None:
            process.how += f"; {_unit_text(unit)}"
        machine = machines.get(process.address, "")
        process.machine = "" if machine == process.host else machine
    did = _work(executions_of(run), processes)
    for place, process in enumerate(processes):
        process.tasks, process.troubles, process.busy = did.get(place, (0, 0, 0.0))
        process.spilled = spilled.get(process.address)
        process.device = devices.get(process.address)
        last = process.death.peak_memory if process.death else None
        process.peak = max(peaks.get(process.address, 0), last or 0) or None
    return processes


def _unit_text(unit: Unit) -> str:
    """Return in which unit a worker ran, and what its manager said of that last."""
    state = f": {unit.state.state}" if unit.state.state else ""
    where = f" on {unit.node}" if unit.node else ""
    return f"{unit.manager} {unit.word} {unit.id}{where}{state}"


def process_numbers(
    executions: pl.DataFrame, processes: list[WorkerProcess]
) -> pl.Series:
    """Return which of the processes each execution was in; null for an unknown worker.

    An address may be used again: then the times decide.
    """
    places: dict[str, list[int]] = {}
    for place, process in enumerate(processes):
        places.setdefault(process.address, []).append(place)
    first = pl.DataFrame(
        {"worker": list(places), "process": [own[0] for own in places.values()]},
        schema={"worker": pl.String, "process": pl.Int64},
    )
    found = executions.select("worker", "stop").join(
        first, on="worker", how="left", maintain_order="left"
    )
    number = pl.col("process")
    for own in places.values():
        for place in own[1:]:
            joined = (processes[place].joined or 0.0) * 1e6
            later = pl.col("stop").dt.epoch("us") > joined
            same = pl.col("worker") == processes[place].address
            number = (
                pl.when(same & later).then(pl.lit(place, pl.Int64)).otherwise(number)
            )
    return found.select(number.alias("process"))["process"]


def _worker_names(run: RunTables, rows: list[Row]) -> list[str]:
    """Return whose place each process took: its name's, while no other process has it."""
    schedulers = schedulers_of(run)
    scheduler_of = {each.subject: each.scheduler for each in run.of(WorkerAdded)}
    workers: list[str] = []
    until: dict[str, float] = {}
    for row in rows:
        joined = row["joined"].timestamp() if row["joined"] else 0.0
        left = row["left"].timestamp() if row["left"] else float("inf")
        scheduler = schedulers.of_worker(scheduler_of.get(row["address"]), joined)
        worker = f"{row['name']} of {scheduler}" if row["name"] else row["address"]
        if until.get(worker, 0.0) > joined:
            worker = f"{row['address']} {row['pid']}"
        until[worker] = left
        workers.append(worker)
    return workers


def _labels(rows: list[dict[str, object]]) -> list[str]:
    """Return what people call each process: no two are called the same."""
    ways = [_ways(row) for row in rows]
    labels = [way[0] for way in ways]
    for more in range(1, len(ways[0]) if ways else 0):
        often = Counter(labels)
        labels = [
            way[more] if often[label] > 1 else label
            for way, label in zip(ways, labels, strict=True)
        ]
    return labels


def _ways(row: Row) -> tuple[str, ...]:
    """Return what a process can be called, the shortest first."""
    bare = str(row["address"]).split("://")[-1]
    process = f"{bare} (pid {row['pid']})"
    name = row["name"]
    if not name or name == row["address"]:
        return bare, bare, bare, process
    port = bare.rsplit(":", 1)[-1]
    return name, f"{name} :{port}", f"{name} {bare}", f"{name} {process}"


def _worker_process(
    row: Row, ending: WorkerExit | None, label: str, worker: str
) -> WorkerProcess:
    death = ending if ending is not None and ending.died else None
    left = row["left"].timestamp() if row["left"] else None
    if death is not None:
        fate, how, left = "died", _cause(death), death.at
    elif left is None:
        fate, how = "stayed", "connected to the end"
    else:
        fate, how = "left", "left in an orderly way"
        ordered_by = ending.ordered_by if ending is not None else ""
        why = f"ended by {ordered_by}" if ordered_by else row["closing"]
        how += f" ({why})" if why else ""
    return WorkerProcess(
        address=row["address"],
        label=label,
        worker=worker,
        host=row["host"] or "",
        pid=row["pid"],
        nthreads=row["nthreads"],
        limit=row["memory_limit"] or None,
        joined=row["joined"].timestamp() if row["joined"] else None,
        left=left,
        fate=fate,
        how=how,
        death=death,
        running=[(each.key, each.start) for each in death.running] if death else [],
    )


def _cause(death: WorkerExit) -> str:
    code = death.exit_code
    parts = [ended(code) if code is not None else "disappeared; unknown how"]
    if death.restarted_for_memory is not None:
        held = death.restarted_for_memory
        parts.append(
            f"terminated by its nanny at {exact_size(held)}"
            if held
            else "out of memory"
        )
    if death.frozen_for is not None:
        parts.append(f"removed after {duration(death.frozen_for)} without a heartbeat")
    if death.oom_kills:
        kills = counted(death.oom_kills, "kill")
        parts.append(f"{kills} counted by the kernel's OOM killer")
    if death.closing:
        parts.append(f"closing reason: {death.closing}")
    return ", ".join(parts)


def _work(
    executions: pl.DataFrame, processes: list[WorkerProcess]
) -> dict[int, tuple[int, int, float]]:
    """Return executions, those of them in trouble, and seconds, by the number of a process."""
    done = (
        executions.with_columns(process_numbers(executions, processes))
        .group_by("process", maintain_order=True)
        .agg(
            pl.len().alias("tasks"),
            (pl.col("outcome") != "finished").sum().alias("troubles"),
            pl.col("seconds").sum().alias("busy"),
        )
    )
    return {row[0]: (row[1], row[2], row[3]) for row in done.iter_rows()}
