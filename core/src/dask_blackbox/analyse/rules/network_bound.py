"""Did threads idle because their tasks' inputs were on the way?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.numbers import numbers_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, short, size
from dask_blackbox.finding import Cost, Evidence, Finding, Subject

__all__ = ["NETWORK_BOUND"]

# So many tasks between two samples, so short: that is `tiny-tasks`.
_CROWD = 50
_TINY = 0.02


def _ask(case: Case) -> Iterator[Finding]:
    loads = case.loads
    transfer = float(loads.tasks["transfer"].sum() or 0.0)
    if transfer < NETWORK_BOUND.threshold(case, "of_computing") * loads.compute:
        return
    crowd = pl.col("number") > _CROWD
    tiny = crowd & (pl.col("compute") < _TINY * pl.col("number"))
    moving = (pl.col("transfer") > pl.col("compute")) & ~tiny
    idle = loads.total("overhead", moving) + loads.total("lack", moving)
    cost = min(idle, transfer)
    share = loads.share(cost)
    if cost < NETWORK_BOUND.threshold(case, "core_seconds") or not loads.matters(cost):
        return
    if share < NETWORK_BOUND.threshold(case, "share"):
        return
    by_prefix = (
        loads.tasks.filter(pl.col("transfer") > 0)
        .group_by("prefix")
        .agg(number=pl.len(), transfer=pl.col("transfer").sum())
        .sort("transfer", descending=True)
    )
    first = by_prefix.row(0, named=True)
    name = short(str(first["prefix"]), 40)
    moved = numbers_of(case).get("bytes_transferred") or 0.0
    if moved < NETWORK_BOUND.threshold(case, "bytes"):
        return  # they waited for a busy worker, not for the network
    each = moved / max(first["number"], 1)
    yield NETWORK_BOUND.found(
        f"Threads idled {duration(cost)} while {size(moved)} travelled between workers",
        cause=(
            f"Tasks waited {duration(transfer)} for their inputs to arrive, beside "
            f"{duration(loads.compute)} of computing; most of all "
            f"{counted(first['number'], 'task')} of '{name}' "
            f"({duration(first['transfer'])}). Workers handed each other {size(moved)}, "
            f"about {size(each)} for each of these."
        ),
        remedy=(
            f"Bring '{name}' to the data: reduce before you combine (`split_every`, "
            "aggregate each partition first), join on an index, broadcast the small side, "
            "don't pin tasks to workers with `workers=`. Fewer, larger workers hand over "
            f"less: on half as many, about {size(moved / 2)}."
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


NETWORK_BOUND = Rule(
    slug="network-bound",
    title="Threads waited for data to travel",
    question="Did threads idle because their tasks' inputs were on the way?",
    severity="warning",
    ask=_ask,
    thresholds={
        "core_seconds": 3,
        "share": 0.2,
        "of_computing": 0.5,
        "bytes": 256 * 2**20,
    },
    page=Page(
        detects=(
            "Tasks needed what lay on other workers, and threads idled until it had come: an "
            "all-to-all pattern, large intermediate results, tasks pinned elsewhere."
        ),
        evidence=(
            "Seconds that tasks waited for transfers, in the times in which threads idled and "
            "little was computed; bytes that workers handed over. Silent below "
            "`network-bound.core_seconds`, `network-bound.share` of the core time, "
            "`network-bound.bytes`, and where transfers were hidden behind computing."
        ),
        remedy="Reduce before combining; keep tasks where their data is.",
        before="big.merge(other, on='key').groupby('key').sum()",
        after="big.groupby('key').sum().merge(other, on='key')",
    ),
)
