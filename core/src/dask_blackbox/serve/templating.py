"""Filling in the templates: everything that was recorded is escaped, always."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import jinja2
from fastapi import Request
from fastapi.responses import HTMLResponse

from dask_blackbox.report import formatting as words
from dask_blackbox.report.inline_code import prose
from dask_blackbox.report.log_search import level_name

__all__ = ["Templates"]


class Templates:
    """The templates of the viewer's pages."""

    def __init__(self) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.PackageLoader("dask_blackbox.serve"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "plain": words.plain,
            "prose": prose,
            "clock": words.clock,
            "moment": words.moment,
            "iso": lambda at: datetime.fromtimestamp(at, UTC).isoformat(),
            "level": level_name,
            "duration": words.duration,
            "size": words.size,
        }
        self._environment.globals |= {
            "CONFIDENCE": words.CONFIDENCE,
            "retry_words": words.retry_words,
            "change_words": words.change_words,
            "measure": words.measure,
            "SIGN": words.STATE_SIGN,
        }

    @staticmethod
    def root(request: Request) -> str:
        """Return the path that the viewer is mounted at; empty at the top."""
        return str(request.scope.get("root_path", "")).rstrip("/")

    def answer(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        **facts: Any,
    ) -> HTMLResponse:
        """Return a page."""
        page = self._environment.get_template(template)
        return HTMLResponse(
            page.render(root=self.root(request), status=status, **facts),
            status_code=status,
        )
