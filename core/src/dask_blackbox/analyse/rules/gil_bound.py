"""Did threads of one worker wait for each other, as only one at a time may run Python?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.threads import Computing, computing, waiting_prefixes
from dask_blackbox.analyse.words import counted, duration, short
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["GIL_BOUND"]


def _ask(case: Case) -> Iterator[Finding]:
    waiting = waiting_prefixes(case, share=GIL_BOUND.threshold(case, "waiting"))
    waited = sum(each.waited for each in waiting)
    if not waiting or waited < GIL_BOUND.threshold(case, "core_seconds"):
        return
    whole = max(case.loads.compute, 1e-9)
    if waited < GIL_BOUND.threshold(case, "share") * whole:
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
    cost = waited * _winnable(worst)
    name = short(first.prefix, 40)
    yield GIL_BOUND.found(
        f"Threads waited {duration(waited)} for the GIL, most of them in '{name}'",
        cause=(
            f"Tasks of '{name}' were on a core for {duration(first.cpu)} and waited "
            f"{duration(first.waited)}. {case.name_of(worst.address)} has "
            f"{counted(worst.threads, 'thread')} and used {worst.cpu:.1f} of "
            f"{counted(worst.cores, 'core')}; a thread that asked for the GIL every 100 ms "
            f"had to wait for it {worst.late:.0%} of the times. Python runs one thread of a "
            f"process at a time. As processes, they would have won {duration(cost)} of it on so "
            "many cores."
        ),
        remedy=(
            f"Use processes instead of threads: {counted(len(held) * worst.threads, 'worker')} "
            f"of one thread (`n_workers={len(held) * worst.threads}, threads_per_worker=1`; "
            f"`--nworkers {worst.threads} --nthreads 1`) instead of {len(held)} of "
            f"{worst.threads}. Or let '{name}' do its work in numpy, pandas or Arrow, which "
            "let the GIL go."
        ),
        confidence="high",
        subject=Subject(prefix=first.prefix, worker=worst.address),
        cost=Cost(amount=cost, share=cost / whole),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(each.address)}: {each.cpu:.1f} cores used by "
                f"{counted(each.threads, 'thread')}, late for the GIL {each.late:.0%} of "
                "the times",
                source="events",
            )
            for each in held[:5]
        ),
    )


def _core_was_free(case: Case, worker: Computing) -> bool:
    """Say whether a core was there for threads that waited: else they may have wanted that."""
    most = GIL_BOUND.threshold(case, "others")
    used = worker.others + worker.load
    few = worker.others <= most or used <= GIL_BOUND.threshold(case, "used")
    return few and worker.load <= GIL_BOUND.threshold(case, "load")


def _winnable(worker: Computing) -> float:
    """Return what part of the waiting processes would win: no more than cores are free."""
    times = min(
        min(worker.threads, worker.cores) / max(worker.cpu, 1e-9),
        1 / max(worker.load, 1e-9),
    )
    won = worker.threads * (1 - 1 / max(times, 1.0))
    return min(max(won / max(worker.threads - worker.cpu, 1e-9), 0.0), 1.0)


GIL_BOUND = Rule(
    slug="gil-bound",
    title="Threads waited for the GIL",
    question="Did threads of one worker wait for each other to run Python?",
    severity="warning",
    ask=_ask,
    thresholds={
        "core_seconds": 5,
        "share": 0.3,
        "waiting": 0.4,
        "late": 0.4,
        "cores": 1.3,
        "others": 0.3,
        "used": 0.85,
        "load": 0.75,
    },
    page=Page(
        detects=(
            "Tasks that run Python code shared a process: the threads took turns, and a worker "
            "of many threads was as fast as one of one thread."
        ),
        evidence=(
            "Tasks spent `gil-bound.waiting` of their time off the core, their process used no "
            "more than `gil-bound.cores` cores, and a thread of ours that wakes every 100 ms "
            "had to wait for the GIL in `gil-bound.late` of the cases. Silent on workers of one "
            "thread, below `gil-bound.core_seconds`, on hosts of which others have "
            "`gil-bound.others` of the cores and all of us together `gil-bound.used`, as waiting "
            "proves nothing where no core is free, and where our workers use "
            "`gil-bound.load` of the cores already: processes would win nothing there."
        ),
        remedy="One thread to a worker, and more workers.",
        before="LocalCluster(n_workers=1, threads_per_worker=8)",
        after="LocalCluster(n_workers=8, threads_per_worker=1)",
    ),
)
