"""The profiles of two runs as one flame graph: where the second was more, or less."""

from __future__ import annotations

from typing import NamedTuple

from dask_blackbox.errors import BlackboxError
from dask_blackbox.formatting import plain
from dask_blackbox.reader import find_run
from dask_blackbox.report.profile_tree import INTERVAL, ProfileNode, merged_profile
from dask_blackbox.store import Store

_WIDTH, _ROW, _NARROWEST, _DEEPEST = 1000.0, 20, 2.0, 40
_LETTER = 6.4
_STRONGEST = 0.1


class Box(NamedTuple):
    """A frame: its place in pixels, how much it grew (red) or shrank (blue), its texts."""

    x: float
    y: int
    width: float
    grew: bool
    strength: float
    label: str
    text: str


class ComparedFlames(NamedTuple):
    """The graph of the second run, in pixels."""

    boxes: list[Box]
    height: int


def compared_flames(store: Store, before: str, after: str) -> ComparedFlames | None:
    """Return the flame graph of the second run, coloured by its difference to the first.

    None where one of the two has no recording any more, or no profile.
    """
    try:
        trees = [merged_profile(find_run(store, name)) for name in (before, after)]
    except BlackboxError:
        return None
    old, new = trees
    if old is None or new is None:
        return None
    scale = new["count"] / max(1, old["count"])
    boxes: list[Box] = []
    below: list[tuple[ProfileNode, ProfileNode | None, float, float, int]] = [
        (new, old, 0.0, _WIDTH, -1)
    ]
    while below:
        node, other, left, width, depth = below.pop()
        if depth >= 0:
            boxes.append(_box(node, other, (left, width, depth), (new["count"], scale)))
        counterparts = _by_name(other)
        x = left
        for child in sorted(node["children"].values(), key=lambda each: -each["count"]):
            wide = width * child["count"] / node["count"] if node["count"] else 0.0
            if wide >= _NARROWEST and depth < _DEEPEST:
                below.append(
                    (child, counterparts.get(_name(child)), x, wide, depth + 1)
                )
            x += wide
    height = max((box.y for box in boxes), default=0) + _ROW
    return ComparedFlames(boxes, height)


def _name(node: ProfileNode) -> tuple[str, str]:
    description = node["description"]
    # Lines and folders move from one release to the next; names seldom do.
    return str(description.get("name")), str(description.get("filename")).rpartition(
        "/"
    )[2]


def _by_name(node: ProfileNode | None) -> dict[tuple[str, str], ProfileNode]:
    return (
        {}
        if node is None
        else {_name(child): child for child in node["children"].values()}
    )


def _box(
    node: ProfileNode,
    other: ProfileNode | None,
    place: tuple[float, float, int],
    whole: tuple[int, float],
) -> Box:
    left, width, depth = place
    total, scale = whole
    count = 0 if other is None else other["count"]
    share, was = node["count"] / total, count * scale / total
    name, file = _name(node)
    label = plain(name)
    fitting = int((width - 6) / _LETTER)
    return Box(
        x=round(left, 1),
        y=depth * _ROW,
        width=round(max(0.5, width - 0.8), 1),
        grew=share >= was,
        strength=round(min(1.0, abs(share - was) / _STRONGEST), 2),
        label=label if len(label) <= fitting else label[: max(0, fitting - 1)],
        text=(
            f"{label} ({plain(file)}): {share:.1%} of the samples, before {was:.1%}; "
            f"{node['count'] * INTERVAL:.1f} s, before {count * INTERVAL:.1f} s"
        ),
    )
