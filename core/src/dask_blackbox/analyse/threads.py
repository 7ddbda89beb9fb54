"""What threads did while they held a task: on a core, or waiting, and what for."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case

__all__ = ["Computing", "WaitingPrefix", "computing", "waiting_prefixes"]

_SOME = 0.02  # of all that was computed


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


def waiting_prefixes(case: Case, *, share: float) -> list[WaitingPrefix]:
    """Return the prefixes whose tasks were off the core for a share of their time."""
    found = []
    computed = case.run.tasks.group_by("prefix", maintain_order=True).agg(
        pl.col("compute").sum()
    )
    own = dict(computed.iter_rows())
    for prefix, parts in case.task_activity.by_prefix.items():
        cpu, waited = parts.get("thread-cpu", 0.0), parts.get("thread-noncpu", 0.0)
        # Dask's totals are of all its clients: no more than this run computed is its own.
        ours = min((own.get(prefix) or 0.0) / max(cpu + waited, 1e-9), 1.0)
        cpu, waited = ours * cpu, ours * waited
        whole = cpu + waited
        if whole >= _SOME * case.loads.compute and waited >= share * whole > 0:
            found.append(WaitingPrefix(prefix=prefix, cpu=cpu, waited=waited))
    return sorted(found, key=lambda each: -each.waited)


def computing(case: Case) -> list[Computing]:
    """Return the workers' processes, as they were while the run computed."""
    workers = {
        worker["address"]: worker for worker in case.run.workers.iter_rows(named=True)
    }
    hosts = {
        worker["address"]: host
        for host in case.task_activity.hosts
        for worker in workers.values()
        if str(worker["host"]) == host.name
    }
    found = []
    for address, reported in case.task_activity.loads.items():
        sums = case.task_activity.of_worker(address)
        if address not in workers or sums["seconds"] <= 0 or sums["woken"] <= 0:
            continue
        found.append(
            Computing(
                address=address,
                threads=workers[address]["nthreads"] or 1,
                cores=max(int(each.cores or 1) for each in reported),
                cpu=sums["cpu"] / sums["seconds"],
                late=sums["late"] / sums["woken"],
                others=hosts[address].others if address in hosts else 0.0,
                load=hosts[address].load if address in hosts else 0.0,
            )
        )
    return found
