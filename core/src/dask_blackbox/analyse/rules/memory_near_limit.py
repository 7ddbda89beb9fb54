"""Did workers come so near their memory limit that the next run may not survive?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.memory import peaks_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["MEMORY_NEAR_LIMIT"]

_TERMINATED_AT = 0.95
_COMFORTABLE = 0.7
_STEP = 2**26


def _ask(case: Case) -> Iterator[Finding]:
    share = MEMORY_NEAR_LIMIT.threshold(case, "share")
    dead = [death.address for death in case.deaths]
    peaks = peaks_of(case.run).filter(
        (pl.col("memory_limit") > 0) & ~pl.col("source").is_in(dead)
    )
    near = peaks.filter(pl.col("peak") >= share * pl.col("memory_limit")).sort(
        pl.col("peak") / pl.col("memory_limit"), descending=True
    )
    if not len(near):
        return
    top = near.row(0, named=True)
    peak, limit = top["peak"], top["memory_limit"]
    left = max(_TERMINATED_AT * limit - peak, 0)
    comfortable = math.ceil(peak / _COMFORTABLE / _STEP) * _STEP
    paused = case.run.metrics.filter(pl.col("status") == "paused")["source"].n_unique()
    yield MEMORY_NEAR_LIMIT.found(
        f"Memory reached {peak / limit:.0%} of a worker's limit",
        cause=(
            f"{case.name_of(top['source'])} was seen with {size(peak)} of "
            f"{size(limit)}; at 95 % its nanny would have terminated it: "
            f"{size(left)} were left. "
            f"{counted(len(near), 'worker')} of {len(peaks)} came as near"
            + (
                f", and {counted(paused, 'worker')} paused for memory."
                if paused
                else "."
            )
        ),
        remedy=(
            f"Give each worker about {size(comfortable)} (then this peak is 70 % of the "
            "limit), run fewer tasks at once, or make the pieces smaller."
        ),
        confidence="high",
        subject=Subject(worker=top["source"]),
        cost=Cost(amount=max(comfortable - limit, 0), unit="bytes", share=peak / limit),
        evidence=tuple(
            Evidence(
                text=f"{case.name_of(row['source'])}: peak {size(row['peak'])} of "
                f"{size(row['memory_limit'])}",
                source="metrics",
            )
            for row in near.head(5).iter_rows(named=True)
        ),
    )


MEMORY_NEAR_LIMIT = Rule(
    slug="memory-near-limit",
    title="Memory came near the limit",
    question="Did workers that lived come close to their memory limit?",
    severity="warning",
    retry_advice="memory",
    ask=_ask,
    thresholds={"share": 0.88},
    page=Page(
        detects=(
            "A worker used nearly all of its memory limit and was not terminated, as it "
            "happened. A little more input, and the run fails."
        ),
        evidence=(
            "The highest memory sample of each worker that lived, against its limit; the "
            "threshold is `memory-near-limit.share` (0.88; Dask pauses at 0.80 and terminates "
            "at 0.95). Silent on workers that died, which `workers-died` or a verdict tells of."
        ),
        remedy="Leave room: the peak should be about 70 % of the limit.",
        before='LocalCluster(memory_limit="4 GiB")   # peak 3.7 GiB',
        after='LocalCluster(memory_limit="5.3 GiB")',
    ),
)
