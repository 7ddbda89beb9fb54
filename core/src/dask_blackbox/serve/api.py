"""The small API: runs and cards as JSON."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from dask_blackbox.layout import RunAddress
from dask_blackbox.report import words
from dask_blackbox.serve.cards import Cards
from dask_blackbox.serve.listing import CHOICES, page_of_runs
from dask_blackbox.store import Store

__all__ = ["Api"]

_MOST_JOBS = 1000


class Api:
    """The answers, each a method.

    Args:
        store: Where the runs lie.
        cards: Their cards.
    """

    def __init__(self, store: Store, cards: Cards) -> None:
        self._store = store
        self._cards = cards

    def routes(self) -> APIRouter:
        """Return where each is found."""
        routes = APIRouter(prefix="/api")
        run = "/runs/{job}/{run}/{attempt}"
        routes.add_api_route("/runs", self.runs)
        routes.add_api_route("/jobs", self.jobs)
        routes.add_api_route(f"{run}/card", self.card)
        routes.add_api_route(f"{run}/summary", self.summary)
        return routes

    def runs(
        self,
        job: str = "",
        state: str = "",
        after: str = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> dict[str, Any]:
        """Return the newest runs; `older` is the `after` of the next page."""
        page = page_of_runs(
            self._store,
            job=job or None,
            states=CHOICES.get(state, {state}) if state else None,
            after=after,
            size=limit,
        )
        runs = [
            {
                "job": run.address.job,
                "run": run.address.run,
                "attempt": run.address.attempt,
                "state": run.state,
                "started": run.started,
            }
            for run in page.runs
        ]
        return {"runs": runs, "older": page.older}

    def jobs(self) -> dict[str, Any]:
        """Return the jobs that have runs (safe forms), the first thousand."""
        names = islice(self._store.folders("index/jobs/"), _MOST_JOBS)
        return {"jobs": list(names)}

    def card(self, job: str, run: str, attempt: int) -> Response:
        """Return a card (docs/card.md)."""
        card = self._cards.card(RunAddress.of(job, run, attempt))
        return Response(card.to_json(), media_type="application/json")

    def summary(self, job: str, run: str, attempt: int) -> dict[str, Any]:
        """Return what a line of the list shows of a run."""
        card = self._cards.card(RunAddress.of(job, run, attempt))
        seconds = card.numbers.get("duration")
        return {
            "job": words.plain(card.job),
            "run": words.plain(card.run_id),
            "state": card.state,
            "headline": words.plain(card.headline),
            "cause": card.verdict.rule if card.verdict else None,
            "duration": None if seconds is None else words.duration(seconds),
        }
