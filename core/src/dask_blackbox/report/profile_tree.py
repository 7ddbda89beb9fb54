"""The statistical profile: recorded trees merged into one, and laid out as a flame graph.

For the page, each frame has how often it was seen, by time: the page adds up the periods
that it shows, can search, turn round and leave out what is not the user's own code.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict, cast

import msgspec
import numpy as np

from dask_blackbox.analyse.frames import Frame, is_the_users
from dask_blackbox.events import Profile
from dask_blackbox.formatting import plain
from dask_blackbox.report.axis import Axis
from dask_blackbox.report.packing import packed, packed_texts
from dask_blackbox.run_tables import RunTables

INTERVAL = 0.01
"""Seconds between two samples, Dask's default."""

_MOST_DRAWN = 4_000
_SMALLEST = 20_000  # a frame of less than one of so many samples is not drawn
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


class Place(NamedTuple):
    """Where a frame is, in texts that do no harm in a terminal or a page; empty: unknown."""

    name: str
    filename: str
    line_number: int
    line: str


def place_of(description: FrameDescription) -> Place:
    """Return where a frame of the profile is."""
    return Place(
        name=plain(str(description.get("name") or "")),
        filename=plain(str(description.get("filename") or "")),
        line_number=int(description.get("line_number") or 0),
        line=plain(str(description.get("line") or "")).strip(),
    )


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
        if (profile.threads, profile.prefix) != (of, prefix):
            continue
        tree = cast("ProfileNode", profile.tree)
        if not tree.get("count"):
            continue
        if merged is None:
            merged = _node(tree)
        _add(merged, tree)
    return _with_leaves(merged) if merged is not None and of == "compute" else merged


def _with_leaves(tree: ProfileNode) -> ProfileNode:
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


def drawable(tree: ProfileNode) -> tuple[ProfileNode, int]:
    """Return what of a profile Dask can draw, and how many frames that leaves out.

    These are too small or too deep.  What is left has every field that Dask reads.
    """
    root, left_out = _drawn(tree), 0
    level, number = [(tree, root)], 1
    for _ in range(_DEEPEST):
        below = [
            (name, child, drawn)
            for node, drawn in level
            for name, child in node["children"].items()
        ]
        below.sort(key=lambda each: -each[1]["count"])
        level = []
        for name, child, above in below:
            if number >= _MOST_DRAWN or child["count"] * _SMALLEST < tree["count"]:
                left_out += 1
                continue
            above["children"][name] = drawn = _drawn(child)
            level.append((child, drawn))
            number += 1
    return root, left_out + sum(len(node["children"]) for node, _ in level)


def _drawn(node: ProfileNode) -> ProfileNode:
    where = cast("FrameDescription", place_of(node["description"])._asdict())
    return {"count": node["count"], "description": where, "children": {}}


_MOST_NODES = 6_000
_MOST_SLICES = 60
_DEEPEST_DRAWN = 120


class _Slice(msgspec.Struct, array_like=True):
    """A period, of whose tasks it is, and how many nodes have a count in it."""

    begin: int
    end: int
    prefix: str
    nodes: int


class Flames(msgspec.Struct):
    """The tree by column; counts are those of frames at the top of a stack.

    Attributes:
        interval: Seconds between two samples.
        number: How many nodes; each comes after the one above it.
        parents: Number of the node above plus one; 0: none.
        frames: Number of its frame.
        texts: Of each frame `name`, `file:line`, the line, and `1` if it is the user's own.
        slices: Periods.
        at: Numbers of the nodes with counts in each period, as steps.
        counts: These counts.
        pairs: How many of these there are.
        left_out: How many nodes were too small.
    """

    interval: float
    number: int
    parents: str
    frames: str
    texts: str
    slices: list[_Slice]
    at: str
    counts: str
    pairs: int
    left_out: int


