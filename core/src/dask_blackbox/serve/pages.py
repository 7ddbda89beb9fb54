"""The HTML pages: the list of runs, a run's card, its logs and its files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from dask_blackbox.analyse.rules import RULES
from dask_blackbox.commandline import command
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import RunAddress
from dask_blackbox.reader.comparing import compare_runs
from dask_blackbox.reader.job_histories import job_history
from dask_blackbox.report import card_words as words
from dask_blackbox.report.log_search import chosen_lines
from dask_blackbox.serve.cards import Cards
from dask_blackbox.serve.compared_profiles import compared_flames
from dask_blackbox.serve.job_page import changes_between_runs, charts_of
from dask_blackbox.serve.listing import CHOICES, page_of_runs, states_of
from dask_blackbox.serve.log_runs import LogSearch, lines_of_runs
from dask_blackbox.serve.searching import runs_found
from dask_blackbox.serve.templating import LogForm, LogsForm, SearchForm, Templates
from dask_blackbox.store import Store

__all__ = ["Pages"]

_RUNS_ON_A_PAGE = 50
_RUNS_OF_A_JOB = 200
_MOST_LINES = 1000
_VERDICTS = sorted(rule.slug for rule in RULES)
_OURS = {"report", "performance_report", "recording", "logs", "card"}


class Pages:
    """The pages, each a method.

    Args:
        store: Where the runs lie.
        cards: Their cards.
        templates: What the pages are made from.
    """

    def __init__(self, store: Store, cards: Cards, templates: Templates) -> None:
        self._store = store
        self._cards = cards
        self._answer = templates.answer

    def routes(self) -> APIRouter:
        """Return where each page is found."""
        routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
        run = "/runs/{job}/{run}/{attempt}"
        for path, page in (
            ("/", self.list),
            ("/jobs/{job}", self.job),
            ("/compare", self.compare),
            ("/logs", self.all_logs),
            (run, self.card),
            (f"{run}/logs", self.logs),
            (f"{run}/files", self.files),
        ):
            routes.add_api_route(path, page)
        return routes

    def list(
        self, request: Request, query: Annotated[SearchForm, Query()]
    ) -> HTMLResponse:
        """Show the newest runs, or those that are looked for."""
        asked = {
            name: word
            for name, word in query.model_dump(exclude={"limit", "after"}).items()
            if word
        }
        shared: dict[str, Any] = {
            "store_url": self._store.url,
            "command": f"{command('run', store=self._store.url)} -- python job.py",
            "query": query,
            "asked": asked,
            "states": [*CHOICES],
            "verdicts": _VERDICTS,
            "after": query.after,
        }
        if query.by_sketch:
            found = runs_found(self._store, query.asked(), size=_RUNS_ON_A_PAGE)
            older = found.older and asked | {
                "until": datetime.fromtimestamp(found.older, UTC).isoformat()
            }
            return self._answer(
                request,
                "runs.html",
                runs=found.runs,
                looked_at=found.looked_at,
                older=older and urlencode(older),
                **shared,
            )
        page = page_of_runs(
            self._store,
            job=query.job.strip() or None,
            states=states_of(query.state),
            after=query.after,
            size=_RUNS_ON_A_PAGE,
        )
        return self._answer(
            request,
            "runs.html",
            runs=page.runs,
            looked_at=None,
            older=page.older and urlencode(asked | {"after": page.older}),
            **shared,
        )

    def job(self, request: Request, job: str) -> HTMLResponse:
        """Show the runs of a job over time."""
        history = job_history(self._store, job, limit=_RUNS_OF_A_JOB)
        return self._answer(
            request,
            "job.html",
            history=history,
            charts=charts_of(history),
            changed=changes_between_runs(self._store, history),
        )

    def compare(
        self, request: Request, before: str = "", after: str = ""
    ) -> HTMLResponse:
        """Show how two runs differ."""
        comparison = (
            compare_runs(self._store, before, after) if before and after else None
        )
        return self._answer(
            request,
            "compare.html",
            before=before,
            after=after,
            comparison=comparison,
            flames=compared_flames(self._store, before, after) if comparison else None,
        )

    def all_logs(
        self, request: Request, query: Annotated[LogsForm, Query()]
    ) -> HTMLResponse:
        """Search the logs of the newest runs."""
        asked = query.asked()
        found: LogSearch | None = None
        if any((query.filter.strip(), query.level, query.role)):
            found = lines_of_runs(self._store, asked, job=query.job.strip() or None)
        return self._answer(request, "all_logs.html", query=query, found=found)

    def card(self, request: Request, job: str, run: str, attempt: int) -> HTMLResponse:
        """Show the card of a run."""
        address = RunAddress.of(job, run, attempt)
        card = self._cards.card(address)
        return self._answer(
            request,
            "run.html",
            address=address,
            card=card,
            numbers=words.numbers(card.numbers),
            missing=words.what_is_missing(card),
            links=[
                (name, url)
                for name, url in words.in_order(card.links)
                if name.replace(" ", "_") not in _OURS
                and url.startswith(("http://", "https://"))
            ],
        )

    def logs(
        self,
        request: Request,
        job: str,
        run: str,
        attempt: int,
        query: Annotated[LogForm, Query()],
    ) -> HTMLResponse:
        """Search the logs of a run."""
        address = RunAddress.of(job, run, attempt)
        opened = self._cards.run(address)
        try:
            lines, why_none = chosen_lines(opened, query.asked())
        except ConfigurationError as error:
            lines, why_none = opened.logs.clear(), str(error)
        return self._answer(
            request,
            "logs.html",
            address=address,
            manifest=opened.manifest,
            query=query,
            lines=lines.head(_MOST_LINES).to_dicts(),
            found=lines.height,
            why_none=why_none,
            command=command("logs", opened.url or "latest"),
        )

    def files(self, request: Request, job: str, run: str, attempt: int) -> HTMLResponse:
        """List what lies in the store of a run."""
        address = RunAddress.of(job, run, attempt)
        card = self._cards.card(address)  # an empty folder is no run, and says so
        folder = address.folder
        names = [name.removeprefix(folder) for name in self._store.names(folder)]
        return self._answer(
            request, "files.html", address=address, card=card, names=names
        )
