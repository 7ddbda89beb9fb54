"""Filling in the templates: everything that was recorded is escaped, always."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import PackageLoader
from pydantic import BaseModel, Field

from dask_blackbox.formatting import moment_of, utc
from dask_blackbox.layout import RunAddress
from dask_blackbox.report.log_lines import LogQuery, level_name
from dask_blackbox.report.page_templates import environment_for
from dask_blackbox.serve.run_list import Search


class Templates:
    """The templates of the viewer's pages."""

    def __init__(self) -> None:
        self._environment = environment_for(PackageLoader("dask_blackbox.serve"))
        self._environment.filters.update(
            iso=lambda at: utc(at).isoformat(),
            level=level_name,
        )

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
        **facts: object,
    ) -> HTMLResponse:
        """Return a page."""
        page = self._environment.get_template(template)
        return HTMLResponse(
            page.render(root=self.root(request), status=status, **facts),
            status_code=status,
        )


RUN_PATH = "/runs/{job}/{run}/{attempt}"


def _address(job: str, run: str, attempt: int) -> RunAddress:
    return RunAddress.of(job, run, attempt)


Address = Annotated[RunAddress, Depends(_address)]
"""The recording that `RUN_PATH` names, as a parameter of what answers a request."""


class _LineForm(BaseModel):
    level: str = ""
    filter: str = ""
    role: str = ""

    def asked(self) -> LogQuery:
        """Return the query of lines that the form stands for."""
        words = self.model_dump(exclude={"job"})
        values = {name: word.strip() or None for name, word in words.items()}
        return LogQuery(pattern=values.pop("filter"), **values)


class LogForm(_LineForm):
    """The form above the logs of a run."""

    worker: str = ""
    since: str = ""
    until: str = ""
    task: str = ""


class LogsForm(_LineForm):
    """The form above the logs of all runs."""

    job: str = ""


class SearchForm(BaseModel):
    """The form above the list of runs."""

    job: str = ""
    state: str = ""
    verdict: str = ""
    text: str = ""
    since: str = ""
    until: str = ""
    after: str = ""
    limit: int = Field(50, ge=1, le=500)

    @property
    def by_sketch(self) -> bool:
        """Whether the index alone cannot answer."""
        return any(
            (self.verdict, self.text.strip(), self.since.strip(), self.until.strip())
        )

    def asked(self) -> Search:
        """Return the search that the form stands for.

        Raises:
            ConfigurationError: if one of the moments is none.
        """
        return Search(
            job=self.job.strip(),
            state=self.state,
            verdict=self.verdict,
            text=self.text,
            since=moment_of(self.since, "since") if self.since.strip() else None,
            until=moment_of(self.until, "until") if self.until.strip() else None,
        )
