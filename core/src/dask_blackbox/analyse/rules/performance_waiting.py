"""What tasks and threads waited for."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.core_seconds import Loads, busiest_prefix
from dask_blackbox.analyse.driver_position import Submitting, submitting_of
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import worker_exits_of
from dask_blackbox.analyse.numbers import numbers_of
from dask_blackbox.analyse.offers import share_of_full_time
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.task_activity import Host
from dask_blackbox.events import GraphUpdated, ProcessPaused, Stall
from dask_blackbox.finding import Cost, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    capital,
    code_line,
    counted,
    duration,
    listed,
    short,
    size,
)
from dask_blackbox.run_tables import FINISHED

_MOST = 0.5  # of the pauses
_SOME = 0.02  # of all that was computed
_MOST_PAUSES = 200


@dataclass(frozen=True, kw_only=True)
class WaitingPrefix:
    """Seconds that tasks of a prefix were on a core (`cpu`), and off it (`waited`)."""

    prefix: str
    cpu: float
    waited: float


@dataclass(frozen=True, kw_only=True)
class Computing:
    """A worker's process while it computed.

    Attributes:
        address: Of the worker.
        threads: For tasks.
        cores: Of its host.
        cpu: Cores that it used on average.
        late: Share of the times that a thread had to wait for the GIL.
        others: How much of its host's cores other processes used, 0 to 1.
        load: How much of them all workers there used, 0 to 1.
    """

    address: str
    threads: int
    cores: int
    cpu: float
    late: float
    others: float
    load: float


_TURNS = 16  # tasks of a process
_AT_ONCE, _FIRST, _NEARLY, _MOST_OF_THEM = 1.5, 0.75, 0.25, 0.95


def _waiting_prefixes(case: Case, *, share: float) -> list[WaitingPrefix]:
    """Return the prefixes whose tasks were off the core for a share of their time."""
    found = []
    computed = case.run.tasks.group_by("prefix", maintain_order=True).agg(
        pl.col("compute").sum()
    )
    own, paused = dict(computed.iter_rows()), _paused(case)
    for prefix, parts in case.task_activity.by_prefix.items():
        cpu, waited = parts.get("thread-cpu", 0.0), parts.get("thread-noncpu", 0.0)
        # Dask's totals are of all its clients: no more than this run computed is its own.
        ours = min((own.get(prefix) or 0.0) / max(cpu + waited, 1e-9), 1.0)
        cpu, waited = ours * cpu, max(ours * waited - paused.get(prefix, 0.0), 0.0)
        whole = cpu + waited
        if whole >= _SOME * case.loads.compute and waited >= share * whole > 0:
            found.append(WaitingPrefix(prefix=prefix, cpu=cpu, waited=waited))
    return sorted(found, key=lambda each: -each.waited)


def _paused(case: Case) -> dict[str, float]:
    """Return the seconds in which the processes of tasks were paused, by prefix."""
    found: dict[str, float] = {}
    start, stop = (pl.col(name).dt.epoch("us") / 1e6 for name in ("start", "stop"))
    for pause in case.run.of(ProcessPaused)[:_MOST_PAUSES]:
        end = pause.at or 0.0
        shared = stop.clip(upper_bound=end) - start.clip(end - pause.seconds)
        tasks = case.run.tasks.filter(pl.col("worker") == pause.subject, shared > 0)
        by_prefix = tasks.group_by("prefix", maintain_order=True).agg(shared.sum())
        for prefix, seconds in by_prefix.iter_rows():
            found[prefix] = found.get(prefix, 0.0) + seconds
    return found


def computing(case: Case) -> list[Computing]:
    """Return the workers' processes, as they were while the run computed."""
    workers = {each["address"]: each for each in case.run.workers.iter_rows(named=True)}
    hosts = {host.name: host for host in case.task_activity.hosts}
    found = []
    for address, reported in case.task_activity.loads.items():
        sums = case.task_activity.of_worker(address)
        if address not in workers or sums["seconds"] <= 0 or sums["wakeups"] <= 0:
            continue
        host = hosts.get(str(workers[address]["host"]))
        found.append(
            Computing(
                address=address,
                threads=workers[address]["nthreads"] or 1,
                cores=max(int(each.cores or 1) for each in reported),
                cpu=sums["cpu"] / sums["seconds"],
                late=sums["late_wakeups"] / sums["wakeups"],
                others=host.others if host else 0.0,
                load=host.load if host else 0.0,
            )
        )
    return found


