"""What tasks were at while they ran, and what their processes paid: Dask's fine metrics
and our own `process-load`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from dask_blackbox.run import RunTables

__all__ = ["MANY_EDGES", "DriverTime", "Host", "Tolls"]

MANY_EDGES = 20
"""Inputs of a task, on average, that are many."""

_AT_ONCE = 1.0
_MOST = 0.5


@dataclass(frozen=True, kw_only=True)
class Host:
    """What the processes of some workers had of their host.

    Attributes:
        name: Of the host.
        cores: That it has (as Dask counts them).
        threads: Of the workers on it.
        seconds: How long it was watched.
        cpu: CPU seconds of our workers, and of programs that their tasks started.
        scheduler: CPU seconds of the scheduler, if it runs there in a process of its own or
            of the driver.
        busy: CPU seconds of the whole host, or None if unknown.
        memory: Bytes that it has, or None if unknown.
        limits: Memory limits of its workers, together.
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
    native: int = 1

    @property
    def load(self) -> float:
        """How much of its cores our workers used, 0 to 1."""
        return self.cpu / max(self.seconds * self.cores, 1e-9)

    @property
    def others(self) -> float:
        """How much of its cores others used than workers and scheduler, 0 to 1."""
        busy = self.cpu if self.busy is None else self.busy
        rest = max(busy - self.cpu - self.scheduler, 0.0)
        return rest / max(self.seconds * self.cores, 1e-9)


@dataclass(frozen=True, kw_only=True)
class DriverTime:
    """What the driver's main thread did.

    Attributes:
        seconds: How long it was watched.
        cpu: Seconds that it had a core.
        delayed: Seconds that it waited for one, which others had.
    """

    seconds: float
    cpu: float
    delayed: float


class Tolls:
    """Seconds and bytes beside computing.

    Args:
        run: The recording.
    """

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
        told = self._run.details("fine-metrics")
        schedulers = {fact["subject"] for fact in self._run.details("scheduler-info")}
        if not told or len(schedulers) > 1:  # totals are each scheduler's own
            return {}
        totals = _by_label(told[-1])
        begun = self._run.details("recording-started")
        first = told[0]["at"]
        if begun and (first - begun[0]["at"]).total_seconds() < _AT_ONCE:
            for label, value in _by_label(told[0]).items():
                totals[label] = totals.get(label, 0.0) - value
        return totals

    @cached_property
    def loads(self) -> dict[str, list[dict[str, Any]]]:
        """`process-load` of each worker that told it."""
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for each in self._run.details("process-load"):
            found[each["subject"]].append(each)
        return dict(found)

    def of_worker(self, address: str) -> dict[str, float]:
        """Return the sums of what a worker's process told."""
        sums: dict[str, float] = defaultdict(float)
        for told in self.loads.get(address, ()):
            for name in ("seconds", "cpu", "children", "gc", "woken", "late", "waited"):
                sums[name] += told.get(name) or 0.0
        return sums

    @cached_property
    def driver(self) -> DriverTime | None:
        """The driver that was watched for longest; None where its system does not tell."""
        told = self._run.details("driver-load")
        if not told:
            return None
        longest = max(told, key=lambda each: each["seconds"])
        return DriverTime(
            seconds=longest["seconds"], cpu=longest["cpu"], delayed=longest["delayed"]
        )

    @cached_property
    def graphs(self) -> float:
        """Seconds that the scheduler took to take in the run's graphs."""
        told = self._run.details("scheduler-load")
        seconds = [each.get("update_graph") or 0.0 for each in told]
        return max(seconds[-1] - seconds[0], 0.0) if len(seconds) > 1 else 0.0

    @cached_property
    def edges(self) -> tuple[int, int]:
        """How many results the tasks of the run's graphs ask for, and how many tasks."""
        told = self._run.details("graph-updated")
        known = [each for each in told if each.get("edges") is not None]
        return sum(g["edges"] for g in known), sum(g.get("tasks") or 0 for g in known)

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts of the workers that told something."""
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for life in self._run.workers.iter_rows(named=True):
            if life["address"] in self.loads:
                found[str(life["host"])].append(life)
        return tuple(self._host(name, lives) for name, lives in found.items())

    @property
    def busy(self) -> bool:
        """Whether others had most of a host: then much takes long with nothing wrong."""
        return any(host.others > _MOST for host in self.hosts)

    def _host(self, name: str, lives: list[dict[str, Any]]) -> Host:
        told = {life["address"]: self.loads[life["address"]] for life in lives}
        # Workers in one process tell the same: of each process one is asked.
        one_each = {life["pid"]: told[life["address"]] for life in lives}
        longest = max(told.values(), key=lambda ts: sum(t["seconds"] for t in ts))
        every = [each for ts in told.values() for each in ts]
        busy = [each.get("host_busy") for each in longest]
        at_once = [life for life in lives if life["left"] is None] or lives
        seconds = sum(each["seconds"] for each in longest)
        return Host(
            name=name,
            cores=max(int(each.get("cores") or 1) for each in every),
            threads=sum(life["nthreads"] or 1 for life in at_once),
            seconds=seconds,
            cpu=sum(
                (each.get("cpu") or 0.0) + (each.get("children") or 0.0)
                for ts in one_each.values()
                for each in ts
            ),
            scheduler=self._scheduling(name, {*one_each}) * seconds,
            busy=None if None in busy else sum(b for b in busy if b is not None),
            memory=max(int(each.get("host_memory") or 0) for each in every) or None,
            native=max(int(each.get("native_threads") or 1) for each in every),
            limits=sum(life["memory_limit"] or 0 for life in at_once),
        )

    def _scheduling(self, host: str, workers: set[int | None]) -> float:
        """Return how many cores the scheduler used of a host that it shares with workers."""
        for fact in self._run.details("scheduler-info"):
            shared = fact.get("pid") in workers  # they have counted it
            if f"://{host}:" in str(fact["subject"]) and not shared:
                samples = self._run.metrics.filter(pl.col("source") == "scheduler")
                return float(samples["cpu"].mean() or 0.0) / 100  # type: ignore[arg-type]
        return 0.0


def _by_label(told: dict[str, Any]) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for *label, value in told.get("totals") or ():
        if len(label) >= 3 and isinstance(value, int | float):  # noqa: PLR2004
            found[tuple(map(str, label))] = float(value)
    return found
