"""Templates of the report's pages."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from dask_blackbox.report import formatting as words
from dask_blackbox.report import history_sentences as past_words
from dask_blackbox.report.compiled_templates import CompiledTemplates
from dask_blackbox.report.inline_code import prose
from dask_blackbox.report.page_assets import TEMPLATES
from dask_blackbox.report.sparkline import sparkline

__all__ = ["template"]

_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}


def template(name: str) -> Template:
    """Return a template of a page."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=CompiledTemplates(),
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
