"""The card as a piece of HTML, for notebooks and other people's pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dask_blackbox import formatting
from dask_blackbox.card import RunCard
from dask_blackbox.report import card_words as words
from dask_blackbox.report.card_words import prose

_COLOURS = {"succeeded": "#2e7d32", "running": "#00838f", "lost": "#8e24aa"}
_FAILED = "#c62828"


def html_card(card: RunCard) -> str:
    """Return the card as HTML that can stand inside a page: no script, no `<style>`."""
    return (
        _environment()
        .get_template("card.html")
        .render(
            card=card,
            colour=_COLOURS.get(card.state, _FAILED),
            numbers=words.numbers(card.numbers),
            retry=words.retry_words(card.verdict) if card.verdict else "",
            links=[
                (name, url)
                for name, url in words.in_order(card.links)
                if url.startswith(("https://", "http://", "file://"))
            ],
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        clock=formatting.clock, plain=formatting.plain, prose=prose
    )
    environment.globals.update(signs=words.STATE_SIGN, sure=words.CONFIDENCE)
    return environment
