"""The statistical profile: recorded trees merged into one, and laid out as a flame graph."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import polars as pl

from dask_blackbox.report.words import plain
from dask_blackbox.run import RunTables

__all__ = ["Flame", "flames_of", "merged_profile", "seen_at_least"]

_INTERVAL = 0.01
"""Seconds between two samples, Dask's default."""

_MOST_FLAMES = 4_000
_DEEPEST = 200


class Flame(NamedTuple):
    """One frame of the graph: its place (0 to 1, depth), its time, and where it stands."""

    left: float
    right: float
    depth: int
    seconds: float
    name: str
    filename: str
    line_number: int
    line: str


def merged_profile(run: RunTables) -> dict[str, Any] | None:
    """Return the sum of all recorded profile trees, or None where there is none."""
    merged: dict[str, Any] | None = None
    for (detail,) in (
        run.events.filter(pl.col("kind") == "profile").select("detail").iter_rows()
    ):
        told = json.loads(detail or "{}")
        tree = told.get("tree", told)
        if not isinstance(tree, dict) or not tree.get("count"):
            continue
        if merged is None:
            merged = _node(tree)
        _add(merged, tree)
    return merged


def _node(tree: dict[str, Any]) -> dict[str, Any]:
    return {"count": 0, "description": tree.get("description") or {}, "children": {}}


def _add(into: dict[str, Any], tree: dict[str, Any]) -> None:
    """Add a tree to another; iterative, for stacks may be as deep as users' code."""
    pairs = [(into, tree)]
    while pairs:
        target, source = pairs.pop()
        target["count"] += int(source.get("count") or 0)
        for name, child in (source.get("children") or {}).items():
            own = target["children"].get(name)
            if own is None:
                own = target["children"][name] = _node(child)
            pairs.append((own, child))


def seen_at_least(run: RunTables) -> int:
    """Return how often a frame was seen at least that the recording has."""
    kept = run.events.filter(pl.col("kind") == "profile")["detail"].to_list()
    return max(
        (json.loads(told or "{}").get("left_out_below", 1) for told in kept), default=1
    )


def flames_of(tree: dict[str, Any]) -> tuple[list[Flame], int]:
    """Return the frames to draw, widest first per level, and how many were too small."""
    total = max(1, tree["count"])
    flames: list[Flame] = []
    unseen = 0
    level = [(tree, 0.0)]
    depth = 0
    while level and depth <= _DEEPEST:
        following = []
        for node, left in level:
            width = node["count"] / total
            if len(flames) >= _MOST_FLAMES or width < 1 / 20_000:
                unseen += 1
                continue
            flames.append(_flame(node, left, width, depth))
            at = left
            for child in sorted(node["children"].values(), key=lambda c: -c["count"]):
                following.append((child, at))
                at += child["count"] / total
        level, depth = following, depth + 1
    return flames, unseen + len(level)


def _flame(node: dict[str, Any], left: float, width: float, depth: int) -> Flame:
    told = node["description"]
    return Flame(
        left=left,
        right=left + width,
        depth=depth,
        seconds=node["count"] * _INTERVAL,
        name=plain(str(told.get("name") or ("all threads" if depth == 0 else "?"))),
        filename=plain(str(told.get("filename") or "")),
        line_number=int(told.get("line_number") or 0),
        line=plain(str(told.get("line") or "")).strip()[:200],
    )
