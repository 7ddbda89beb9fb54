"""Did tasks mostly wait for something outside, while cores were free?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.threads import computing, waiting_prefixes
from dask_blackbox.analyse.words import counted, duration, short
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["IO_BOUND"]


def _ask(case: Case) -> Iterator[Finding]:
    # Where others keep the host busy, a task may wait for a core: not one that needs none.
    enough = "waiting_on_busy" if _busy(case) else "waiting"
    waiting = waiting_prefixes(case, share=IO_BOUND.threshold(case, enough))
    cost, whole = sum(each.waited for each in waiting), max(case.loads.compute, 1e-9)
    if not waiting or cost < IO_BOUND.threshold(case, "core_seconds"):
        return
    if cost < IO_BOUND.threshold(case, "share") * whole:
        return
    if _of_programs(case) >= IO_BOUND.threshold(case, "programs") * cost:
        return  # a core worked for them meanwhile, in a program that they had started
    hosts = case.tolls.hosts
    threads, cores = sum(h.threads for h in hosts), sum(h.cores for h in hosts)
    if not hosts or not _free(case, threads, cores):
        return
    first = max(waiting, key=lambda each: each.waited)
    name = short(first.prefix, 40)
    factor = first.waited / max(first.cpu, 1e-3)
    wanted = min(8 * cores, max(2 * threads, math.ceil(threads * min(factor, 8))))
    used = sum(host.load * host.cores for host in hosts)
    yield IO_BOUND.found(
        f"Tasks of '{name}' waited {duration(cost)} for something outside, not for "
        "a core",
        cause=(
            f"Tasks of '{name}' were on a core for {duration(first.cpu)} of "
            f"{duration(first.cpu + first.waited)}; the rest they waited: for storage, a "
            f"database, a service, a lock, or a sleep. {counted(threads, 'thread')} used "
            f"{used:.1f} of {counted(cores, 'core')}."
        ),
        remedy=(
            f"Give these workers more threads: about {wanted} in place of {threads} "
            f"(`threads_per_worker`, `--nthreads`) would wait side by side. If other tasks "
            f"of the run compute, give '{name}' workers of its own, or fetch more with "
            "each task, asynchronously."
        ),
        confidence="medium",
        subject=Subject(prefix=first.prefix),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"'{short(each.prefix, 60)}': on a core {duration(each.cpu)}, waiting "
                f"{duration(each.waited)}",
                source="events",
            )
            for each in waiting[:5]
        ),
    )


def _free(case: Case, threads: int, cores: int) -> bool:
    """Say whether cores and the GIL were free, and more threads would have used them."""
    if threads >= IO_BOUND.threshold(case, "threads_a_core") * cores:
        return False  # that is what one does about it
    late = [worker.late for worker in computing(case)]
    latest = max(late, default=1.0) if _busy(case) else min(late, default=0.0)
    return latest <= IO_BOUND.threshold(case, "late") and all(
        host.load <= IO_BOUND.threshold(case, "load") for host in case.tolls.hosts
    )


def _of_programs(case: Case) -> float:
    """Return the CPU seconds of programs that tasks had started."""
    return sum(case.tolls.of_worker(each)["children"] for each in case.tolls.loads)


def _busy(case: Case) -> bool:
    """Say whether others keep a host busy."""
    most = IO_BOUND.threshold(case, "others")
    return any(host.others > most for host in case.tolls.hosts)


IO_BOUND = Rule(
    slug="io-bound",
    title="Tasks waited for something outside",
    question="Did tasks mostly wait for something outside, while cores were free?",
    severity="notice",
    ask=_ask,
    thresholds={
        "core_seconds": 8,
        "share": 0.6,
        "waiting": 0.8,
        "waiting_on_busy": 0.97,
        "load": 0.4,
        "late": 0.4,
        "others": 0.5,
        "threads_a_core": 3,
        "programs": 0.1,
    },
    page=Page(
        detects=(
            "Threads were taken by tasks that did nothing but wait, for storage, a database or "
            "a service; with more threads, more of them could wait at once."
        ),
        evidence=(
            "Dask's own account of the time that tasks spent on and off a core, and the CPU "
            "time of their processes. Silent below `io-bound.core_seconds`, below "
            "`io-bound.share` of all computing, where the cores were used (`io-bound.load`), and "
            "where there are `io-bound.threads_a_core` threads to a core already. On a host that "
            "others keep busy (`io-bound.others`), tasks must have spent "
            "`io-bound.waiting_on_busy` of their time off the core, and a thread of ours must "
            "have got one on time: else they may have waited for a core. Silent, too, where programs that "
            "tasks had started computed for `io-bound.programs` of the waiting or more: then a core "
            "worked for it."
        ),
        remedy="More threads to a worker, or fetching asynchronously.",
        before="LocalCluster(n_workers=4, threads_per_worker=1)   # and every task is a download",
        after="LocalCluster(n_workers=1, threads_per_worker=32)",
    ),
)
