"""Were there far more threads at work than cores?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.threads import WaitingPrefix, waiting_prefixes
from dask_blackbox.analyse.tolls import Host
from dask_blackbox.analyse.words import counted, duration, short
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["CPU_OVERSUBSCRIBED"]

_LITTLE = 0.4


def _ask(case: Case) -> Iterator[Finding]:
    if any(finding.rule == "gil-bound" for finding in case.found):
        return
    waiting = waiting_prefixes(
        case, share=CPU_OVERSUBSCRIBED.threshold(case, "waiting")
    )
    waited, whole = sum(each.waited for each in waiting), max(case.loads.compute, 1e-9)
    if not waiting or waited < CPU_OVERSUBSCRIBED.threshold(case, "share") * whole:
        return
    native = _by_libraries(case)
    crowded = [host for host in case.tolls.hosts if _crowded(case, host, native)]
    if not crowded:
        return
    worst = max(crowded, key=lambda host: host.threads * host.native / host.cores)
    libraries = worst.native > 1 and native > 0
    # While a task waited for threads of its library, they worked for it.
    cost = max(waited - native, 0.0) if libraries else waited
    least = CPU_OVERSUBSCRIBED.threshold(case, "core_seconds")
    if cost < (
        _LITTLE * least if libraries else least
    ):  # what they spin away is not in it
        return
    first = max(waiting, key=lambda each: each.waited)
    factor = (first.cpu + first.waited) / max(first.cpu, 1e-3)
    each = f" of up to {worst.native} native threads each" if libraries else ""
    yield CPU_OVERSUBSCRIBED.found(
        f"{counted(worst.threads, 'thread')}{each} shared {counted(worst.cores, 'core')}: "
        f"tasks took {factor:.1f} times as long as they computed",
        cause=_cause(worst, first, native if libraries else 0.0),
        remedy=_remedy(worst, libraries=libraries),
        confidence="medium",
        subject=Subject(prefix=first.prefix),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"{host.name}: {counted(host.threads, 'thread')}, "
                f"{counted(host.cores, 'core')}, used at {host.load:.0%} by our workers and "
                f"at {host.others:.0%} by others",
                source="events",
            )
            for host in crowded[:5]
        ),
    )


def _cause(worst: Host, first: WaitingPrefix, native: float) -> str:
    libraries = (
        f" Libraries computed {duration(native)} in threads of their own meanwhile, as "
        f"OMP_NUM_THREADS or its like is {worst.native} there."
        if native
        else ""
    )
    return (
        f"On {worst.name}, {counted(worst.threads, 'thread')} of workers kept "
        f"{counted(worst.cores, 'core')} busy at {worst.load:.0%}. Tasks of "
        f"'{short(first.prefix, 40)}' were on a core for {duration(first.cpu)} and waited "
        f"{duration(first.waited)}; all the while they held their memory.{libraries}"
    )


def _remedy(worst: Host, *, libraries: bool) -> str:
    if libraries:
        return (
            f"Set OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and MKL_NUM_THREADS to "
            f"{max(worst.cores // worst.threads, 1)} (Dask's nannies do so by themselves, by "
            "`distributed.nanny.pre-spawn-environ`), so that the threads of workers and "
            f"libraries together are as many as the {counted(worst.cores, 'core')}."
        )
    return (
        f"{counted(worst.cores, 'thread')} on that host rather than {worst.threads} do "
        f"the same work in the same time, with {1 - worst.cores / worst.threads:.0%} less "
        "memory in use at once (`n_workers` times `threads_per_worker`; on Kubernetes, "
        "`--nthreads` as the CPU limit). If tasks start threads of their own (BLAS, "
        "OpenMP), set OMP_NUM_THREADS=1."
    )


def _by_libraries(case: Case) -> float:
    """Return CPU seconds of workers beyond their tasks', if that is much of them."""
    cpu = sum(host.cpu for host in case.tolls.hosts)
    own = sum(parts.get("thread-cpu", 0.0) for parts in case.tolls.by_prefix.values())
    much = CPU_OVERSUBSCRIBED.threshold(case, "native") * cpu
    return cpu - own if cpu - own >= much else 0.0


def _crowded(case: Case, host: Host, native: float) -> bool:
    threshold = CPU_OVERSUBSCRIBED.threshold
    threads = host.threads * (host.native if native else 1)
    return (
        threads >= threshold(case, "threads_a_core") * host.cores
        and host.load >= threshold(case, "load")
        and host.others <= threshold(case, "others")
    )


CPU_OVERSUBSCRIBED = Rule(
    slug="cpu-oversubscribed",
    title="More threads than cores",
    question="Were there far more threads at work than cores?",
    severity="notice",
    ask=_ask,
    thresholds={
        "core_seconds": 5,
        "share": 0.4,
        "waiting": 0.5,
        "threads_a_core": 2.5,
        "load": 0.65,
        "others": 0.3,
        "native": 0.3,
    },
    page=Page(
        detects=(
            "The workers of a host had more threads than it has cores, and all of them had "
            "work for a core: they took turns, which wins nothing and costs memory."
        ),
        evidence=(
            "Time that tasks spent off the core, CPU time of the workers and of the host. Threads "
            "that libraries start count where OMP_NUM_THREADS or its like says how many, and "
            "`cpu-oversubscribed.native` of the CPU time was theirs. "
            "Silent below `cpu-oversubscribed.threads_a_core`, where cores were free "
            "(`cpu-oversubscribed.load`), where others kept the host busy "
            "(`cpu-oversubscribed.others`), and on `gil-bound` runs."
        ),
        remedy="As many threads as cores; one native thread to a task.",
        before="LocalCluster(n_workers=8, threads_per_worker=4)   # on 8 cores",
        after="LocalCluster(n_workers=4, threads_per_worker=2)",
    ),
)
