"""What becomes of requests that Prefect's server fails to answer, in a bounded time.

A server with SQLite answers 500 ("database is locked") where writes meet, as they do when
a flow run ends; what is not written then, nobody writes later.  Prefect's own client
retries what gateways and rate limits answer (408, 429, 502, 503), and gives up on this.

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
from dask_blackbox.guard import ReportedError

__all__ = ["RetriedRequests", "ServerAwayError", "StillAwayError", "failed_since"]

_RETRIED = frozenset({500, 504})
_OF_GATEWAYS = frozenset({408, 502, 503})
_MOST, _EACH = 10.0, 60.0
"""Seconds that a thread may wait between requests, of each minute; and for which one request
is retried.

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


class _Server:
    """Whether a server of Prefect answers, as the requests of this process found.

    Attributes:
        last_failure: When it last failed to answer, by `time.monotonic`.
        reported: It has not answered since a failure that was reported.
    """

    def __init__(self) -> None:
        self.last_failure = float("-inf")
        self.reported = False

    def fail(self, *, away: bool = True) -> None:
        self.last_failure = time.monotonic()
        self.reported = away

    def answer(self) -> None:
        self.reported = False

    def is_away(self) -> bool:
        return self.reported and time.monotonic() - self.last_failure < _AWAY


class _Waits(threading.local):
    """What a thread has waited lately, and for which request."""

    def __init__(self) -> None:
        self._began, self._waited = time.monotonic(), 0.0
        self._request: weakref.ref[httpx.Request] | None = None
        self._sent, self._reported = 0.0, False

    def may_wait(self, pause: float) -> bool:
        if time.monotonic() - self._began > _EACH:
            self._began, self._waited = time.monotonic(), 0.0
        self._waited += pause
        return self._waited <= _MOST

    def is_new(self, request: httpx.Request, server: _Server) -> bool:
        """Note that a request is sent; return whether it is so for the first time."""
        if self._request is not None and self._request() is request:
            return False
        self._request, self._sent = weakref.ref(request), time.monotonic()
        self._reported = server.reported
        return True

    def is_over(self) -> bool:
        """Return whether the request has been retried for long enough."""
        return self._reported or time.monotonic() - self._sent > _MOST

    def away(self) -> ServerAwayError:
        """Return the error of the request: only the first one of an outage is logged."""
        if self._reported:
            return StillAwayError("Prefect's server still does not answer")
        return ServerAwayError(f"Prefect's server did not answer for {_MOST:g} s")


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
        if _waits.is_new(request, server):
            if server.is_away():
                raise _waits.away()
        elif _waits.is_over():  # another retry of Prefect's
            server.fail()
            raise _waits.away()
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
            server.fail()
            if _waits.is_over():
                raise _waits.away() from reason
            raise


def _until_answered(
    request: httpx.Request, server: _Server
) -> Generator[httpx.Request, httpx.Response, None]:
    pause = _FIRST_PAUSE
    while True:
        response = yield request
        status = response.status_code
        if status in _OF_GATEWAYS:
            server.fail()
        else:
            server.answer()
        if status not in _RETRIED:
            return
        if not _waits.may_wait(pause):
            server.fail(away=False)
            return
        # Those that met would meet again after the same pause.
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
        pause = min(2 * pause, _LONGEST_PAUSE)
