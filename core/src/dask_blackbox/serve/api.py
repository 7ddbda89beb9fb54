"""The API: runs, jobs, cards, comparisons, logs and live progress, as typed JSON.

Answers are the values of this project; their schemas stand in `/openapi.json`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import islice
from typing import Annotated

import msgspec
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from dask_blackbox import formatting
from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError
from dask_blackbox.job_history import JobHistory
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import Progress
from dask_blackbox.reader.comparison import Comparison, compare_runs
from dask_blackbox.reader.documents import read_heartbeat
from dask_blackbox.reader.job_histories import job_history
from dask_blackbox.reader.jobs_overview import JobsOverview, jobs_overview
from dask_blackbox.report.log_lines import as_row, chosen_lines
from dask_blackbox.serve.cards import Cards
from dask_blackbox.serve.run_list import Found, page_of_runs, runs_found, states_of
from dask_blackbox.serve.templating import RUN_PATH, Address, LogForm, SearchForm
from dask_blackbox.store import Store

_EVERY = 2.0
_LONGEST = 3600.0


"""Seconds after which a stream of events ends; the browser reconnects by itself."""


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands.

    Attributes:
        state: `running` until it has ended.
        headline: What its card says.
        waits: Whether it waits for something, for longer than is usual.
        duration: For how long it has been running, or how long it took; null: not known.
        at: When the recorder wrote this, epoch seconds; null: it has not yet.
        progress: Progress; null: not counted yet.
    """

    state: str
    headline: str
    waits: bool = False
    duration: str | None = None
    at: float | None = None
    progress: Progress | None = None


def _now(store: Store, cards: Cards, address: RunAddress) -> LiveRun:
    card = cards.card(address)
    beat = read_heartbeat(store, address.folder) if card.state == "running" else None
    return LiveRun(
        state=card.state,
        headline=card.headline,
        waits=card.now is not None and card.now.waits,
        duration=_duration_of(card),
        at=None if beat is None else beat.at,
        progress=None if beat is None else beat.progress,
    )


def _duration_of(card: RunCard) -> str | None:
    seconds = card.numbers.get("duration")
    return None if seconds is None else formatting.duration(seconds)


async def _live_events(
    request: Request, store: Store, cards: Cards, address: RunAddress
) -> AsyncIterator[bytes]:
    """Yield an event whenever something is new, and the last one when the run has ended."""
    text: LiveRun | None = None
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _LONGEST
    while loop.time() < deadline and not await request.is_disconnected():
        try:
            now = await run_in_threadpool(_now, store, cards, address)
        except BlackboxError as error:
            yield _event("trouble", {"error": str(error)})
            return
        if now != text:
            yield _event("progress" if now.state == "running" else "ended", now)
            text = now
        else:
            yield b": still there\n\n"
        if now.state != "running":
            return
        await asyncio.sleep(_EVERY)


def _event(name: str, value: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(value))


_MOST_JOBS = 1000
_REFERENCE = "#/components/schemas/{name}"


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the index knows it: a lost one as `running`."""

    job: str
    run: str
    attempt: int
    state: str
    started: float


class RunsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs, newest first; `older` is the `after` of the next page."""

    runs: tuple[ListedRun, ...]
    older: str | None = None


