"""What HTTP asks of a server beside its pages: HEAD, and an end for unfinished requests."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

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

    uvicorn waits for ever for the rest of a request; each such connection holds a file
    descriptor of the server.

    Attributes:
        request_timeout: Seconds within which the head of a request has to be complete.
    """

    request_timeout = _TIMEOUT

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._waiting: asyncio.TimerHandle | None = None
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a request that is not complete with them has its time."""
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
