"""Did workers have limits that their host cannot keep?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.memory import peaks_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.tolls import Host
from dask_blackbox.analyse.words import counted, short, size
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["MEMORY_LIMIT_IGNORED"]

_PART = 0.9


def _ask(case: Case) -> Iterator[Finding]:
    said = case.run.logs.filter(
        pl.col("message").str.starts_with("Ignoring provided memory limit")
    )
    over = [host for host in case.tolls.hosts if _over(case, host)]
    if not len(said) and not over:
        return
    host = max(over, key=lambda each: each.limits, default=None)
    lines = tuple(
        Evidence(
            text=short(line["message"], 200), source="logs", at=line["at"].timestamp()
        )
        for line in said.head(3).iter_rows(named=True)
    )
    if host is None or host.memory is None:
        yield MEMORY_LIMIT_IGNORED.found(
            "A memory limit above the host's memory was ignored",
            cause=f"{short(said['message'][0], 200)}.",
            remedy=_remedy(None, 0),
            confidence="high",
            evidence=lines,
        )
        return
    lives = _living(case, host)
    excess = host.limits - host.memory
    yield MEMORY_LIMIT_IGNORED.found(
        f"The memory limits of the workers on a host add up to {size(host.limits)}; it has "
        f"{size(host.memory)}",
        cause=(
            f"{counted(lives, 'worker')} on {host.name} may use "
            f"{size(host.limits / max(lives, 1))} each, as far as Dask is concerned, "
            f"{size(host.limits)} together: {size(excess)} more than there is. They will not "
            "spill or pause in time; the kernel ends a process of its choice first."
            + (
                " Dask lowered a limit that was above the host's memory."
                if lines
                else ""
            )
        ),
        remedy=_remedy(host, lives),
        confidence="high",
        cost=Cost(amount=excess, unit="bytes", share=excess / host.limits),
        evidence=(
            Evidence(
                text=f"{host.name}: {counted(lives, 'worker')}, limits {size(host.limits)}, "
                f"memory {size(host.memory)}",
                source="workers",
            ),
            *lines,
        ),
    )


def _over(case: Case, host: Host) -> bool:
    """Say whether limits exceed the host, and that by plan or with consequences."""
    if not host.memory or not host.limits:
        return False
    if host.limits < MEMORY_LIMIT_IGNORED.threshold(case, "times") * host.memory:
        return False
    peaks = peaks_of(case.run)
    used = float(peaks["peak"].sum() or 0.0)
    each_has_all = any(
        life["memory_limit"] and life["memory_limit"] >= 0.99 * host.memory
        for life in case.run.workers.iter_rows(named=True)
    )
    return (
        each_has_all
        or used >= MEMORY_LIMIT_IGNORED.threshold(case, "used") * host.memory
    )


def _living(case: Case, host: Host) -> int:
    here = case.run.workers.filter(pl.col("host") == host.name)
    return len(here.filter(pl.col("left").is_null())) or len(here)


def _remedy(host: Host | None, lives: int) -> str:
    if host is None or not host.memory or not lives:
        return (
            "Set `memory_limit` to what the host has, divided by its workers, or leave it "
            "at `auto`."
        )
    each = _PART * host.memory / lives
    return (
        f"Set `memory_limit` to at most {size(each)} (nine tenths of {size(host.memory)} for "
        f"{counted(lives, 'worker')}), or leave it at `auto`."
    )


MEMORY_LIMIT_IGNORED = Rule(
    slug="memory-limit-ignored",
    title="Memory limits that the host cannot keep",
    question="Did workers have limits that their host cannot keep?",
    severity="warning",
    retry_advice="memory",
    ask=_ask,
    thresholds={"times": 1.2, "used": 0.7},
    page=Page(
        detects=(
            "Dask spills, pauses and restarts a worker by its memory limit. Where the limits of "
            "a host's workers add up to more than it has, the kernel's OOM killer comes first, "
            "and says nothing."
        ),
        evidence=(
            "Limits of the workers of a host against its memory (or its cgroup's); Dask's line "
            "`Ignoring provided memory limit …`. Silent where they exceed it by less than "
            "`memory-limit-ignored.times`, and where each worker's own limit is below the "
            "host's memory and they never used `memory-limit-ignored.used` of it."
        ),
        remedy="The host's memory, divided by its workers.",
        before='LocalCluster(n_workers=4, memory_limit="64 GiB")   # on a host of 64 GiB',
        after='LocalCluster(n_workers=4, memory_limit="14 GiB")',
    ),
)
