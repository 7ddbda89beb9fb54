"""Filling in the templates: everything that was recorded or typed is escaped, always."""

from __future__ import annotations

import jinja2
from dask_blackbox import formatting
from dask_blackbox.report import wording
from fastapi.responses import HTMLResponse

from airflow_dask_blackbox.addresses import PREFIX, base_path

__all__ = ["answer"]

_SIGN = {
    "running": "●",
    "succeeded": "✓",
    "failed": "✕",
    "aborted": "⊘",
    "lost": "?",
    "none": "\N{MIDDLE DOT}",
    "unread": "?",
    "stopped": "⊘",
    "unknown": "?",
}
_WORD = {"none": "not recorded", "unread": "cannot be read"}
"""For states that are not those of a recording."""

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("airflow_dask_blackbox.tab"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "change": wording.change_text,
    "duration": formatting.duration,
    "moment": formatting.moment,
    "plain": formatting.plain,
    "prose": wording.prose,
    "size": formatting.exact_size,
}
_ENVIRONMENT.globals |= {"SIGN": _SIGN, "WORD": _WORD}


def answer(template: str, *, status: int = 200, **facts: object) -> HTMLResponse:
    """Return a page."""
    page = _ENVIRONMENT.get_template(template)
    root = f"{base_path()}{PREFIX}"
    return HTMLResponse(page.render(root=root, **facts), status_code=status)