@documented("gil-bound")
def GIL_BOUND(case: Case) -> Iterator[Finding]:
    waiting = _waiting_prefixes(case, share=GIL_BOUND.threshold(case, "waiting"))
    waited = sum(each.waited for each in waiting)
    whole = max(case.loads.compute, 1e-9)
    least = GIL_BOUND.threshold(case, "share")
    if not waiting or not case.worth_reporting(waited, waited / whole, least):
        return
    held = [
        worker
        for worker in computing(case)
        if worker.threads > 1
        and worker.cores > 1
        and worker.late >= GIL_BOUND.threshold(case, "late")
        and worker.cpu <= GIL_BOUND.threshold(case, "cores")
        and _core_was_free(case, worker)
    ]
    if not held:
        return
    worst = max(held, key=lambda worker: worker.late)
    first = max(waiting, key=lambda each: each.waited)
    cost = waited * _possible_gain(worst)
    name = short(first.prefix, 40)
    yield GIL_BOUND.found(
        f"Threads waited {duration(waited)} for the GIL, most of them in '{name}'",
        cause=(
            f"Tasks of '{name}' were on a core for {duration(first.cpu)} and waited "
            f"{duration(first.waited)}. {capital(case.name_of(worst.address))} has "
            f"{counted(worst.threads, 'thread')} and used {worst.cpu:.1f} of "
            f"{counted(worst.cores, 'core')}; a thread that asked for the GIL every "
            f"100 ms had to wait for it {worst.late:.0%} of the time. Python runs one "
            "thread of a process at a time. On these cores, separate processes would "
            f"have saved {duration(cost)} of that wait."
        ),
        remedy=(
            "Use processes instead of threads: "
            f"{counted(len(held) * worst.threads, 'worker')} with one thread each "
            f"(`n_workers={len(held) * worst.threads}, threads_per_worker=1`; "
            f"`--nworkers {worst.threads} --nthreads 1`) instead of {len(held)} with "
            f"{worst.threads} threads. Or do the work of '{name}' in numpy, pandas or "
            "Arrow, which release the GIL."
        ),
        confidence="high",
        subject=Subject(prefix=first.prefix, worker=worst.address),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(each.address)}: {each.cpu:.1f} cores used by "
                f"{counted(each.threads, 'thread')}, late for the GIL {each.late:.0%} "
                "of the time",
                source="events",
            )
            for each in held[:5]
        ),
    )


def _core_was_free(case: Case, worker: Computing) -> bool:
    """Return whether a core was there for threads that waited: else they may have wanted that."""
    most = GIL_BOUND.threshold(case, "others")
    used = worker.others + worker.load
    few = worker.others <= most or used <= GIL_BOUND.threshold(case, "used")
    return few and worker.load <= GIL_BOUND.threshold(case, "load")


def _possible_gain(worker: Computing) -> float:
    """Return what part of the waiting processes would win: no more than cores are free."""
    times = min(
        min(worker.threads, worker.cores) / max(worker.cpu, 1e-9),
        1 / max(worker.load, 1e-9),
    )
    won = worker.threads * (1 - 1 / max(times, 1.0))
    return min(max(won / max(worker.threads - worker.cpu, 1e-9), 0.0), 1.0)


@documented("cpu-oversubscribed")
def CPU_OVERSUBSCRIBED(case: Case) -> Iterator[Finding]:
    waiting = _waiting_prefixes(
        case, share=CPU_OVERSUBSCRIBED.threshold(case, "waiting")
    )
    waited, whole = sum(each.waited for each in waiting), max(case.loads.compute, 1e-9)
    least = CPU_OVERSUBSCRIBED.threshold(case, "share")
    if not waiting or not case.worth_reporting(waited, waited / whole, least):
        return
    native = _by_libraries(case)
    crowded = [
        host for host in case.task_activity.hosts if _many_waiting(case, host, native)
    ]
    if not crowded:
        return
    worst = max(crowded, key=lambda host: host.threads * host.native / host.cores)
    libraries = worst.native > 1 and native > 0
    # While a task waited for threads of its library, they worked for it.
    cost = max(waited - native, 0.0) if libraries else waited
    first = max(waiting, key=lambda each: each.waited)
    factor = (first.cpu + first.waited) / max(first.cpu, 1e-3)
    each = f" of up to {worst.native} native threads each" if libraries else ""
    yield CPU_OVERSUBSCRIBED.found(
        f"{counted(worst.threads, 'thread')}{each} shared {counted(worst.cores, 'core')}: "
        f"tasks took {factor:.1f} times as long as they computed",
        cause=_cause(worst, first, native if libraries else 0.0),
        remedy=_remedy_cpu_oversubscribed(worst, libraries=libraries),
        confidence="medium",
        subject=Subject(prefix=first.prefix),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"{host.name}: {counted(host.threads, 'thread')}, "
                f"{counted(host.cores, 'core')}, used at {host.load:.0%} by the workers "
                f"and at {host.others:.0%} by other processes",
                source="events",
            )
            for host in crowded[:5]
        ),
    )


