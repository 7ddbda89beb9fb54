"""Findings and tables for people: text, Markdown and two self-contained HTML pages.

Rendering arranges what analysis found; it decides nothing.  `text` and `markdown` need
no tables, so hosts can import them without polars and Bokeh.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Names for type checkers only; at run time each loads with its own libraries.
    from dask_blackbox.report.html_page import (
        html,
        is_on_demand,
        on_demand_html,
    )
    from dask_blackbox.report.markdown_card import (
        escaped,
        inline,
        markdown,
        markdown_parts,
    )
    from dask_blackbox.report.page_templates import html_card
    from dask_blackbox.report.performance import performance_html
    from dask_blackbox.report.picture import (
        load_image_library,
        overview_of,
        picture_png,
        picture_svg,
    )
    from dask_blackbox.report.placeholder import placeholder_html
    from dask_blackbox.report.text_card import text

__all__ = [
    "escaped",
    "html",
    "html_card",
    "inline",
    "is_on_demand",
    "load_image_library",
    "markdown",
    "markdown_parts",
    "on_demand_html",
    "overview_of",
    "performance_html",
    "picture_png",
    "picture_svg",
    "placeholder_html",
    "text",
]

_HOMES = {
    "escaped": "markdown_card",
    "html": "html_page",
    "html_card": "page_templates",
    "inline": "markdown_card",
    "is_on_demand": "html_page",
    "load_image_library": "picture",
    "markdown": "markdown_card",
    "markdown_parts": "markdown_card",
    "on_demand_html": "html_page",
    "overview_of": "picture",
    "performance_html": "performance",
    "picture_png": "picture",
    "picture_svg": "picture",
    "placeholder_html": "placeholder",
    "text": "text_card",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
