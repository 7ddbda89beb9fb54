"""The prefixes, one row each, and the graph of their dependencies, in columns."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import msgspec
import polars as pl

from dask_blackbox.events import GraphUpdated
from dask_blackbox.formatting import plain
from dask_blackbox.run_tables import RunTables

_MOST = 60
_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 176, 46, 236, 62, 8
_THICKEST = 9.0


class Node(msgspec.Struct, kw_only=True):
    """A prefix: its place in pixels, what it did, and its share of all computing."""

    name: str
    x: float = 0.0
    y: float = 0.0
    tasks: int
    seconds: float
    nbytes: int
    failed: int
    share: float


class Edge(msgspec.Struct, kw_only=True):
    """That a prefix takes results of another: a curve as the `d` of a path."""

    path: str
    width: float
    before: str
    after: str


class PrefixGraph(msgspec.Struct, kw_only=True):
    """The graph, and how many prefixes were too many for it."""

    nodes: list[Node]
    edges: list[Edge]
    width: int
    height: int
    left_out: int


def prefix_graph_of(run: RunTables, rows: list[PrefixRow]) -> PrefixGraph | None:
    """Return the graph of a run whose recording knows what takes results of what."""
    inputs: dict[str, set[str]] = defaultdict(set)
    for graph in run.of(GraphUpdated):
        for name, others in graph.inputs.items():
            inputs[name].update(others)
    if not inputs:
        return None
    known = {str(row.prefix): row for row in rows}
    ranked = sorted(
        inputs, key=lambda name: -(known[name].compute if name in known else 0)
    )
    shown = ranked[:_MOST]
    edges = [(b, name) for name in shown for b in sorted(inputs[name]) if b in shown]
    total = sum(row.compute for row in rows) or 1.0
    nodes = {name: _node(name, known.get(name), total) for name in shown}
    columns = _columns(shown, edges)
    _place(nodes, columns, edges)
    return PrefixGraph(
        nodes=[*nodes.values()],
        edges=_curves(nodes, edges),
        width=_ACROSS * (len(columns) - 1) + _WIDTH + 2 * _MARGIN,
        height=_DOWN * max(map(len, columns)) + 2 * _MARGIN,
        left_out=len(ranked) - len(shown),
    )


def _node(name: str, row: PrefixRow | None, total: float) -> Node:
    if row is None:  # none of its tasks ended
        return Node(
            name=plain(name), tasks=0, seconds=0.0, nbytes=0, failed=0, share=0.0
        )
    return Node(
        name=plain(name),
        tasks=row.tasks,
        seconds=row.compute,
        nbytes=row.nbytes,
        failed=row.erred + row.killed,
        share=row.compute / total,
    )


def _columns(names: list[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Return the names by how far each is from those that take nothing.

    Prefixes may take results of each other: a step that would go round is not taken.
    """
    before: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        before[b].append(a)
    depth: dict[str, int] = {}
    for name in names:
        waiting: list[tuple[str, bool]] = [(name, False)]
        path: set[str] = set()
        while waiting:
            each, done = waiting.pop()
            if done:
                path.discard(each)
                found = [depth[a] + 1 for a in before[each] if a in depth]
                depth[each] = max(found, default=0)
            elif each not in depth and each not in path:
                path.add(each)
                waiting.append((each, True))
                waiting += [(a, False) for a in before[each] if a not in path]
    columns: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for name in names:
        columns[depth[name]].append(name)
    return [column for column in columns if column]


def _place(
    nodes: dict[str, Node], columns: list[list[str]], edges: list[tuple[str, str]]
) -> None:
    """Place each prefix: in a column, at about the height of its inputs."""
    before: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        before[b].append(a)
    tallest = max(map(len, columns))
    for number, column in enumerate(columns):
        if number:
            column.sort(
                key=lambda name: (
                    sum(nodes[a].y for a in before[name]) / max(1, len(before[name]))
                )
            )
        top = (tallest - len(column)) / 2 * _DOWN
        for place, name in enumerate(column):
            nodes[name].x = _MARGIN + number * _ACROSS
            nodes[name].y = _MARGIN + top + place * _DOWN


def _curves(nodes: dict[str, Node], edges: list[tuple[str, str]]) -> list[Edge]:
    most = max((node.nbytes for node in nodes.values()), default=0) or 1
    curves = []
    for a, b in edges:
        start, end = nodes[a], nodes[b]
        x0, y0 = start.x + _WIDTH, start.y + _HEIGHT / 2
        x1, y1 = end.x, end.y + _HEIGHT / 2
        bend = max(30.0, (x1 - x0) / 2)
        path = f"M{x0:.0f} {y0:.0f}C{x0 + bend:.0f} {y0:.0f} {x1 - bend:.0f} {y1:.0f} {x1:.0f} {y1:.0f}"
        width = round(1 + (_THICKEST - 1) * (start.nbytes / most) ** 0.5, 1)
        curves.append(Edge(path=path, width=width, before=start.name, after=end.name))
    return curves


class PrefixRow(NamedTuple):
    """Totals of one prefix; times in seconds, sizes in bytes."""

    prefix: str
    tasks: int
    compute: float
    least: float | None
    p25: float | None
    median: float | None
    p75: float | None
    p95: float | None
    most: float | None
    transfer: float
    disk: float
    nbytes: int
    erred: int
    retried: int
    killed: int


def prefix_rows(executions: pl.DataFrame) -> list[PrefixRow]:
    """Return one row per prefix, the most computed first."""
    outcome = pl.col("outcome")
    table = (
        executions.group_by("prefix", maintain_order=True)
        .agg(
            pl.len().alias("tasks"),
            pl.col("seconds").sum().alias("compute"),
            pl.col("seconds").min().alias("least"),
            pl.col("seconds").quantile(0.25, "nearest").alias("p25"),
            pl.col("seconds").median().alias("median"),
            pl.col("seconds").quantile(0.75, "nearest").alias("p75"),
            pl.col("seconds").max().alias("most"),
            pl.col("seconds").quantile(0.95, "nearest").alias("p95"),
            pl.col("transfer").sum(),
            pl.col("disk").sum(),
            pl.col("nbytes").sum(),
            *(
                (outcome == word).sum().alias(word)
                for word in ("erred", "retried", "killed")
            ),
        )
        .sort("compute", "prefix", descending=[True, False])
        .select(PrefixRow._fields)
    )
    return [PrefixRow(*row) for row in table.iter_rows()]