def _cause(worst: Host, first: WaitingPrefix, native: float) -> str:
    libraries = ""
    if native:
        libraries = (
            f" Meanwhile, libraries computed for {duration(native)} in their own threads: "
            f"OMP_NUM_THREADS or a similar variable is set to {worst.native} on that host."
        )
    return (
        f"On {worst.name}, workers with {counted(worst.threads, 'thread')} used "
        f"{worst.load:.0%} of {counted(worst.cores, 'core')}. Tasks of "
        f"'{short(first.prefix, 40)}' were on a core for {duration(first.cpu)} and "
        f"waited {duration(first.waited)} while holding their memory.{libraries}"
    )


def _remedy_cpu_oversubscribed(worst: Host, *, libraries: bool) -> str:
    if libraries:
        each = max(worst.cores // worst.threads, 1)
        return (
            f"Set `OMP_NUM_THREADS={each} OPENBLAS_NUM_THREADS={each} "
            f"MKL_NUM_THREADS={each}` (1 is the default of Dask's nannies, "
            "`distributed.nanny.pre-spawn-environ`), so that workers and "
            "libraries together have one thread for each of the "
            f"{counted(worst.cores, 'core')}."
        )
    return (
        f"Use {counted(worst.cores, 'thread')} on that host instead of {worst.threads}: "
        "they do the same work in the same time with "
        f"{1 - worst.cores / worst.threads:.0%} less memory in use at once (`n_workers` "
        "times `threads_per_worker`; on Kubernetes, `--nthreads` as the CPU limit). If "
        "tasks start threads of their own (BLAS, OpenMP), set OMP_NUM_THREADS=1."
    )


def _by_libraries(case: Case) -> float:
    """Return CPU seconds of workers beyond their tasks', if that is much of them."""
    cpu = sum(host.cpu for host in case.task_activity.hosts)
    own = sum(
        parts.get("thread-cpu", 0.0) for parts in case.task_activity.by_prefix.values()
    )
    much = CPU_OVERSUBSCRIBED.threshold(case, "native") * cpu
    return cpu - own if cpu - own >= much else 0.0


def _many_waiting(case: Case, host: Host, native: float) -> bool:
    threshold = CPU_OVERSUBSCRIBED.threshold
    threads = host.threads * (host.native if native else 1)
    return (
        threads >= threshold(case, "threads_a_core") * host.cores
        and host.load >= threshold(case, "load")
        and host.others <= threshold(case, "others")
    )


# io-bound

_LEAST = 0.05  # seconds on a core that are worth a number


@documented("io-bound")
def IO_BOUND(case: Case) -> Iterator[Finding]:
    # Where others keep the host busy, a task may wait for a core: not one that needs none.
    enough = "waiting_on_busy" if _busy(case) else "waiting"
    waiting = _waiting_prefixes(case, share=IO_BOUND.threshold(case, enough))
    cost, whole = sum(each.waited for each in waiting), max(case.loads.compute, 1e-9)
    least = IO_BOUND.threshold(case, "share")
    if not waiting or not case.worth_reporting(cost, cost / whole, least):
        return
    if _cpu_of_programs(case) >= IO_BOUND.threshold(case, "programs") * cost:
        return  # a core worked for them meanwhile, in a program that they had started
    hosts = case.task_activity.hosts
    threads, cores = sum(h.threads for h in hosts), sum(h.cores for h in hosts)
    if not hosts or not _free(case, threads, cores):
        return
    first = max(waiting, key=lambda each: each.waited)
    name = short(first.prefix, 40)
    factor = first.waited / max(first.cpu, 1e-3)
    wanted = min(8 * cores, max(2 * threads, math.ceil(threads * min(factor, 8))))
    share = duration(first.cpu) if first.cpu >= _LEAST else "almost none"
    used = sum(host.load * host.cores for host in hosts)
    turn = _in_turn(case, first.prefix)
    yield IO_BOUND.found(
        f"Tasks of '{name}' waited {duration(cost)} for I/O, locks or other processes, "
        "not for a core",
        cause=(
            f"Of {duration(first.cpu + first.waited)}, tasks of '{name}' used a core "
            f"for {share}. The rest of the time they waited for storage, a database, a "
            f"service, a lock or a sleep. {counted(threads, 'thread')} used {used:.1f} "
            f"of {counted(cores, 'core')}." + (f" {turn.sentence}" if turn else "")
        ),
        remedy=_remedy_io_bound(case, first.prefix, threads, wanted, turn),
        confidence="medium",
        subject=Subject(prefix=first.prefix),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=(
                    f"'{short(each.prefix, 60)}': {duration(each.cpu)} on a core, "
                    f"{duration(each.waited)} waiting"
                ),
                source="events",
            )
            for each in waiting[:5]
        ),
    )


