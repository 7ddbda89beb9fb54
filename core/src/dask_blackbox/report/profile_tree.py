"""The statistical profile: recorded trees merged into one, and laid out as a flame graph."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, cast

from dask_blackbox.events import Profile
from dask_blackbox.formatting import plain
from dask_blackbox.run_tables import RunTables

INTERVAL = 0.01
"""Seconds between two samples, Dask's default."""

_MOST_FLAMES = 4_000
_DEEPEST = 200


class FrameDescription(TypedDict, total=False):
    """Where a frame of the profile is, as Dask says it."""

    name: str
    filename: str
    line_number: int
    line: str


class ProfileNode(TypedDict):
    """A frame of the profile that Dask keeps, with those that it called.

    Attributes:
        count: Samples in which it was on the stack.
        description: Its `name`, `filename`, `line_number` and `line`.
        children: By identifier.
    """

    count: int
    description: FrameDescription
    children: dict[str, ProfileNode]


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


def merged_profile(
    run: RunTables, *, of: str = "compute", prefix: str = ""
) -> ProfileNode | None:
    """Return the sum of the recorded profile trees of a kind, or None without any.

    Args:
        of: Whose threads: `compute`, `workers` or `scheduler` (their event loops).
        prefix: Of tasks of this prefix only.
    """
    merged: ProfileNode | None = None
    for profile in run.of(Profile):
        if (profile.of, profile.prefix) != (of, prefix):
            continue
        tree = cast("ProfileNode", profile.tree)
        if not tree.get("count"):
            continue
        if merged is None:
            merged = _node(tree)
        _add(merged, tree)
    return with_leaves(merged) if merged is not None and of == "compute" else merged


def with_leaves(tree: ProfileNode) -> ProfileNode:
    """Return a profile of tasks in which innermost frames are counted, too.

    Dask counts a sample for each frame of its stack but the innermost one, so that a
    function which calls nothing has 0 samples.  What a frame has beyond those that it
    calls belongs to them.
    """
    root: ProfileNode = {**tree, "children": {}}
    pairs = [(tree, root)]
    while pairs:
        source, target = pairs.pop()
        children = source.get("children") or {}
        rest = _count(source) - sum(map(_count, children.values()))
        leaves = [name for name, child in children.items() if not _count(child)]
        for name, child in children.items():
            made: ProfileNode = {**child, "children": {}}
            if name in leaves and rest > 0:
                place = leaves.index(name)
                made["count"] = rest // len(leaves) + (place < rest % len(leaves))
            target["children"][name] = made
            pairs.append((child, made))
    return root


def profiled_prefixes(run: RunTables) -> list[str]:
    """Return the prefixes that have profiles of their own, by name."""
    return sorted({profile.prefix for profile in run.of(Profile)} - {""})


def _count(node: ProfileNode) -> int:
    return int(node.get("count") or 0)


def _node(tree: ProfileNode) -> ProfileNode:
    return {"count": 0, "description": tree.get("description") or {}, "children": {}}


def _add(into: ProfileNode, tree: ProfileNode) -> None:
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
    return max((each.left_out_below or 1 for each in run.of(Profile)), default=1)


def flames_of(tree: ProfileNode) -> tuple[list[Flame], int]:
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


def _flame(node: ProfileNode, left: float, width: float, depth: int) -> Flame:
    reported = node["description"]
    return Flame(
        left=left,
        right=left + width,
        depth=depth,
        seconds=node["count"] * INTERVAL,
        name=plain(str(reported.get("name") or ("all threads" if depth == 0 else "?"))),
        filename=plain(str(reported.get("filename") or "")),
        line_number=int(reported.get("line_number") or 0),
        line=plain(str(reported.get("line") or "")).strip()[:200],
    )
