"""Templates of the report's pages, and of the card as a piece of HTML."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from jinja2 import BaseLoader, Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.bccache import Bucket, BytecodeCache
from markupsafe import Markup

from dask_blackbox import formatting
from dask_blackbox.card_data import CardData
from dask_blackbox.formatting import exact_size
from dask_blackbox.report import wording
from dask_blackbox.report.page_assets import TEMPLATES
from dask_blackbox.report.wording import prose

_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}


_COLOURS = {"succeeded": "#2e7d32", "running": "#00838f", "lost": "#8e24aa"}
_FAILED = "#c62828"


def html_card(card: CardData) -> str:
    """Return the card as HTML that can stand inside a page: no script, no `<style>`."""
    return template("card.html").render(
        card=card,
        colour=_COLOURS.get(card.state, _FAILED),
        links=[
            (name, url)
            for name, url in wording.ordered_links(card.links)
            if url.startswith(("https://", "http://", "file://"))
        ],
    )


def template(name: str) -> Template:
    """Return a template of a page."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(TEMPLATES)
    environment = environment_for(loader, bytecode_cache=CompiledTemplates())
    environment.globals.update(sparkline=sparkline, levels=_LEVELS)
    environment.filters.update(level=_level, web=_web)
    return environment


def environment_for(
    loader: BaseLoader, *, bytecode_cache: BytecodeCache | None = None
) -> Environment:
    """Return what fills in templates: all that was recorded is escaped, always."""
    environment = Environment(
        loader=loader,
        bytecode_cache=bytecode_cache,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(wording=wording, formatting=formatting)
    environment.filters.update(
        clock=formatting.clock,
        count=formatting.count,
        duration=formatting.duration,
        moment=formatting.moment,
        plain=formatting.plain,
        prose=prose,
        size=formatting.exact_size,
    )
    return environment


def _level(level: int) -> str:
    """Return the name of the level that a numeric one reaches."""
    return _LEVELS.get(max(10, min(50, level // 10 * 10)), "info")


def _web(address: str) -> bool:
    """Return whether a browser may open this from the page."""
    return address.startswith(("https://", "http://"))


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
    label = f"memory of its last {end - begin:.0f} s: {exact_size(points[-1][1])} at the end"
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


class CompiledTemplates(BytecodeCache):
    """Keeps compiled templates in a folder.

    Args:
        folder: The folder; made if it can be.
    """

    def __init__(self, folder: Path = TEMPLATES / "__pycache__") -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load what belongs to a template, if it is there, whole and of its source."""
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            bucket.bytecode_from_string(self._path(bucket).read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, if that can be."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        unfinished = path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            try:
                unfinished.write_bytes(bucket.bytecode_to_string())
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    def _path(self, bucket: Bucket) -> Path:
        # Compiled templates call Jinja's runtime, which may change with its version.
        tag = f"jinja-{jinja2.__version__}.{sys.implementation.cache_tag}"
        return self._folder / f"{bucket.key}.{tag}.pyc"