def _remedy_io_bound(
    case: Case, prefix: str, threads: int, wanted: int, turn: _Turn | None
) -> str:
    if turn:
        return _NOT_MORE_THREADS
    if share_of_full_time(case, prefix, threads) < _FULL:
        return _THREADS_WERE_FREE
    return (
        f"Give these workers more threads: about {wanted} instead of {threads} "
        f"(`threads_per_worker={wanted}`, `--nthreads {wanted}`), so that more tasks wait in "
        f"parallel. If other tasks of the run compute, give '{short(prefix, 40)}' separate "
        "workers, or fetch more per task, asynchronously."
    )


_FULL = 0.5  # of the time of tasks that wait; below, most waited beside a free thread

_THREADS_WERE_FREE = (
    "More threads cannot help: for most of that time, some had nothing to do. Submit more of "
    "these tasks at once, in smaller pieces, or make each wait shorter: fetch more at a time, "
    "asynchronously, or keep the connection."
)

_NOT_MORE_THREADS = (
    "Find what they wait for in turn: a lock (`lock=` of `dask.array.from_array`, HDF5 and "
    "netCDF files, a `SerializableLock`), or a client or connection that serves one call at a "
    "time. More threads of one process cannot help. A lock of a process does not hold others "
    "back: use more processes with one thread each (`n_workers=`, `--nworkers`); or "
    "hold it for less, and read larger pieces at once."
)


class _Turn(NamedTuple):
    """Tasks of a process that ran at once, and finished one after the other."""

    tasks: int
    at_once: float
    apart: float

    @property
    def sentence(self) -> str:
        """What shows that they waited for each other."""
        return (
            f"In one process, {self.tasks:,} of them finished one by one, {duration(self.apart)} "
            f"apart, although {self.at_once:.0f} ran at once, and the first took no longer than "
            "that: they waited for each other, as for one lock."
        )


def _in_turn(case: Case, prefix: str) -> _Turn | None:
    """Return that a prefix's tasks took turns in each process that ran several at once.

    Behind one lock, the first task takes as long as its own work, and each later one waits for
    all that run beside it; and no two finish together, as tasks do that only wait.
    """
    tasks = case.run.tasks.filter((pl.col("prefix") == prefix) & FINISHED)
    found = []
    for _, of_worker in tasks.group_by("worker", maintain_order=True):
        turn = _turn_of(of_worker.sort("stop"))
        if turn is None:
            return None
        found.append(turn)
    return max(found, default=None)


def _turn_of(tasks: pl.DataFrame) -> _Turn | None:
    if len(tasks) < _TURNS:
        return None
    stops = tasks["stop"].dt.epoch("us") / 1e6
    begun = float((tasks["start"].dt.epoch("us") / 1e6).min() or 0.0)  # type: ignore[arg-type]
    took = float(tasks["compute"].sum() or 0.0) / max(float(stops[-1]) - begun, 1e-9)
    gaps = stops.diff().drop_nulls()
    apart, usual = float(gaps.median() or 0.0), float(tasks["compute"].median() or 0.0)  # type: ignore[arg-type]
    first = float(tasks["compute"][0] or 0.0)
    if took < _AT_ONCE or apart <= 0 or first > _FIRST * usual:
        return None
    one_by_one = (gaps >= _FIRST * apart).mean() or 0.0
    in_all = abs(usual - took * apart) <= _NEARLY * usual
    if one_by_one < _MOST_OF_THEM or not in_all:  # type: ignore[operator]
        return None
    return _Turn(len(tasks), took, apart)


