"""Sentences of findings, in which what one could type stands between backticks.

On a page that is code, and the backticks are gone; everything is escaped all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from dask_blackbox.formatting import plain

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, and whether each is code."""
    for place, part in enumerate(_CODE.split(plain(text))):
        if part:
            yield part, place % 2 == 1


def prose(text: str) -> Markup:
    """Return a text as HTML."""
    return Markup().join(
        Markup("<code>{}</code>").format(part) if code else escape(part)
        for part, code in pieces(text)
    )
