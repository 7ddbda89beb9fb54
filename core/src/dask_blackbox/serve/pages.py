"""The HTML pages: the list of runs, a run's card, its logs and its files."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import RunAddress
from dask_blackbox.report import words
from dask_blackbox.report.log_search import LogQuery, chosen_lines
from dask_blackbox.serve.cards import Cards
from dask_blackbox.serve.listing import CHOICES, page_of_runs
from dask_blackbox.serve.templating import Templates
from dask_blackbox.store import Store

__all__ = ["Pages"]

_RUNS_ON_A_PAGE = 50
_MOST_LINES = 1000
_OURS = {"report", "performance_report", "recording", "logs", "card"}


class LogForm(BaseModel):
    """What the form above the logs sends: words, empty where nothing was chosen."""

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
            (run, self.card),
            (f"{run}/logs", self.logs),
            (f"{run}/files", self.files),
        ):
            routes.add_api_route(path, page)
        return routes

    def list(
        self, request: Request, job: str = "", state: str = "", after: str = ""
    ) -> HTMLResponse:
        """Show the newest runs."""
        job = job.strip()
        page = page_of_runs(
            self._store,
            job=job or None,
            states=CHOICES.get(state),
            after=after,
            size=_RUNS_ON_A_PAGE,
        )
        query = {"job": job, "state": state, "after": page.older or ""}
        return self._answer(
            request,
            "runs.html",
            page=page,
            store_url=self._store.url,
            job=job,
            state=state,
            states=[*CHOICES],
            after=after,
            older=page.older and urlencode({k: v for k, v in query.items() if v}),
        )

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
