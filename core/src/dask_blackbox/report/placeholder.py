"""The page in place of `report.html` while a run is being recorded.

Without templates: it is written as a recording begins, and Jinja is 7 MB of a recorder's
memory.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from dask_blackbox.card_data import CardData
from dask_blackbox.formatting import plain
from dask_blackbox.report.page_assets import asset, policy
from dask_blackbox.report.wording import STATE_SIGN, kept_links

_PAGE = Markup("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta http-equiv="refresh" content="15">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{state}: {job} · {run}</title>
<style>{style}</style>
</head>
<body>
<main class="narrow">
<header class="masthead {state}">
  <p class="who"><span class="state">{sign} {state}</span> <b>{job}</b> <span>{run}</span> \
<span>attempt {attempt}</span></p>
  <h1>{headline}</h1>
</header>
<p class="lead">This run is being recorded. The report replaces this page when the run \
ends; the page refreshes every 15 seconds.</p>
{links}
</main>
</body>
</html>
""")
_LINK = Markup(
    '<a href="{address}" target="_blank" rel="noopener noreferrer">{address}</a>'
)
_ITSELF = ("report", "performance report")


def placeholder_html(card: CardData) -> str:
    """Return the page in place of the report while the run is being recorded."""
    style = asset("report.css")
    return _PAGE.format(
        policy=policy("", style),
        style=Markup(style),  # noqa: S704 - ours
        state=card.state,
        sign=STATE_SIGN[card.state],
        job=plain(card.job),
        run=plain(card.run_id),
        attempt=card.attempt,
        headline=plain(card.headline),
        links=_links(card),
    )


def _links(card: CardData) -> Markup:
    items = Markup()
    for name, address, opens in kept_links(card.links):
        if name not in _ITSELF:
            link = _LINK if opens else Markup("<code>{address}</code>")
            items += Markup("<li>{}: {}</li>").format(
                name, link.format(address=address)
            )
    return (
        Markup('<ul class="links">{}</ul>').format(items) if card.links else escape("")
    )
