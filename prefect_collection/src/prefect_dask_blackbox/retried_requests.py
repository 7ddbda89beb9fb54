"""What becomes of requests that Prefect's server fails to answer, in a bounded time.

A server with SQLite answers 500 ("database is locked") or 503 where writes meet, as they do
when a flow run ends; what is not written then, nobody writes later.  Prefect's own client
gives up on the first, and waits seconds after the second, as after what gateways and rate
limits answer (408, 429, 502).

Of a server that is away it retries each request for a minute, and a flow run ends with ten
of ours.  So one request finds out, and for some seconds the others fail at once, without a
line of their own in the log: `late_ends` sends what is missing when the server answers.
"""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Generator
from urllib.parse import unquote

import httpx
from dask_blackbox.capture.overload import extended
from dask_blackbox.guard import ReportedError

__all__ = ["RetriedRequests", "ServerAwayError", "StillAwayError", "failed_since"]

_RETRIED = frozenset({500, 503, 504})
_UNANSWERED = frozenset({408, 429, 502, 503})
"""Statuses that Prefect's client retries: whether the server is away, time tells."""
_MOST, _EACH = 10.0, 60.0
"""Seconds that a thread may wait between requests, of each minute; and for which one request
is retried.

The first is up to twice as long on an overloaded host, where a server that works answers late.
Hosts kill 30 s after SIGTERM, whatever the number of requests; and the thread that shows
how a run gets on does not use up the time of the one that ends it.
"""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_AWAY = 15.0
"""Seconds after a failure for which the server is not asked again."""
_MOST_SERVERS = 20


class ServerAwayError(Exception):
    """Prefect's server did not answer a request, which was retried for as long as it may take."""


class StillAwayError(ServerAwayError, ReportedError):
    """Prefect's server has not answered since a failure that was reported."""


class _Sending:
    """A request that is sent, perhaps several times."""

    def __init__(self, request: httpx.Request) -> None:
        self._request, self._began = weakref.ref(request), time.monotonic()

    def is_of(self, request: httpx.Request) -> bool:
        return self._request() is request

    def took_long(self) -> bool:
        return time.monotonic() - self._began > extended(_MOST)


class _Server:
    """Whether a server of Prefect answers, as the requests of this process found.

    Attributes:
        last_failure: When it last failed to answer, by `time.monotonic`.
    """

    def __init__(self) -> None:
        self.last_failure = float("-inf")
        self._reports: _Sending | None = None

    def fail(self, sending: _Sending) -> None:
        """Note that it is away; the first request that finds out reports that."""
        self.last_failure = time.monotonic()
        self._reports = self._reports or sending

    def fail_once(self) -> None:
        """Note that it answered a request with a failure of its own."""
        self.last_failure = time.monotonic()

    def answer(self) -> None:
        self._reports = None

    def is_away(self) -> bool:
        lately = time.monotonic() - self.last_failure < _AWAY
        return self._reports is not None and lately

    def is_over(self, sending: _Sending) -> bool:
        """Return whether a request is not sent again."""
        return self._is_reported(sending) or sending.took_long()

    def away(self, sending: _Sending) -> ServerAwayError:
        """Return the error of a request: only the first one of an outage is logged."""
        if self._is_reported(sending):
            return StillAwayError("Prefect's server still does not answer")
        return ServerAwayError(
            f"Prefect's server did not answer for more than {extended(_MOST):.0f} s"
        )

    def _is_reported(self, sending: _Sending) -> bool:
        return self._reports is not None and self._reports is not sending


class _Waits(threading.local):
    """What a thread sends, and what it has waited lately."""

    def __init__(self) -> None:
        self._began, self._waited = time.monotonic(), 0.0
        self._sending: _Sending | None = None

    def may_wait(self, pause: float) -> bool:
        if time.monotonic() - self._began > _EACH:
            self._began, self._waited = time.monotonic(), 0.0
        self._waited += pause
        return self._waited <= extended(_MOST)

    def sending(self, request: httpx.Request) -> tuple[_Sending, bool]:
        """Return what is sent, and whether it is so for the first time."""
        if self._sending is not None and self._sending.is_of(request):
            return self._sending, False
        self._sending = _Sending(request)
        return self._sending, True


_servers: dict[bytes, _Server] = {}
_waits = _Waits()


def _server_of(request: httpx.Request) -> _Server:
    if len(_servers) > _MOST_SERVERS:
        _servers.clear()
    return _servers.setdefault(request.url.netloc, _Server())


def failed_since(began: float) -> bool:
    """Return whether a server failed to answer this process.

    Args:
        began: Since when, by `time.monotonic`.
    """
    return any(each.last_failure >= began for each in list(_servers.values()))


class RetriedRequests(httpx.Auth):
    """Retries the requests of a synchronous client, and ends the retries of Prefect's own.

    An `Auth`, because httpx has no other public place from which to send a request again:
    a transport of our own would lose Prefect's settings of TLS, proxies and limits.
    """

    def sync_auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request until the server answers it, or the time is over.

        Raises:
            ServerAwayError: if the server is away.
        """
        server = _server_of(request)
        sending, first = _waits.sending(request)
        if first and server.is_away():
            raise server.away(sending)
        if not first and server.is_over(sending):  # another retry of Prefect's
            server.fail(sending)
            raise server.away(sending)
        url = request.url
        if url.userinfo:  # httpx does so itself for clients that have no `auth`
            basic = httpx.BasicAuth(unquote(url.username), unquote(url.password))
            request = next(basic.auth_flow(request))
        try:
            yield from _until_answered(request, server)
        except GeneratorExit as over:
            reason = over.__context__
            if not isinstance(reason, httpx.TransportError):
                raise  # what a signal's handler raised
            server.fail(sending)
            if server.is_over(sending):
                raise server.away(sending) from reason
            raise


def _until_answered(
    request: httpx.Request, server: _Server
) -> Generator[httpx.Request, httpx.Response, None]:
    pause = _FIRST_PAUSE
    while True:
        response = yield request
        status = response.status_code
        if status not in _UNANSWERED:
            server.answer()
        retried = status in _RETRIED and _waits.may_wait(pause)
        if status in _RETRIED | _UNANSWERED and not retried:
            server.fail_once()
        if not retried:
            return
        # Those that met would meet again after the same pause.
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
        pause = min(2 * pause, _LONGEST_PAUSE)
