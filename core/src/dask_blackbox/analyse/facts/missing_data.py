"""Data that a client asked for and the scheduler did not have, and the graph that was to make it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.facts.outcome import CLOCKS
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import LOST_DATA_ASKED_FOR
from dask_blackbox.events import GraphFailed
from dask_blackbox.run_tables import RunTables, epoch

PIECE = r"\(.+, \d+\)"
"""The key of a partition."""

LOST = (
    rf"(?P<key>{PIECE}|(?<!\S)\S+) cancelled for reason: "
    r"(?:already forgotten|lost dependencies)"
)
"""What an exception says of a key that was asked for, and could not be had."""

_REFUSED = "error"  # the status of a graph that the scheduler could not take
_ERROR = 40


class RefusedGraph(NamedTuple):
    """A graph that the scheduler could not take.

    Attributes:
        at: Epoch seconds.
        reason: What the scheduler logged of it; empty: not known.
    """

    at: float
    reason: str


class MissingData(NamedTuple):
    """A key that the scheduler said is gone.

    Attributes:
        at: When it said so, epoch seconds.
        refused: The graph that was to make it, if the scheduler had refused that.
    """

    key: str
    at: float
    refused: RefusedGraph | None


def missing_data(run: RunTables, wanted: str) -> MissingData | None:
    """Return what was missing of what a key needs.

    What was refused because its own input was gone is missing later: the first one counts.
    """
    needs: dict[str, tuple[str, float]] = {}
    last = None
    lines = lines_of(run, LOST_DATA_ASKED_FOR, by=["scheduler"])
    for row in lines.iter_rows(named=True):
        if found := LOST_DATA_ASKED_FOR.search(row["message"]):
            last = found["key"].strip("'"), row["at"].timestamp()
            needs[found["final"].strip("'")] = last
    last = needs.pop(wanted, last)
    while last is not None and last[0] in needs:
        last = needs.pop(last[0])
    if last is None:
        return None
    key, at = last
    return MissingData(key, at, _refused(run, key, at))


def _refused(run: RunTables, key: str, at: float) -> RefusedGraph | None:
    """Return the last graph for a key that the scheduler had refused by then."""
    graphs = [
        each
        for each in run.of(GraphFailed)
        if each.status == _REFUSED and key in each.keys and each.at <= at + CLOCKS
    ]
    if not graphs:
        return None
    # Dask logs the event first, and at once its reason.
    reasons = run.logs.filter(
        (pl.col("role") == "scheduler")
        & (pl.col("logger") == "distributed.scheduler")
        & (pl.col("level") >= _ERROR)
        & epoch("at").is_between(graphs[-1].at, graphs[-1].at + CLOCKS)
    ).sort("at")
    reason = str(reasons["message"][0]).strip() if len(reasons) else ""
    return RefusedGraph(graphs[-1].at, reason)