class _Tree:
    """Frames that are worth showing, found in the sum of all periods."""

    def __init__(self, whole: ProfileNode) -> None:
        self.parents: list[int] = []
        self.frames: list[int] = []
        self.texts: list[str] = []
        self.left_out = 0
        self._known: dict[tuple[int, str], int] = {}
        self._frames: dict[tuple[str, str, str], int] = {}
        level = [(name, child, 0) for name, child in whole["children"].items()]
        for _ in range(_DEEPEST_DRAWN):
            level.sort(key=lambda each: -each[1]["count"])
            fitting = max(0, _MOST_NODES - len(self.parents))
            self.left_out += len(level[fitting:])
            below = []
            for name, node, parent in level[:fitting]:
                number = self._add(name, node, parent)
                below += [(n, child, number) for n, child in node["children"].items()]
            level = below
        self.left_out += len(level)

    def _add(self, name: str, node: ProfileNode, parent: int) -> int:
        where = place_of(node["description"])
        file = where.filename
        place = f"{file}:{where.line_number}" if file else ""
        frame = (where.name or "?", place, where.line[:160])
        if frame not in self._frames:
            self._frames[frame] = len(self._frames)
            own = (
                bool(file)
                and file != "<string>"
                and is_the_users(
                    Frame(file=file, line=where.line_number, function=where.name)
                )
            )
            self.texts += [*frame, "1" if own else ""]
        self.parents.append(parent)
        self.frames.append(self._frames[frame])
        number = len(self.parents)
        self._known[parent, name] = number
        return number

    def counts(self, tree: ProfileNode) -> dict[int, int]:
        """Return how often each node was at the top; of small ones, the one above them."""
        found: dict[int, int] = {}
        below = [(tree, 0)]
        while below:
            node, number = below.pop()
            own = int(node.get("count") or 0)
            for name, child in (node.get("children") or {}).items():
                own -= int(child.get("count") or 0)
                below.append((child, self._known.get((number, name), number)))
            if own > 0 and number:
                found[number] = found.get(number, 0) + own
        return found


def flames_for_page(run: RunTables, axis: Axis) -> Flames | None:
    """Return the profile of the run's tasks, or None where there is none."""
    whole = merged_profile(run)
    if whole is None:
        return None
    tree = _Tree(whole)
    slices: list[_Slice] = []
    at: list[int] = []
    counts: list[int] = []
    for (begin, end, prefix), summed in _periods(run, axis, tree).items():
        numbers = sorted(summed)
        slices.append(_Slice(begin, end, prefix, len(numbers)))
        at += np.diff(np.array(numbers, dtype=np.int64), prepend=0).tolist()
        counts += [summed[number] for number in numbers]
    return Flames(
        interval=INTERVAL,
        number=len(tree.parents),
        parents=packed(np.array(tree.parents, dtype=np.int64)),
        frames=packed(np.array(tree.frames, dtype=np.int64)),
        texts=packed_texts(tree.texts),
        slices=slices,
        at=packed(np.array(at, dtype=np.int64)),
        counts=packed(np.array(counts, dtype=np.int64)),
        pairs=len(at),
        left_out=tree.left_out,
    )


def _periods(
    run: RunTables, axis: Axis, tree: _Tree
) -> dict[tuple[int, int, str], dict[int, int]]:
    """Return counts by period and prefix; many periods are merged."""
    length = max(1, round(axis.length * 1000))
    step = max(1, -(-length // _MOST_SLICES))
    periods: dict[tuple[int, int, str], dict[int, int]] = {}
    spans: dict[tuple[int, str], tuple[int, int]] = {}
    profiles = [profile for profile in run.of(Profile) if profile.threads == "compute"]
    sums: dict[tuple[int, str], dict[int, int]] = {}
    for profile in profiles:
        begin = round(((profile.start or axis.start) - axis.start) * 1000)
        end = round(((profile.stop or profile.at or axis.stop) - axis.start) * 1000)
        key = ((begin + end) // 2 // step, plain(profile.prefix))
        first, last = spans.get(key, (begin, end))
        spans[key] = (min(first, begin), max(last, end))
        own = sums.setdefault(key, {})
        for number, count in tree.counts(
            _with_leaves(cast("ProfileNode", profile.tree))
        ).items():
            own[number] = own.get(number, 0) + count
    for key, summed in sums.items():
        periods[(*spans[key], key[1])] = summed
    return periods
