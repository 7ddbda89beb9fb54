"""What the forms of the viewer send: words, empty where nothing was chosen."""

from __future__ import annotations

from pydantic import BaseModel, Field

from dask_blackbox.report.log_search import LogQuery
from dask_blackbox.report.moments import moment_of
from dask_blackbox.serve.searching import Search

__all__ = ["LogForm", "LogsForm", "SearchForm"]


class LogForm(BaseModel):
    """The form above the logs of a run."""

    worker: str = ""
    level: str = ""
    since: str = ""
    until: str = ""
    filter: str = ""
    role: str = ""
    task: str = ""

    def asked(self) -> LogQuery:
        """Return the query that the form stands for."""
        said = {name: word.strip() or None for name, word in self.model_dump().items()}
        return LogQuery(pattern=said.pop("filter"), **said)


class LogsForm(BaseModel):
    """The form above the logs of all runs."""

    job: str = ""
    level: str = ""
    filter: str = ""
    role: str = ""

    def asked(self) -> LogQuery:
        """Return the query that the form stands for."""
        said = {name: word.strip() or None for name, word in self.model_dump().items()}
        return LogQuery(pattern=said["filter"], level=said["level"], role=said["role"])


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
