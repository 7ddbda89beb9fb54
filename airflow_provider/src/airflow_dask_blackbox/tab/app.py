"""The application that Airflow's API server mounts: its routes, its headers, its errors.

What reads a store or the database runs in a few threads of its own, so that a slow store
takes no threads from Airflow's own pages.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, unquote_plus

import anyio
import anyio.to_thread
from dask_blackbox.errors import BlackboxError
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.tab import all_dags, dag_page, task_page
from airflow_dask_blackbox.tab.access import MAY_READ, User, login_address, readable
from airflow_dask_blackbox.tab.task_page import NoRecordingError
from airflow_dask_blackbox.tab.templating import answer

__all__ = ["create_app"]

_log = logging.getLogger(__name__)

_STATIC: Final = Path(__file__).with_name("static")
_T = TypeVar("_T")

_POLICY: Final = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data:; "
    "connect-src 'self'; "
    "frame-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; "
    "frame-ancestors 'self'"
)
"""What our own pages may do; reports may do less (`dask_blackbox.serve.blobs.SANDBOX`)."""

_AS_JSON: Final = ("/status", ".json")
"""What tools ask for: an error is JSON there, too."""
_THREADS: Final = 6
_RENDERING: Final = 3
_TIMEOUT: Final = 150.0
_SLOW: Final = (
    "The store does not answer in time, or there are too many requests. Retry."
)


def create_app() -> FastAPI:
    """Return the application; every page of it but what is static asks for permission."""
    # No docs pages: they load scripts from elsewhere, and nobody would need them.
    app = FastAPI(title="Dask runs", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    pages = APIRouter(prefix="/dags/{dag_id}", dependencies=[MAY_READ])
    for path, page in (
        ("/task", _task),
        ("/status", _status),
        ("/card.json", _stored("card.json")),
        ("/report.html", _stored("report.html")),
        ("/performance_report.html", _stored("performance_report.html")),
        ("/dashboard", _dashboard),
        ("/runs", _runs),
    ):
        pages.add_api_route(path, page, response_class=Response, response_model=None)
    app.include_router(pages)
    for path, of_all in (("/runs", _all_runs), ("/runs.json", _all_runs_as_json)):
        app.add_api_route(path, of_all, response_class=Response, response_model=None)
    app.middleware("http")(_guarded)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(BlackboxError, _failed)
    return app


async def _task(request: Request, dag_id: str) -> Response:
    asked = _Query(request)
    return await _in_thread(
        task_page.page,
        asked.key(dag_id),
        asked.number("try_number"),
        asked.text("recording"),
    )


async def _status(request: Request, dag_id: str) -> Response:
    asked = _Query(request)
    reported = await _in_thread(
        task_page.status,
        asked.key(dag_id),
        asked.number("try_number"),
        asked.text("recording"),
    )
    return JSONResponse(reported)


def _stored(name: str) -> Callable[..., Awaitable[Response]]:
    # No `partial`: the FastAPI of Airflow 3.1 cannot read the annotations behind one.
    async def page(request: Request, dag_id: str) -> Response:
        asked = _Query(request)
        return await _in_thread(
            task_page.stored,
            asked.key(dag_id),
            asked.number("try_number"),
            asked.text("recording"),
            name,
            threads=_RENDERING,
        )

    return page


async def _dashboard(request: Request, dag_id: str) -> Response:
    asked = _Query(request)
    return await _in_thread(
        task_page.dashboard, asked.key(dag_id), asked.number("try_number")
    )


async def _runs(request: Request, dag_id: str) -> Response:
    return await _in_thread(dag_page.page, _Query(request).asked_of(dag_id))


async def _all_runs(request: Request, user: User) -> Response:
    asked = _Query(request).asked()
    return await _in_thread(all_dags.page, asked, partial(readable, user))


async def _all_runs_as_json(request: Request, user: User) -> Response:
    asked = _Query(request).asked()
    return await _in_thread(all_dags.document, asked, partial(readable, user))


class _Query:
    """The query of an address, read as Airflow's pages write it.

    A `+` stands for itself: Airflow 3.1 puts run ids into addresses as they are.
    """

    def __init__(self, request: Request) -> None:
        self._words: dict[str, str] = {}
        self._typed_words: dict[str, str] = {}
        for pair in request.scope["query_string"].decode("latin-1").split("&"):
            name, _, value = pair.partition("=")
            self._words[unquote(name)] = unquote(value)
            self._typed_words[unquote(name)] = unquote_plus(value)

    def text(self, name: str) -> str:
        return self._words.get(name, "")

    def number(self, name: str) -> int | None:
        value = self.text(name)
        return int(value) if value.isascii() and value.lstrip("-").isdigit() else None

    def asked(self) -> all_dags.Asked:
        hours = self.number("hours") or 24
        return all_dags.Asked(
            hours=min(max(hours, 1), all_dags.MOST_HOURS),
            dag=self._typed("dag"),
            show=self._one_of("show", all_dags.SHOWN),
            page=max(self.number("page") or 1, 1),
        )

    def asked_of(self, dag_id: str) -> dag_page.Asked:
        return dag_page.Asked(
            dag_id=dag_id,
            run_id=self.text("run_id"),
            task_id=self.text("task_id"),
            show=self._one_of("show", dag_page.SHOWN),
            find=self._typed("find"),
            page=max(self.number("page") or 1, 1),
        )

    def _typed(self, name: str) -> str:
        # A form writes its text with a `+` for each space, and a `+` as `%2B`.
        return self._typed_words.get(name, "")[:250].strip()

    def _one_of(self, name: str, known: tuple[str, ...]) -> str:
        word = self._typed(name)
        return word if word in known else known[0]

    def key(self, dag_id: str) -> TaskKey:
        # Airflow leaves the placeholder in where a task is not mapped.
        index = self.number("map_index")
        return TaskKey(
            dag_id,
            self.text("run_id"),
            self.text("task_id"),
            -1 if index is None else index,
        )


_limiters: dict[int, anyio.CapacityLimiter] = {}


async def _in_thread(
    work: Callable[..., _T], *arguments: object, threads: int = _THREADS
) -> _T:
    """Return what some work returns that may take its time, in one of our own threads."""
    # Made here, where the event loop is that they belong to.
    limiter = _limiters.setdefault(threads, anyio.CapacityLimiter(threads))
    try:
        with anyio.fail_after(_TIMEOUT):
            return await anyio.to_thread.run_sync(
                partial(work, *arguments), limiter=limiter, abandon_on_cancel=True
            )
    except TimeoutError:
        raise HTTPException(503, _SLOW) from None


async def _guarded(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    response = await call_next(request)
    response.headers.setdefault("Content-Security-Policy", _POLICY)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    if response.headers.get("content-type", "").startswith(
        ("text/html", "application/json")
    ):
        # What one user may see must not come out of a cache for another.
        response.headers["Cache-Control"] = "private, no-store"
    return response


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - the handler's own kind
    code, fetched_as = error.status_code, request.headers.get("sec-fetch-dest")
    if code == 401 and fetched_as == "document":  # noqa: PLR2004
        return RedirectResponse(login_address(request), status_code=302)
    if request.scope["path"].endswith(_AS_JSON):
        return JSONResponse({"error": str(error.detail)}, status_code=code)
    title, text = _REFUSALS.get(code, ("Something failed", str(error.detail)))
    return answer("message.html", status=code, title=title, paragraphs=[text])


_REFUSALS: Final = {
    401: ("You are not logged in", "Log in to Airflow, then open this page again."),
    403: (
        "You do not have access to this page",
        "Dask runs of a DAG are shown to users who may read the logs of its tasks.",
    ),
    404: ("Not found", "There is no such page."),
}


def _failed(request: Request, error: Exception) -> Response:
    missing = isinstance(error, NoRecordingError)
    status = 404 if missing else 502
    if not missing:
        _log.warning("%s failed: %s", request.scope["path"], error)
    if request.scope["path"].endswith(_AS_JSON):
        return JSONResponse({"error": str(error)}, status_code=status)
    title = "There is no recording" if missing else "The recording cannot be read"
    return answer("message.html", status=status, title=title, paragraphs=[str(error)])
