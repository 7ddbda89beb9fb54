"""Requests that Prefect's server failed to answer are sent once more, for a bounded time.

A server with SQLite answers 500 ("database is locked") where writes meet, as they do when
a flow run ends; what is not written then, nobody writes later.  Prefect's own client
retries what gateways and rate limits answer (408, 429, 502, 503), and gives up on this.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Generator
from urllib.parse import unquote

import httpx

__all__ = ["RetriedRequests"]

_RETRIED = frozenset({500, 504})
_MOST, _EACH = 10.0, 60.0
"""Seconds that a thread may wait between requests, of each minute.

Hosts kill 30 s after SIGTERM, whatever the number of requests; and the thread that shows
how a run gets on does not use up the time of the one that ends it.
"""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class _Minute(threading.local):
    """What a thread has waited lately."""

    def __init__(self) -> None:
        self._began, self._waited = time.monotonic(), 0.0

    def may_wait(self, pause: float) -> bool:
        if time.monotonic() - self._began > _EACH:
            self._began, self._waited = time.monotonic(), 0.0
        self._waited += pause
        return self._waited <= _MOST


_minute = _Minute()


class RetriedRequests(httpx.Auth):
    """Retries the requests of a client.

    An `Auth`, because httpx has no other public place from which to send a request again:
    a transport of our own would lose Prefect's settings of TLS, proxies and limits.
    """

    def auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request until the server answers it, or the time is over."""
        url = request.url
        if url.userinfo:  # httpx does so itself for clients that have no `auth`
            basic = httpx.BasicAuth(unquote(url.username), unquote(url.password))
            request = next(basic.auth_flow(request))
        pause = _FIRST_PAUSE
        while True:
            response = yield request
            if response.status_code not in _RETRIED or not _minute.may_wait(pause):
                return
            # Those that met would meet again after the same pause.
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(2 * pause, _LONGEST_PAUSE)
