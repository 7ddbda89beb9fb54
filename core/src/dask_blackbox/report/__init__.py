"""Findings and tables for people: text, Markdown and two self-contained HTML pages.

Rendering arranges what analysis found; it decides nothing.  `text` and `markdown` need
no tables, so hosts can import them without polars and Bokeh.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Names for type checkers only; at run time each loads with its own libraries.
    from dask_blackbox.report.html_page import html, placeholder_html
    from dask_blackbox.report.markdown_card import markdown
    from dask_blackbox.report.performance import performance_html
    from dask_blackbox.report.text_card import text

__all__ = ["html", "markdown", "performance_html", "placeholder_html", "text"]

_HOMES = {
    "html": "html_page",
    "markdown": "markdown_card",
    "performance_html": "performance",
    "placeholder_html": "html_page",
    "text": "text_card",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
