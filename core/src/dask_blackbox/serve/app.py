"""The viewer as a web application: its parts, its headers, its errors.

It answers HEAD, and ends requests that do not arrive completely.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from dask_blackbox.errors import (
    BlackboxError,
    BlobNotFoundError,
    ConfigurationError,
    RunNotFoundError,
    StoreError,
)
from dask_blackbox.serve.api import Api
from dask_blackbox.serve.blobs import Blobs
from dask_blackbox.serve.cards import Cards
from dask_blackbox.serve.pages import Pages
from dask_blackbox.serve.shield import Shield
from dask_blackbox.serve.templating import Templates
from dask_blackbox.store import Store

_STATIC = Path(__file__).with_name("static")

Authenticate = Callable[[Request], Awaitable[Response | None]]
"""Asked before each answer: None lets the request through, a response is sent instead."""


def create_app(
    store: Store,
    *,
    hosts: Sequence[str] | None = None,
    token: str | None = None,
    authenticate: Authenticate | None = None,
) -> FastAPI:
    """Return the viewer of a store, to be served or to be mounted.

    It knows no users: every client that can reach it, that knows the token, and that
    `authenticate` lets through, can read the recordings.

    Args:
        hosts: The names under which it may be asked for, besides addresses; None: any.
        token: What clients have to send, as notebooks have it; None: nothing.
        authenticate: Decides on each request, static files included.
    """
    # No docs pages: they load scripts from elsewhere.
    described = token is not None or authenticate is not None
    app = FastAPI(
        title="dask-blackbox",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if described else None,
    )
    templates, cards = Templates(), Cards(store)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    app.include_router(Pages(store, cards, templates).routes())
    app.include_router(Blobs(store, cards).routes())
    api = Api(store, cards)
    app.include_router(api.routes())
    api.describe(app)
    _say_trouble(app, templates)
    if authenticate is not None:
        app.middleware("http")(_asking(authenticate))
    app.add_middleware(AnswersHead)
    app.add_middleware(Shield, hosts=hosts, token=token)
    return app


def _asking(authenticate: Authenticate) -> Callable[..., Awaitable[Response]]:
    async def asked(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        return await authenticate(request) or await call_next(request)

    return asked


def _status(error: Exception) -> int:
    if isinstance(error, HTTPException):
        return error.status_code
    if isinstance(error, RunNotFoundError | BlobNotFoundError):
        return 404
    if isinstance(error, ConfigurationError):
        return 400
    return 502 if isinstance(error, StoreError) else 500


def _say_trouble(app: FastAPI, templates: Templates) -> None:
    def trouble(request: Request, error: Exception) -> Response:
        status = _status(error)
        text = error.detail if isinstance(error, HTTPException) else str(error)
        if (
            request.scope["path"]
            .removeprefix(templates.root(request))
            .startswith("/api/")
        ):
            return JSONResponse({"error": text}, status_code=status)
        return templates.answer(request, "trouble.html", status=status, text=text)

    app.add_exception_handler(BlackboxError, trouble)
    app.add_exception_handler(HTTPException, trouble)


_TIMEOUT = 20.0


class AnswersHead:
    """Answers HEAD as GET does, without the body (FastAPI's routes know GET only)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


class RequestTimeoutProtocol(H11Protocol):
    """Closes a connection whose request does not arrive completely in time.

    uvicorn waits forever for the rest of a request; each such connection holds a file
    descriptor of the server.

    Attributes:
        request_timeout: Seconds within which the head of a request has to be complete.
    """

    request_timeout = _TIMEOUT

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first request."""
        super().connection_made(transport)
        self._waiting: asyncio.TimerHandle | None = None
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes; start the time limit of a request that is still incomplete."""
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_request()

    def _is_answering(self) -> bool:
        # There is no cycle before the first request, whatever its type says.
        return not getattr(self.cycle, "response_complete", True)

    def _wait_for_request(self) -> None:
        # One that is waited for is not waited for longer because another byte came.
        if self._waiting is None and not self.transport.is_closing():
            self._waiting = self.loop.call_later(self.request_timeout, self._give_up)

    def _stop_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()

    def _give_up(self) -> None:
        self._waiting = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()
