"""The page that stands in for `report.html` while a run is being recorded."""

from __future__ import annotations

from markupsafe import Markup

from dask_blackbox.attach import RunCard
from dask_blackbox.report.links import kept_links
from dask_blackbox.report.page_templates import asset, policy, template

__all__ = ["placeholder_html"]


def placeholder_html(card: RunCard) -> str:
    """Return the page that stands in for the report while the run is being recorded."""
    page = template("placeholder.html")
    style = asset("report.css")
    return page.render(
        card=card,
        links=kept_links(card.links),
        style=Markup(style),  # noqa: S704
        policy=policy("", style),
    )
