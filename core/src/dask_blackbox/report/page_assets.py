"""Files of the report's pages, and what a browser may do with a page.

Apart from the templates: a recorder needs these as it starts, and Jinja not before the end.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")


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
