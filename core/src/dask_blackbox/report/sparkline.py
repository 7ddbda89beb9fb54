"""A dead worker's last half minute of memory, as a small inline picture."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dask_blackbox.report.formatting import size

__all__ = ["sparkline"]

_WIDTH = 260
_HEIGHT = 56
_PAD = 4


def sparkline(points: Sequence[tuple[float, float]], limit: float | None) -> Markup:
    """Return an SVG of (moment, bytes) against a limit; empty without two points."""
    if len(points) < 2:  # noqa: PLR2004
        return Markup()
    begin, end = points[0][0], points[-1][0]
    top = max(limit or 0.0, *(value for _, value in points)) or 1.0
    span = max(end - begin, 1e-9)

    def x(at: float) -> float:
        return round(_PAD + (at - begin) / span * (_WIDTH - 2 * _PAD), 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _PAD - value / top * (_HEIGHT - 2 * _PAD), 1)

    line = " ".join(f"{x(at)},{y(value)}" for at, value in points)
    area = f"{x(begin)},{y(0)} {line} {x(end)},{y(0)}"
    ceiling = (
        Markup('<line class="limit" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>').format(
            a=_PAD, b=_WIDTH - _PAD, y=y(limit)
        )
        if limit
        else Markup()
    )
    label = f"memory of its last {end - begin:.0f} s: {size(points[-1][1])} at the end"
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
        'aria-label="{label}"><title>{label}</title><polygon points="{area}"/>'
        '{ceiling}<polyline points="{line}"/><circle cx="{cx}" cy="{cy}" r="3"/></svg>'
    ).format(
        w=_WIDTH,
        h=_HEIGHT,
        label=label,
        area=area,
        ceiling=ceiling,
        line=line,
        cx=x(end),
        cy=y(points[-1][1]),
    )
