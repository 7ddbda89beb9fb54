"""Templates of the report's pages, their style, and what a browser may do with them.

Needs no tables: the page that stands in for a report is written as a recording begins.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from dask_blackbox.report import formatting as words
from dask_blackbox.report import history_sentences as past_words
from dask_blackbox.report.inline_code import prose
from dask_blackbox.report.sparkline import sparkline

__all__ = ["TEMPLATES", "asset", "policy", "template"]

TEMPLATES = Path(__file__).with_name("templates")
_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}


def template(name: str) -> Template:
    """Return a template of a page."""
    return _environment().get_template(name)


def policy(script: str, style: str) -> str:
    """Return the content security policy of a page: its own script and style, by digest."""
    allowed = f"'{_digest(script)}'" if script else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def asset(name: str) -> str:
    """Return a file of the templates' folder."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
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


def _level(level: int) -> str:
    """Return the name of the level that a numeric one reaches."""
    return _LEVELS.get(max(10, min(50, level // 10 * 10)), "info")


def _web(address: str) -> bool:
    """Say whether a browser may open this from the page."""
    return address.startswith(("https://", "http://"))