def _free(case: Case, threads: int, cores: int) -> bool:
    """Return whether cores and the GIL were free, and more threads would have used them."""
    if threads >= IO_BOUND.threshold(case, "threads_a_core") * cores:
        return False  # that is what one does about it
    late = [worker.late for worker in computing(case)]
    latest = max(late, default=1.0) if _busy(case) else min(late, default=0.0)
    return latest <= IO_BOUND.threshold(case, "late") and all(
        host.load <= IO_BOUND.threshold(case, "load")
        for host in case.task_activity.hosts
    )


def _cpu_of_programs(case: Case) -> float:
    """Return the CPU seconds of programs that tasks had started."""
    return sum(
        case.task_activity.of_worker(each)["children"]
        for each in case.task_activity.loads
    )


def _busy(case: Case) -> bool:
    """Return whether others keep a host busy."""
    most = IO_BOUND.threshold(case, "others")
    return any(host.others > most for host in case.task_activity.hosts)


@documented("gc-time")
def GC_TIME(case: Case) -> Iterator[Finding]:
    sums = {
        address: case.task_activity.of_worker(address)
        for address in case.task_activity.loads
    }
    cost = sum(each["gc"] for each in sums.values())
    cpu = sum(each["cpu"] for each in sums.values())
    least = GC_TIME.threshold(case, "share")
    if not cpu or not case.worth_reporting(cost, cost / cpu, least):
        return
    worst = max(sums, key=lambda address: sums[address]["gc"])
    name = busiest_prefix(case.run.tasks)
    loggers = ("distributed.gc", "distributed.utils_perf")
    lines = case.run.logs.filter(pl.col("logger").is_in(loggers)).head(2)
    yield GC_TIME.found(
        f"Garbage collection took {duration(cost)}, {cost / cpu:.0%} of the workers' CPU time",
        cause=(
            f"Full collections took {duration(cost)} of the {duration(cpu)} that the "
            f"workers' processes computed; {duration(sums[worst]['gc'])} of it on "
            f"{case.name_of(worst)}. A full collection visits every live object: there "
            "are many small objects, or `gc.collect()` is called often. Most of the "
            f"computing was '{name}'."
        ),
        remedy=(
            "Keep data in arrays and frames rather than in lists and dicts of Python "
            f"objects; work on smaller batches; remove `gc.collect()` if '{name}' calls it. "
            f"At most {duration(cost)} of core time can be saved; `gc.freeze()` after "
            "loading, or `gc.set_threshold(100_000, 50, 50)` in a worker preload, "
            "saves most of it without changing the code."
        ),
        confidence="high",
        subject=Subject(prefix=name, worker=worst),
        cost=Cost(amount=cost, share=cost / cpu),
        evidence=(
            *(
                Evidence(
                    text=f"{case.name_of(address)}: {duration(each['gc'])} of "
                    f"{duration(each['cpu'])}",
                    source="events",
                )
                for address, each in list(sums.items())[:5]
            ),
            *(
                Evidence(
                    text=short(line["message"], 160),
                    source="logs",
                    at=line["at"].timestamp(),
                )
                for line in lines.iter_rows(named=True)
            ),
        ),
    )


# network-bound

# So many tasks between two samples, so short: that is `tiny-tasks`.
_MANY_WAITING = 50

_TINY = 0.02


