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
_CANCELLED = "cancelled"  # and of one that needs what it does not have
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
        logged: The scheduler logged it.  It does so at level INFO, which a `LocalCluster`
            does not log: then this is the only graph that was refused before.
    """

    key: str
    at: float
    refused: RefusedGraph | None
    logged: bool = True


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
        return _of_only_refused_graph(run, wanted)
    key, at = last
    refused = [each for each in _refused_until(run, at) if key in each.keys]
    return MissingData(key, at, _reason_of(run, refused[-1]) if refused else None)


def _of_only_refused_graph(run: RunTables, wanted: str) -> MissingData | None:
    """Return what the only refused graph was to make, if a request was cancelled after it."""
    cancelled = [
        each.at
        for each in run.of(GraphFailed)
        if each.status == _CANCELLED and wanted in each.keys
    ]
    refused = _refused_until(run, cancelled[-1]) if cancelled else []
    if len(refused) != 1 or wanted in refused[0].keys:
        return None
    graph = refused[0]
    return MissingData(
        graph.keys[0], cancelled[-1], _reason_of(run, graph), logged=False
    )


def _refused_until(run: RunTables, at: float) -> list[GraphFailed]:
    """Return the graphs that the scheduler had refused by then, with keys."""
    return [
        each
        for each in run.of(GraphFailed)
        if each.status == _REFUSED and each.keys and each.at <= at + CLOCKS
    ]


def _reason_of(run: RunTables, graph: GraphFailed) -> RefusedGraph:
    # Dask logs the event first, and at once its reason.
    reasons = run.logs.filter(
        (pl.col("role") == "scheduler")
        & (pl.col("logger") == "distributed.scheduler")
        & (pl.col("level") >= _ERROR)
        & epoch("at").is_between(graph.at, graph.at + CLOCKS)
    ).sort("at")
    reason = str(reasons["message"][0]).strip() if len(reasons) else ""
    return RefusedGraph(graph.at, reason)
