"""Were all workers paused, so that no task could start?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang_evidence import (
    evidence_of_hang,
    how_it_ended,
    log_evidence,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, size
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["WORKERS_PAUSED", "Full", "fullest"]

_LEAKING = 0.5


class Full(NamedTuple):
    """The memory of a worker when it was last seen."""

    worker: str
    memory: int
    managed: int
    spilled: int
    limit: int | None

    def __str__(self) -> str:
        of = f" of {size(self.limit)}" if self.limit else ""
        share = f" ({self.memory / self.limit:.0%})" if self.limit else ""
        unmanaged = size(max(self.memory - self.managed, 0))
        return (
            f"{size(self.memory)}{of}{share}, {size(self.managed)} of it results that Dask "
            f"keeps and {unmanaged} unmanaged; {size(self.spilled)} spilled"
        )


def fullest(case: Case) -> tuple[Full, ...]:
    """Return the memory of each worker in its last sample, the fullest first."""
    last = (
        case.run.metrics.filter(
            (pl.col("source") != "scheduler") & pl.col("memory").is_not_null()
        )
        .sort("at")
        .group_by("source")
        .last()
    )
    limits = dict(case.run.workers.select("address", "memory_limit").iter_rows())
    found = [
        Full(
            worker=row["source"],
            memory=row["memory"],
            managed=row["managed"] or 0,
            spilled=row["spilled"] or 0,
            limit=limits.get(row["source"]) or None,
        )
        for row in last.iter_rows(named=True)
    ]
    return tuple(sorted(found, key=lambda full: -full.memory / (full.limit or 2**60)))


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None or not hang.all_paused:
        return
    full = [each for each in fullest(case) if each.worker in hang.paused]
    first = full[0] if full else None
    unmanaged = first is not None and first.memory - first.managed > (
        _LEAKING * first.memory
    )
    every = (
        "The only worker was"
        if hang.workers == 1
        else "Both workers were"
        if hang.workers == 2  # noqa: PLR2004
        else f"All {hang.workers} workers were"
    )
    yield WORKERS_PAUSED.found(
        f"{every} paused for lack of memory, and {counted(hang.wanted, 'task')} waited",
        cause=(
            f"{every} above the share of memory at which Dask stops starting tasks "
            "(`distributed.worker.memory.pause`, 80 %), and none came down again."
            f"{f' The fullest, {case.name_of(first.worker)}: {first}.' if first else ''} "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=_remedy(first, unmanaged=unmanaged),
        confidence=case.sure_of_the_hang,
        subject=Subject(worker=first.worker if first else None),
        evidence=(
            *(
                Evidence(
                    text=f"{case.name_of(each.worker)} was paused: {each}.",
                    source="metrics",
                )
                for each in full[:3]
            ),
            *log_evidence(case, r"Pausing worker|Unmanaged memory use is high"),
            *evidence_of_hang(case, hang),
        ),
    )


def _remedy(full: Full | None, *, unmanaged: bool) -> str:
    more = (
        f"Give each worker about {size(2 * full.limit)} rather than {size(full.limit)}"
        if full is not None and full.limit
        else "Give each worker more memory"
    )
    if unmanaged:
        return (
            "Most of it is memory that Dask does not manage and cannot spill: data that the "
            "tasks' own code keeps (global lists, caches), or freed memory that was not given "
            f"back (`MALLOC_TRIM_THRESHOLD_=0`). Mend that, or: {more[0].lower()}{more[1:]}, "
            "or use fewer threads per worker."
        )
    return (
        f"{more}, or hold less at once: smaller pieces, fewer futures kept by the driver, "
        "write results to storage rather than keep them."
    )


WORKERS_PAUSED = Rule(
    slug="workers-paused",
    title="All workers were paused",
    question="Were all workers paused for lack of memory, so that nothing could start?",
    severity="failure",
    retry_advice="memory",
    ask=_ask,
    page=Page(
        detects=(
            "Every worker was above its pause threshold and none came below it again, so "
            "that no task started any more. Nothing is raised."
        ),
        evidence=(
            "The workers' statuses in the stall detector's last account, and their memory "
            "samples: how much is managed, unmanaged and spilled. Silent if one worker "
            "was running."
        ),
        remedy="More memory, smaller pieces, or find what holds unmanaged memory.",
        before="CACHE = []\ndef load(n):\n    CACHE.append(read(n))   # never given back",
        after="def load(n):\n    return read(n)   # Dask keeps it, spills it, forgets it",
    ),
)