@documented("network-bound")
def NETWORK_BOUND(case: Case) -> Iterator[Finding]:
    loads = case.loads
    transfer = float(loads.tasks["transfer"].sum() or 0.0)
    if transfer < NETWORK_BOUND.threshold(case, "of_computing") * loads.compute:
        return
    crowd = pl.col("number") > _MANY_WAITING
    tiny = crowd & (pl.col("compute") < _TINY * pl.col("number"))
    moving = (pl.col("transfer") > pl.col("compute")) & ~tiny
    idle = loads.total("overhead", moving) + loads.total("lack", moving)
    cost = min(idle, transfer)
    share = loads.share(cost)
    if not case.worth_reporting(cost, share, NETWORK_BOUND.threshold(case, "share")):
        return
    by_prefix = (
        loads.tasks.filter(pl.col("transfer") > 0)
        .group_by("prefix", maintain_order=True)
        .agg(number=pl.len(), transfer=pl.col("transfer").sum())
        .sort("transfer", descending=True)
    )
    first = by_prefix.row(0, named=True)
    name = short(str(first["prefix"]), 40)
    moved = numbers_of(case).get("bytes_transferred") or 0.0
    if moved < NETWORK_BOUND.threshold(case, "bytes"):
        return  # they waited for a busy worker, not for the network
    each = moved / int(by_prefix["number"].sum())
    yield NETWORK_BOUND.found(
        f"Threads were idle for {duration(cost)} while workers sent each other "
        f"{size(moved)}",
        cause=(
            f"Tasks waited {duration(transfer)} for their inputs and computed "
            f"{duration(loads.compute)}; {counted(first['number'], 'task')} of "
            f"'{name}' waited longest ({duration(first['transfer'])}). Workers sent "
            f"each other {size(moved)}, about {size(each)} for each task that waited."
        ),
        remedy=(
            f"Move '{name}' to the data: reduce before you combine (`split_every`, "
            "aggregate each partition first), join on an index, broadcast the small "
            "side, don't pin tasks to workers with `workers=`. Fewer, larger workers "
            f"transfer less: half as many, about {size(moved / 2)}."
        ),
        confidence="medium",
        subject=Subject(prefix=str(first["prefix"])),
        cost=Cost(amount=cost, share=share),
        evidence=tuple(
            Evidence(
                text=f"'{short(str(row['prefix']), 60)}': {counted(row['number'], 'task')} "
                f"waited {duration(row['transfer'])} for inputs",
                source="tasks",
            )
            for row in by_prefix.head(5).iter_rows(named=True)
        ),
    )


@documented("driver-bound")
def DRIVER_BOUND(case: Case) -> Iterator[Finding]:
    loads = case.loads
    if not len(loads.graphs) or case.state == "running":
        return
    if case.failed or case.run.of(Stall):
        return  # something was wanted, and did not come
    waste = _lost_time(case)
    if waste is None:
        return
    submitting = submitting_of(case.run)
    if submitting is not None and submitting.seconds < _MOST * waste.paused:
        submitting = None
    longest = sorted(loads.pauses, key=lambda span: span[0] - span[1])
    yield DRIVER_BOUND.found(
        f"The cluster waited {duration(waste.paused)} of {duration(waste.whole)} for the "
        "driver",
        cause=_where_submitting(case, submitting)
        if submitting
        else (
            f"For {duration(waste.paused)} ({waste.paused / waste.whole:.0%} of the "
            "run), nothing was computed because the driver had submitted no work: "
            f"{listed(waste.parts(len(loads.graphs)))}. {duration(waste.cost)} of core time was "
            f"idle.{_meanwhile(case, waste)}"
        ),
        remedy=_LIGHTER if submitting else _remedy_driver_bound(waste),
        # Whether a driver is meant to wait is unknown.
        confidence="medium" if waste.idle else "high",
        cost=Cost(amount=waste.cost, share=waste.cost / max(loads.all_capacity, 1e-9)),
        evidence=tuple(
            Evidence(
                text=f"Nothing was computed for {duration(end - begin)}",
                source="tasks",
                at=begin,
            )
            for begin, end in longest[:5]
        ),
    )


_COUNTS = 0.01
"""The share of the lost time from which a part of it is worth a word."""

_LIGHTER = (
    "Send what all tasks need once: `client.scatter(…, broadcast=True)`, and pass the future; or "
    "load it in the tasks. A method (`client.submit(obj.method, …)`) carries its whole object: "
    "submit a function with the parts that it needs. Submit all calls at once with `client.map`, "
    "and pass `pure=False` or `key=` to leave out the hash."
)


def _where_submitting(case: Case, submitting: Submitting) -> str:
    graphs = counted(len(case.loads.graphs), "graph")
    return (
        f"The driver was at {code_line(submitting.frame)} for {duration(submitting.seconds)}, "
        f"{submitting.doing}. It submitted {graphs}, and all tasks together computed for "
        f"{duration(case.loads.compute)}."
    )


@dataclass(frozen=True, kw_only=True)
class _LostTime:
    """How long the cluster waited, of how long it was there, and for what a driver.

    Attributes:
        paused: Seconds that all of it waited, but for those that the driver had no core.
        whole: Seconds that all of it was there.
        cost: Core-seconds of `paused`.
        idle: The driver, too, did nothing meanwhile, as far as that is known.
        first: Seconds of `paused` before the first graph.
        between: Those between graphs.
        last: Those after the last task.
    """

    paused: float
    whole: float
    cost: float
    idle: bool
    first: float
    between: float
    last: float

    def parts(self, graphs: int) -> list[str]:
        """Return what `paused` consists of, without what does not count.

        Args:
            graphs: How many graphs the run had.
        """
        parts = {
            "before the first graph": self.first,
            f"between the {counted(graphs, 'graph')}": self.between,
            "after the last task": self.last,
        }
        return [
            f"{duration(seconds)} {where}"
            for where, seconds in parts.items()
            if seconds >= _COUNTS * self.paused
        ]