class Jobs(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that have runs (safe forms)."""

    jobs: tuple[str, ...]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of the list shows of a run."""

    job: str
    run: str
    state: str
    headline: str
    cause: str | None = None
    duration: str | None = None


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a log."""

    at: str
    role: str
    source: str
    logger: str
    level: str
    message: str
    key: str | None = None


class LogLines(msgspec.Struct, frozen=True, kw_only=True):
    """The first lines that fit, how many fit, and why there are none if there are none."""

    lines: tuple[LogLine, ...]
    found: int
    why_none: str | None = None


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer."""

    error: str


_ANSWERS = (RunsPage, Jobs, JobsOverview, Summary, RunCard, Found, JobHistory, Comparison, LogLines, LiveRun, Trouble)  # fmt: skip


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


class Api:
    """The answers, each a method."""

    def __init__(self, store: Store, cards: Cards) -> None:
        self._store = store
        self._cards = cards

    def routes(self) -> APIRouter:
        """Return where each is found."""
        routes = APIRouter(prefix="/api", default_response_class=Response)
        answers: tuple[tuple[str, Callable[..., object], type], ...] = (
            ("/runs", self.runs, RunsPage),
            ("/search", self.search, Found),
            ("/overview", self.overview, JobsOverview),
            ("/jobs", self.jobs, Jobs),
            ("/jobs/{job}", self.history, JobHistory),
            ("/compare", self.compare, Comparison),
            (f"{RUN_PATH}/card", self.card, RunCard),
            (f"{RUN_PATH}/summary", self.summary, Summary),
            (f"{RUN_PATH}/logs", self.logs, LogLines),
        )
        for path, answer, kind in answers:
            routes.add_api_route(path, answer, responses=_described(kind))
        live: dict[int | str, dict[str, object]] = {
            200: {"content": {"text/event-stream": {"schema": _of(LiveRun)}}}
        }
        routes.add_api_route(f"{RUN_PATH}/live", self.live, responses=live)
        return routes

    def describe(self, app: FastAPI) -> None:
        """Add the schemas of the responses to the app's OpenAPI document."""
        made = app.openapi
        _, schemas = msgspec.json.schema_components(_ANSWERS, ref_template=_REFERENCE)

        def described() -> dict[str, object]:
            document = made()
            document.setdefault("components", {}).setdefault("schemas", {}).update(
                schemas
            )
            return document

        app.openapi = described  # type: ignore[method-assign]

    def runs(
        self,
        job: str = "",
        state: str = "",
        after: str = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """Return the newest runs; `older` is the `after` of the next page."""
        page = page_of_runs(
            self._store,
            job=job or None,
            states=states_of(state),
            after=after,
            size=limit,
        )
        runs = tuple(
            ListedRun(
                job=run.address.job,
                run=run.address.run,
                attempt=run.address.attempt,
                state=run.state,
                started=run.started,
            )
            for run in page.runs
        )
        return _json(RunsPage(runs=runs, older=page.older))

    def search(
        self,
        query: Annotated[SearchForm, Query()],
    ) -> Response:
        """Return runs by what their sketches say: verdict, text, time."""
        return _json(runs_found(self._store, query.asked(), size=query.limit))

    def overview(self) -> Response:
        """Return what failed in the last day, and how each job does (docs/commands.md)."""
        return _json(jobs_overview(self._store))

    def jobs(self) -> Response:
        """Return the jobs that have runs (safe forms), the first thousand."""
        names = islice(self._store.folders("index/jobs/"), _MOST_JOBS)
        return _json(Jobs(jobs=tuple(names)))

    def history(
        self, job: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> Response:
        """Return the runs of a job, its failures by kind, and trends (docs/history.md)."""
        return _json(job_history(self._store, job, limit=limit))

    def compare(self, before: str, after: str) -> Response:
        """Return in what two runs differ; each as `JOB/RUN/ATTEMPT`."""
        return _json(compare_runs(self._store, before, after))

    def card(self, address: Address) -> Response:
        """Return a card (docs/card.md)."""
        card = self._cards.card(address)
        return Response(card.to_json(), media_type="application/json")

    def summary(self, address: Address) -> Response:
        """Return what a line of the list shows of a run."""
        card = self._cards.card(address)
        return _json(
            Summary(
                job=formatting.plain(card.job),
                run=formatting.plain(card.run_id),
                state=card.state,
                headline=formatting.plain(card.headline),
                cause=card.verdict.rule if card.verdict else None,
                duration=_duration_of(card),
            )
        )

    def logs(
        self,
        address: Address,
        query: Annotated[LogForm, Query()],
    ) -> Response:
        """Return the log lines of a run that fit, the first thousand."""
        opened = self._cards.run(address)
        lines, why_none = chosen_lines(opened, query.asked())
        rows = lines.head(_MOST_JOBS).iter_rows(named=True)
        found = tuple(msgspec.convert(as_row(row), LogLine) for row in rows)
        return _json(LogLines(lines=found, found=lines.height, why_none=why_none))

    def live(self, request: Request, address: Address) -> Response:
        """Stream how far a run is, as server-sent events, until it has ended."""
        self._cards.card(address)  # a run that does not exist is a 404
        return StreamingResponse(
            _live_events(request, self._store, self._cards, address),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


def _of(kind: type) -> dict[str, object]:
    return {"$ref": _REFERENCE.format(name=kind.__name__)}


def _described(kind: type) -> dict[int | str, dict[str, object]]:
    def answer(of: type, text: str) -> dict[str, object]:
        return {
            "description": text,
            "content": {"application/json": {"schema": _of(of)}},
        }

    return {
        200: answer(kind, (kind.__doc__ or "").strip().splitlines()[0]),
        404: answer(Trouble, "Not found."),
        400: answer(Trouble, "The request is not valid."),
    }
