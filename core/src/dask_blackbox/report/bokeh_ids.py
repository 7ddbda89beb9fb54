"""Bokeh's ids as if its page were the first in the world: the same run, the same bytes.

Bokeh counts its models through the life of a process, and gives a document, its root and
its element random names.
"""

from __future__ import annotations

import re

__all__ = ["with_same_ids"]

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Only where Bokeh puts them: what users have recorded stands in JSON, quotes escaped.
_RANDOM = re.compile(
    rf'(?:"docid":"|"roots":\{{"p\d+":"|<script type="application/json" id=")({_UUID})"'
)
_COUNTED = re.compile(
    r'("id":"p|"root_ids":\["p|"roots":\{"p|data-root-id="p)(\d+)(?=")'
)
_FIRST = 1001


def with_same_ids(page: str) -> str:
    """Return a page of Bokeh with ids that depend on nothing but the page."""
    for number, name in enumerate(dict.fromkeys(_RANDOM.findall(page))):
        page = page.replace(name, f"00000000-0000-4000-8000-{number:012x}")
    counted = [int(number) for _, number in _COUNTED.findall(page)]
    less = min(counted, default=_FIRST) - _FIRST
    return _COUNTED.sub(lambda found: f"{found[1]}{int(found[2]) - less}", page)
