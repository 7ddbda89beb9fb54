"""Did a shuffle begin again, because a worker left while it ran?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, listed, short
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["SHUFFLE_RESTARTED"]

_SAID = re.compile(
    r"Shuffle (\S+) restarted due to stimulus '([^']*)'?"
)  # Dask's own lacks the last


def _ask(case: Case) -> Iterator[Finding]:
    lines = case.run.logs.filter(
        (pl.col("role") == "scheduler")
        & pl.col("message").str.starts_with("Shuffle ")
        & pl.col("message").str.contains(" restarted due to stimulus ")
    )
    restarts = [
        (said, line)
        for line in lines.iter_rows(named=True)
        if (said := _SAID.match(line["message"]))
    ]
    if not restarts:
        return
    shuffles = sorted({said[1] for said, _ in restarts})
    cost = _lost(case, shuffles)
    died = listed(sorted({case.cause_of(death).slug for death in case.deaths}))
    yield SHUFFLE_RESTARTED.found(
        f"{counted(len(shuffles), 'shuffle')} began again "
        f"({counted(len(restarts), 'time')}): a worker left while it ran",
        cause=(
            f"Shuffle {short(shuffles[0], 40)} was restarted {counted(len(restarts), 'time')}, "
            f"for the first time by '{short(restarts[0][0][2], 60)}'. A peer-to-peer shuffle "
            "keeps its pieces on all workers: when one leaves, all of it begins again. "
            f"{duration(cost)} of computing was done for nothing."
            + (f" Of what workers died: {died}." if case.deaths else "")
        ),
        remedy=(
            "Keep the workers: see why they left, in the other findings. Don't scale down "
            "while a shuffle runs (raise `distributed.adaptive.wait-count`, or `minimum` = "
            '`maximum`). On hosts that may be taken away, `shuffle_method="tasks"` loses '
            f"only the pieces of the worker that left, not {duration(cost)} of work."
        ),
        confidence="high",
        cost=Cost(
            amount=cost, share=cost / case.loads.compute if case.loads.compute else None
        ),
        evidence=tuple(
            Evidence(text=line["message"], source="logs", at=line["at"].timestamp())
            for _, line in restarts[:5]
        ),
    )


def _lost(case: Case, shuffles: list[str]) -> float:
    """Return the seconds of the shuffles' executions that were repeated."""
    mine = pl.any_horizontal(
        pl.col("key").str.contains(shuffle, literal=True) for shuffle in shuffles
    )
    again = (
        case.run.tasks.filter((pl.col("outcome") == "finished") & mine)
        .group_by("key")
        .agg(lost=pl.col("compute").sum() - pl.col("compute").last())
    )
    return float(again["lost"].sum() or 0.0)


SHUFFLE_RESTARTED = Rule(
    slug="shuffle-restarted",
    title="A shuffle began again",
    question="Did a shuffle begin again, because a worker left while it ran?",
    severity="warning",
    ask=_ask,
    page=Page(
        detects=(
            "A peer-to-peer shuffle (of a join, `set_index`, a rechunk) lost a worker, and all "
            "of it was done again. The run goes on as if nothing had happened, and takes "
            "longer."
        ),
        evidence=(
            "The scheduler's line `Shuffle … restarted due to stimulus …`; the cost is what "
            "executions of that shuffle's tasks took that were repeated."
        ),
        remedy="Keep workers while they shuffle, or shuffle by tasks.",
        before="cluster.adapt(minimum=1, maximum=20)\nframe.set_index('id').to_parquet(target)",
        after="cluster.scale(10)\nframe.set_index('id').to_parquet(target)",
    ),
)
