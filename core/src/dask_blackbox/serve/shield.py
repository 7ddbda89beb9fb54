"""Around all answers of the viewer: who may ask, what each answer says of itself, the log.

It stands outside of everything else, so that an answer to an error has the same headers.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import time
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dask_blackbox.formatting import plain

logger = logging.getLogger("dask_blackbox.serve")
access = logging.getLogger("dask_blackbox.serve.access")

POLICY = (
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
"""What our own pages may do; reports are strangers and may do less (`blobs.py`)."""

_REFUSED = (
    "This viewer needs the token of the URL that `dask blackbox serve` printed: open that "
    "URL, or send the header `Authorization: Bearer TOKEN`.\n"
)
_WRONG_HOST = (
    "This viewer is not asked for under that name; start it with --allow-host NAME.\n"
)
_FAILED = "Something failed; the log of `dask blackbox serve` has the details.\n"


class Shield:
    """Lets requests through to an application, and completes its answers.

    Args:
        hosts: Names under which it may be asked for, besides addresses of machines; a page
            elsewhere could let its own name point to this machine.  None: any.
        token: What a client has to know; None: nothing.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str] | None, token: str | None
    ) -> None:
        self._app, self._token = app, token
        self._hosts = None if hosts is None else {_bare(each) for each in hosts}
        digest = hashlib.sha256((token or "").encode()).hexdigest()
        # Cookies are shared by all ports of a host, on which other viewers may listen.
        self._cookie = f"dask-blackbox-{digest[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.monotonic(), 0

        async def completed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _complete(MutableHeaders(scope=message), scope)
            await send(message)

        try:
            refusal = self._refusal(scope)
            await (refusal or self._app)(scope, receive, completed)
        except Exception:
            logger.exception("%s failed", plain(scope["path"]))
            if not status:
                await PlainTextResponse(_FAILED, 500)(scope, receive, completed)
        finally:
            _log(scope, status, time.monotonic() - begun)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._is_allowed(headers.get("host", "")):
            return PlainTextResponse(_WRONG_HOST, 400)
        if self._token is None:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), True)  # noqa: FBT003
        if self._fits(dict(query).get("token", "")):
            return self._welcome(scope, [each for each in query if each[0] != "token"])
        kind, _, sent = headers.get("authorization", "").partition(" ")
        if kind.lower() in ("bearer", "token") and self._fits(sent.strip()):
            return None
        if self._fits(_cookie_of(headers, self._cookie)):
            return None
        return PlainTextResponse(_REFUSED, 403)

    def _welcome(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        """Have the browser keep the token, and ask again without it in the address."""
        path = scope["path"]
        # Two slashes at the beginning would name another server.
        again = f"/{path.lstrip('/')}" + (f"?{urlencode(query)}" if query else "")
        answer = RedirectResponse(again, status_code=303)
        answer.set_cookie(
            self._cookie, self._token or "", httponly=True, samesite="lax"
        )
        return answer

    def _fits(self, sent: str) -> bool:
        return hmac.compare_digest(sent.encode(), (self._token or "").encode())

    def _is_allowed(self, host: str) -> bool:
        if self._hosts is None:
            return True
        name = _bare(host)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._hosts
        return True  # nobody's name, which could be let point elsewhere


def _bare(host: str) -> str:
    """Return a host without its port and without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, _, port = host.rpartition(":")
    return (name if name and ":" not in name and port.isdigit() else host).lower()


def _cookie_of(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _complete(headers: MutableHeaders, scope: Scope) -> None:
    headers.setdefault("Content-Security-Policy", POLICY)
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    if "/static/" not in scope["path"]:
        # What one user may see must not come out of a cache for another.
        headers["Cache-Control"] = "private, no-store"


def _log(scope: Scope, status: int, seconds: float) -> None:
    client = scope.get("client") or ("-", 0)
    query = parse_qsl(scope["query_string"].decode("latin-1"), True)  # noqa: FBT003
    shown = urlencode([each for each in query if each[0] != "token"])
    path = plain(scope["path"]) + (f"?{plain(shown)}" if shown else "")
    access.info(
        '%s "%s %s" %d %.0f ms',
        client[0],
        scope["method"],
        path,
        status or 500,
        seconds * 1000,
    )
