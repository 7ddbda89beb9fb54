"""What tasks did while they ran, and the CPU time of their processes and hosts: Dask's fine
metrics and our own `process-load`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import (
    most_at_once,
    threads_of,
    worker_exits_of,
)
from dask_blackbox.events import (
    DriverLoad,
    FineMetrics,
    GraphUpdated,
    ProcessLoad,
    RecordingStarted,
    SchedulerInfo,
    SchedulerLoad,
)
from dask_blackbox.run_tables import RunTables

MANY_EDGES = 20
"""Inputs of a task, on average, that are many."""

_AT_ONCE = 1.0
_MOST = 0.5
_FULL, _WORTH_A_WORD = 0.9, 0.01
_BEFORE = 30.0
"""Seconds before a moment in which a host's load tells something of it."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """What the processes of some workers had of their host.

    Attributes:
        name: Of the host.
        cores: That it has (as Dask counts them).
        threads: Of the workers on it, at the same time.
        seconds: How long it was watched.
        cpu: CPU seconds of our workers, and of programs that their tasks started.
        scheduler: CPU seconds of the scheduler, if it runs there in a process of its own or
            of the driver.
        busy: CPU seconds of the whole host, or None if unknown.
        memory: Bytes that it has, or None if unknown.
        limited: Addresses of the workers that existed when their limits were largest together.
        limits: Memory limits of these, together.
        native: Threads that libraries may start for each task, as far as that is set.
    """

    name: str
    cores: int
    threads: int
    seconds: float
    cpu: float
    scheduler: float
    busy: float | None
    memory: int | None
    limits: int
    limited: tuple[str, ...] = ()
    native: int = 1

    @property
    def load(self) -> float:
        """How much of its cores our workers used, 0 to 1."""
        return self.cpu / max(self.seconds * self.cores, 1e-9)

    @property
    def others(self) -> float:
        """Share of its cores that other processes than workers and scheduler used, 0 to 1."""
        busy = self.cpu if self.busy is None else self.busy
        rest = max(busy - self.cpu - self.scheduler, 0.0)
        return rest / max(self.seconds * self.cores, 1e-9)


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """That a host had no core left, and that the workers were not why.

    Attributes:
        cores: That it has (as Dask counts them).
        used: Share of them that all its processes used, 0 to 1.
        others: Share that others than workers and scheduler used.
        stolen: Share that its hypervisor gave to other machines (steal).
    """

    cores: int
    used: float
    others: float
    stolen: float

    def __str__(self) -> str:
        taken = (
            f", and its hypervisor took {self.stolen:.0%} (steal)"
            if self.stolen >= _WORTH_A_WORD
            else ""
        )
        return (
            f"Its host had no core left then: {self.used:.0%} of its {self.cores} were used, "
            f"{self.others:.0%} by other processes than workers and scheduler{taken}."
        )


class TaskActivity:
    """Seconds and bytes beside computing."""

    def __init__(self, run: RunTables) -> None:
        self._run = run

    @cached_property
    def by_prefix(self) -> dict[str, dict[str, float]]:
        """Seconds of each prefix's tasks by activity (`thread-cpu`, `thread-noncpu`, …)."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for (context, *rest, activity, unit), value in self._totals.items():
            if context == "execute" and unit == "seconds" and rest:
                before = found[rest[-1]].get(activity, 0.0)
                found[rest[-1]][activity] = before + value
        return dict(found)

    def total(self, context: str, activity: str, unit: str) -> float:
        """Return seconds, bytes or counts of an activity, over all prefixes."""
        return sum(
            value
            for (c, *_, a, u), value in self._totals.items()
            if (c, a, u) == (context, activity, unit)
        )

    @cached_property
    def _totals(self) -> dict[tuple[str, ...], float]:
        """Dask's own totals; what a long-lived scheduler had counted before is taken off."""
        metrics = self._run.of(FineMetrics)
        schedulers = {fact.subject for fact in self._run.of(SchedulerInfo)}
        if not metrics or len(schedulers) > 1:  # totals are each scheduler's own
            return {}
        totals = _by_label(metrics[-1])
        begun = self._run.of(RecordingStarted)
        if begun and metrics[0].at - begun[0].at < _AT_ONCE:
            for label, value in _by_label(metrics[0]).items():
                totals[label] = totals.get(label, 0.0) - value
        return totals

    @cached_property
    def loads(self) -> dict[str, list[ProcessLoad]]:
        """`process-load` of each worker that reported it."""
        found: dict[str, list[ProcessLoad]] = defaultdict(list)
        for each in self._run.of(ProcessLoad):
            found[each.subject].append(each)
        return dict(found)

    def of_worker(self, address: str) -> dict[str, float]:
        """Return the sums of what a worker's process reported."""
        sums: dict[str, float] = defaultdict(float)
        for load in self.loads.get(address, ()):
            for name in (
                "seconds",
                "cpu",
                "children",
                "gc",
                "wakeups",
                "late_wakeups",
                "late_seconds",
            ):
                sums[name] += getattr(load, name) or 0.0
        return sums

    @cached_property
    def driver(self) -> DriverLoad | None:
        """The driver that was watched for longest; None where its system does not tell."""
        loads = self._run.of(DriverLoad)
        return max(loads, key=lambda each: each.seconds, default=None)

    @cached_property
    def graphs(self) -> float:
        """Seconds that the scheduler took to take in the run's graphs."""
        seconds = [each.update_graph or 0.0 for each in self._run.of(SchedulerLoad)]
        return max(seconds[-1] - seconds[0], 0.0) if len(seconds) > 1 else 0.0

    @cached_property
    def edges(self) -> tuple[int, int]:
        """How many results the tasks of the run's graphs ask for, and how many tasks."""
        known = [each for each in self._run.of(GraphUpdated) if each.edges is not None]
        return sum(each.edges or 0 for each in known), sum(each.tasks for each in known)

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts of the workers that reported something."""
        found: dict[str, list[WorkerExit]] = defaultdict(list)
        for each in worker_exits_of(self._run):
            if each.address in self.loads:
                found[str(each.host)].append(each)
        return tuple(self._host(name, workers) for name, workers in found.items())

    def shortage(self, host: str | None, at: float) -> Shortage | None:
        """Return that a host was short of cores before a moment; None: it was not, or unknown.

        Args:
            host: Its name.
            at: The moment, epoch seconds.
        """
        loads = self._before(host, at)
        pids = {worker.pid: near for worker, near in loads}
        watched = _one_after_another([near for _, near in loads])
        known = [each for each in watched if each.host_busy is not None]
        seconds = sum(each.seconds for each in known)
        if not seconds:
            return None
        cores = max(int(_most(known, "cores", 1)), 1)
        used = sum(each.host_busy or 0.0 for each in known) / seconds
        stolen = sum(each.host_stolen or 0.0 for each in known) / seconds
        own = sum(map(_cores_used, pids.values()))
        others = max(used - own - self._scheduling(str(host), {*pids}), 0.0)
        found = Shortage(
            cores=cores,
            used=min(used / cores, 1.0),
            others=min(others / cores, 1.0),
            stolen=stolen / cores,
        )
        full = found.used + found.stolen >= _FULL
        return found if full and found.others + found.stolen > _MOST else None

    def swapped(self, host: str | None, at: float) -> float:
        """Return the bytes that a host moved to and from swap in the half minute before a moment.

        0: none, or it is unknown.

        Args:
            host: Its name.
            at: The moment, epoch seconds.
        """
        watched = _one_after_another([near for _, near in self._before(host, at)])
        return sum(each.host_swapped or 0.0 for each in watched)

    def _before(
        self, host: str | None, at: float
    ) -> list[tuple[WorkerExit, list[ProcessLoad]]]:
        """Return what the workers of a host reported just before a moment."""
        found = []
        for worker in worker_exits_of(self._run):
            near = [
                each
                for each in self.loads.get(worker.address, ())
                if each.seconds and at - _BEFORE < each.at < at + each.seconds
            ]
            if worker.host == host and near:
                found.append((worker, near))
        return found

    @property
    def busy(self) -> bool:
        """Whether others had most of a host: then much takes long with nothing wrong."""
        return any(host.others > _MOST for host in self.hosts)

    def _host(self, name: str, workers: list[WorkerExit]) -> Host:
        loads = {each.address: self.loads[each.address] for each in workers}
        # Workers in one process tell the same: of each process one is asked.
        one_each = {each.pid: self.of_worker(each.address) for each in workers}
        watched = _one_after_another(list(loads.values()))
        every = [each for ts in loads.values() for each in ts]
        busy = [each.host_busy for each in watched]
        limited = most_at_once(workers, lambda each: each.memory_limit or 0)
        seconds = sum(each.seconds for each in watched)
        return Host(
            name=name,
            cores=int(_most(every, "cores", 1)),
            threads=sum(map(threads_of, most_at_once(workers, threads_of))),
            seconds=seconds,
            cpu=sum(sums["cpu"] + sums["children"] for sums in one_each.values()),
            scheduler=self._scheduling(name, {*one_each}) * seconds,
            busy=None if None in busy else sum(filter(None, busy)),
            memory=int(_most(every, "host_memory")) or None,
            native=int(_most(every, "native_threads", 1)),
            limits=sum(each.memory_limit or 0 for each in limited),
            limited=tuple(each.address for each in limited),
        )

    def _scheduling(self, host: str, workers: set[int | None]) -> float:
        """Return how many cores the scheduler used of a host that it shares with workers."""
        for fact in self._run.of(SchedulerInfo):
            shared = fact.pid in workers  # they have counted it
            if f"://{host}:" in fact.subject and not shared:
                samples = self._run.metrics.filter(pl.col("source") == "scheduler")
                return float(samples["cpu"].mean() or 0.0) / 100  # type: ignore[arg-type]
        return 0.0


def _most(loads: list[ProcessLoad], name: str, least: int = 0) -> float:
    """Return the largest value of a field, and `least` for one that was not measured."""
    return max(getattr(each, name) or least for each in loads)


def _cores_used(loads: list[ProcessLoad]) -> float:
    """Return how many cores a process used, and programs that it started, on average."""
    used = sum((each.cpu or 0.0) + (each.children or 0.0) for each in loads)
    return used / sum(each.seconds for each in loads)


def _one_after_another(loads: list[list[ProcessLoad]]) -> list[ProcessLoad]:
    """Return what describes a host at different times: no moment is counted twice.

    Of workers at the same time, the one counts that watched for longest.
    """
    chosen: list[ProcessLoad] = []
    spans: list[tuple[float, float]] = []
    for of_worker in sorted(loads, key=lambda ts: -sum(t.seconds for t in ts)):
        end = max(each.at for each in of_worker)
        begin = min(each.at - each.seconds for each in of_worker)
        if all(end <= a or begin >= b for a, b in spans):
            spans.append((begin, end))
            chosen.extend(of_worker)
    return chosen


def _by_label(metrics: FineMetrics) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for *label, value in metrics.totals:
        if len(label) >= 3 and isinstance(value, int | float):  # noqa: PLR2004
            found[tuple(map(str, label))] = float(value)
    return found
