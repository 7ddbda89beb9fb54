"""Links in a page that is kept: to its neighbours by name, and never with a signature."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from dask_blackbox.report.card_words import in_order

_NEIGHBOURS = {
    "report": "report.html",
    "performance_report": "performance_report.html",
    "card": "card.json",
}


def kept_links(links: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """Return names and addresses of what to look at further, and whether each can be opened.

    A signed address lets everybody in who reads the page, and expires; the pages of a
    recording lie side by side wherever it is copied to.
    """
    found = []
    for name, address in in_order(links):
        neighbour = _NEIGHBOURS.get(name.replace(" ", "_"))
        if neighbour is not None:
            found.append((name, neighbour, True))
        else:
            web = address.startswith(("https://", "http://"))
            found.append((name, _unsigned(address) if web else address, web))
    return found


def _unsigned(address: str) -> str:
    parts = urlsplit(address)
    if "signature" not in parts.query.lower() and "@" not in parts.netloc:
        return address
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