def _lost_time(case: Case) -> _LostTime | None:
    """Return what it cost to wait for the driver, if that is worth a word."""
    loads, driver = case.loads, case.task_activity.driver
    threshold = DRIVER_BOUND.threshold
    cost = sum(loads.threads.between(a, b) for a, b in loads.pauses)
    # Where there are no workers (yet, or any more), none of them waits.
    all_of_them = max(loads.threads.highest, 1e-9)
    whole, paused = loads.all_capacity / all_of_them, cost / all_of_them
    fair = 1.0
    if (lost := _lost_in_submitting(case, whole, all_of_them)) is not None:
        return lost
    if driver is not None:
        # What others took from it on its host is no doing of its own.
        fair = max(1 - driver.delayed / max(paused, 1e-9), 0.0)
        cost, paused = cost * fair, paused * fair
    idle = driver is not None and driver.cpu < threshold(case, "idle") * paused
    unclear = (driver is None or idle) and case.task_activity.busy
    if unclear and paused < threshold(case, "long"):
        # What takes cores from the workers also takes them from the driver, and from
        # whatever it waits for.
        return None
    share = paused / max(whole, 1e-9)
    if not case.worth_reporting(cost, share, threshold(case, "share")):
        return None
    computed = loads.compute >= threshold(case, "computed")
    if not computed and not _could_be_tasks(case, paused, whole):
        return None
    first, between = (fair / all_of_them * each for each in _parts_of_pauses(loads))
    return _LostTime(
        paused=paused,
        whole=whole,
        cost=cost,
        idle=idle,
        first=first,
        between=between,
        last=max(paused - first - between, 0.0),
    )


def _lost_in_submitting(case: Case, whole: float, threads: float) -> _LostTime | None:
    """Return that the cluster waited while the driver hashed or pickled, if it did for long.

    It submits one by one: the cluster waits for the next task, or for what comes with it.
    """
    loads, submitting = case.loads, submitting_of(case.run)
    least = DRIVER_BOUND.threshold(case, "share")
    if submitting is None or submitting.seconds < least * whole:
        return None
    seconds = min(submitting.seconds, whole)
    cost = min(seconds * threads, max(loads.all_capacity - loads.compute, 0.0))
    if cost < least * loads.all_capacity:
        return None
    return _LostTime(
        paused=seconds, whole=whole, cost=cost, idle=False,
        first=0.0, between=seconds, last=0.0,
    )  # fmt: skip


def _parts_of_pauses(loads: Loads) -> tuple[float, float]:
    """Return the core-seconds of the pauses before the first graph, and between graphs."""
    before = [span for span in loads.pauses if span[1] <= loads.begin]
    between = [span for span in loads.pauses if loads.begin < span[1] <= loads.end]
    first, then = (
        sum(loads.threads.between(a, b) for a, b in spans)
        for spans in (before, between)
    )
    return first, then


def _could_be_tasks(case: Case, paused: float, whole: float) -> bool:
    """Return whether a cluster that was hardly used could have done the driver's work.

    Otherwise that is the driver's own business: it has work of its own, beside a short
    computation.  It is not where the driver computed most of the time, or came back again
    and again.
    """
    loads, driver = case.loads, case.task_activity.driver
    threshold = DRIVER_BOUND.threshold
    if loads.compute < threshold(case, "used"):
        return False
    if driver is not None and driver.cpu >= threshold(case, "worked") * paused:
        return True
    between = sum(b - a for a, b in loads.pauses if loads.begin < b <= loads.end)
    again = len(loads.graphs) >= threshold(case, "graphs")
    return again and between >= threshold(case, "share") * whole


def _meanwhile(case: Case, waste: _LostTime) -> str:
    """Return what the driver did meanwhile, if known."""
    driver = case.task_activity.driver
    if driver is None:
        return ""
    text = f" Its main thread was on a core for {duration(driver.cpu)} in all"
    if waste.idle:
        text += ": it was waiting for input, a file, a service or a sleep"
    if driver.delayed >= 1:
        text += (
            f"; the {duration(driver.delayed)} for which it waited for a core that "
            "other processes used are not counted"
        )
    return f"{text}."


