"""`report.html`: one self-contained page, verdict first, then what happened.

Everything a reader needs stands in the HTML itself; script only draws the time axis,
sorts and filters.  The content security policy lets exactly our own script and style
run, by their digests, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dask_blackbox.attach import RunCard
from dask_blackbox.report import past_words, words
from dask_blackbox.report.axis import Axis, axis_of
from dask_blackbox.report.completeness import certificate_of
from dask_blackbox.report.curves import curves_of
from dask_blackbox.report.environment import environment_of
from dask_blackbox.report.executions import executions_of
from dask_blackbox.report.failures import failure_groups
from dask_blackbox.report.lives import Life, lives_of
from dask_blackbox.report.loglines import loglines_of
from dask_blackbox.report.marks import marks_of
from dask_blackbox.report.prefixes import prefix_rows
from dask_blackbox.report.prose import prose
from dask_blackbox.report.sparkline import sparkline
from dask_blackbox.report.timeline import timeline_of
from dask_blackbox.run import RunTables

__all__ = ["html", "placeholder_html"]

_TEMPLATES = Path(__file__).with_name("templates")
_SCRIPTS = ("axis.js", "lanes.js", "curves.js", "tables.js", "page.js")
_MOST_ROWS = 300
_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}


def html(run: RunTables, card: RunCard, *, logs_limit: int = 2000) -> str:
    """Return the report of a run.

    Args:
        run: What was recorded; may be empty or incomplete.
        card: What was concluded.
        logs_limit: How many log lines the page may hold; it says which it holds.
    """
    axis = axis_of(run)
    lives = lives_of(run)
    executions = executions_of(run, lives)
    drawn = {
        "start": axis.start,
        "length": axis.length,
        "timeline": timeline_of(executions, axis, lives),
        "curves": curves_of(run, axis, lives),
        "marks": marks_of(run, axis, lives),
        "lives": [_drawn_life(life, axis) for life in lives],
    }
    dead = [life for life in lives if life.fate == "died"]
    dead.sort(key=lambda life: life.left or 0.0)
    alive = [life for life in lives if life.fate != "died"]
    page = _environment().get_template("report.html")
    script = _script()
    return page.render(
        card=card,
        run=run,
        axis=axis,
        drawn=drawn,
        data=_embedded(drawn),
        lives=[*dead, *alive][: max(_MOST_ROWS, len(dead))],
        lives_total=len(lives),
        labels={life.address: life.label for life in lives},
        dead=dead,
        logs=loglines_of(run, lives, limit=logs_limit),
        prefixes=prefix_rows(executions),
        spans=run.spans.rows(named=True),
        failures=failure_groups(run),
        graphs=run.details("graph-updated"),
        environment=environment_of(run),
        certificate=certificate_of(run, card),
        script=Markup(script),  # noqa: S704 - our own file
        style=Markup(_asset("report.css")),  # noqa: S704
        policy=_policy(script, _asset("report.css")),
        most=_MOST_ROWS,
    )


def placeholder_html(card: RunCard) -> str:
    """Return the page that stands in for the report while the run is being recorded."""
    page = _environment().get_template("placeholder.html")
    style = _asset("report.css")
    return page.render(
        card=card,
        style=Markup(style),  # noqa: S704
        policy=_policy("", style),
    )


def _drawn_life(life: Life, axis: Axis) -> dict[str, Any]:
    return {
        "address": life.address,
        "label": life.label,
        "joined": None
        if life.joined is None
        else round((life.joined - axis.start) * 1e3),
        "left": None if life.left is None else round((life.left - axis.start) * 1e3),
        "fate": life.fate,
    }


def _embedded(value: object) -> Markup:
    """Return a value as JSON that no content can lead out of its `<script>` element."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704


def _policy(script: str, style: str) -> str:
    allowed = f"'{_digest(script)}'" if script else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(
        past=past_words, words=words, sparkline=sparkline, levels=_LEVELS
    )
    environment.filters.update(
        clock=words.clock,
        count=words.count,
        duration=words.duration,
        level=_level,
        moment=words.moment,
        plain=words.plain,
        prose=prose,
        size=words.size,
        web=_web,
    )
    return environment


@cache
def _script() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


def _level(level: int) -> str:
    """Return the name of the level that a numeric one reaches."""
    return _LEVELS.get(max(10, min(50, level // 10 * 10)), "info")


def _web(address: str) -> bool:
    """Say whether a browser may open this from the page."""
    return address.startswith(("https://", "http://"))