def _remedy_driver_bound(waste: _LostTime) -> str:
    if waste.idle:
        return (
            "If that waiting is intended, release the cluster during the wait: "
            "`cluster.adapt(minimum=0, …)` retires idle workers. Or start the cluster "
            "when there is work, and close it before waiting. If the driver fetches "
            "something, fetch it in tasks."
        )
    return (
        "Do that work in tasks, or submit independent work together: one "
        "`dask.compute(a, b, c)` rather than three `.compute()`; keep results on the "
        "cluster with `.persist()` instead of fetching them. "
        + (
            "Work before the first graph or after the last task needs no cluster: "
            "start the cluster later and close it sooner."
            if waste.first + waste.last > waste.between
            else f"At most {duration(waste.between)} can be saved between the graphs."
        )
    )


# workers-scaled-down

_RETIRED = "retire-workers-"


@dataclass(frozen=True, kw_only=True)
class _WaitForWorkers:
    """Tasks that came when all workers had been retired.

    Attributes:
        at: When they came, epoch seconds.
        seconds: Until the next worker joined.
        pause: Seconds since the last task before had ended.
    """

    at: float
    seconds: float
    pause: float


@documented("workers-scaled-down")
def WORKERS_SCALED_DOWN(case: Case) -> Iterator[Finding]:
    if case.failed or case.state == "running":
        return
    waits = _waits_for_new_workers(case)
    waited = sum(each.seconds for each in waits)
    whole = max(case.loads.stopped - case.loads.started, 1e-9)
    threshold = WORKERS_SCALED_DOWN.threshold
    if len(waits) < threshold(case, "times") or waited < threshold(case, "waited"):
        return
    if waited < threshold(case, "share") * whole:
        return
    pause = max(each.pause for each in waits)
    yield WORKERS_SCALED_DOWN.found(
        f"Tasks waited {duration(waited)} for workers, {len(waits)} times, after the cluster "
        "had scaled down",
        cause=(
            f"{counted(len(waits), 'time')}, all workers had been retired when the driver "
            f"submitted more, and its tasks waited for a new one: {duration(waited)} in all, "
            f"{waited / whole:.0%} of the run. The longest pause between the tasks took "
            f"{duration(pause)}."
        ),
        remedy=(
            "Keep workers through such pauses: `cluster.adapt(minimum=…)`, or a `wait_count=` "
            f"times `interval=` of more than {duration(pause)}; or `cluster.scale(…)` once, in "
            "place of `adapt`. A larger `maximum=` does not help."
        ),
        confidence="high",
        cost=Cost(amount=waited, unit="seconds", share=min(waited / whole, 1.0)),
        evidence=tuple(
            Evidence(
                text=f"Tasks waited {duration(each.seconds)} for a worker; the last task before "
                f"had ended {duration(each.pause)} earlier",
                source="events",
                at=each.at,
            )
            for each in sorted(waits, key=lambda each: -each.seconds)[:5]
        ),
    )


def _waits_for_new_workers(case: Case) -> list[_WaitForWorkers]:
    """Return when tasks came to a cluster without workers, whose last one had been retired."""
    workers = worker_exits_of(case.run)
    if not any(each.stimulus.startswith(_RETIRED) for each in workers):
        return []
    joined = sorted(each.joined for each in workers)
    ended = sorted(case.loads.tasks["ended"].drop_nulls().to_list())
    found: list[_WaitForWorkers] = []
    for graph in case.run.of(GraphUpdated):
        left, later = _all_retired(workers, graph.at), bisect_right(joined, graph.at)
        if left is None or later == len(joined) or not graph.tasks:
            continue
        if found and found[-1].at + found[-1].seconds > graph.at:
            continue  # it waits for the same worker
        tasks = bisect_right(ended, graph.at)
        since = ended[tasks - 1] if tasks else left
        found.append(
            _WaitForWorkers(
                at=graph.at,
                seconds=joined[later] - graph.at,
                pause=graph.at - since,
            )
        )
    return found


def _all_retired(workers: Sequence[WorkerExit], at: float) -> float | None:
    """Return when the last worker was retired, if none was left at a moment; else None."""
    before = [each for each in workers if each.joined <= at]
    last = max(before, key=lambda each: each.gone or math.inf, default=None)
    if last is None or last.gone is None or last.gone > at:
        return None
    return last.gone if last.stimulus.startswith(_RETIRED) else None
